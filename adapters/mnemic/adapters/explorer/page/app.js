// The page: header, scrubber, list of decisions, and the panes, all at one moment of the log.

import {html, render, useEffect, useLayoutEffect, useReducer, useRef, useState} from "htm/preact";
import {ask, forget, ofSpace, setToken, useAnswer} from "./api.js";
import {BlockPane} from "./block.js";
import {ComparePane} from "./compare.js";
import {DecisionPane} from "./decision.js";
import {DecisionList} from "./decisions.js";
import {GraphPane} from "./graph.js";
import {LedgerPane} from "./ledger.js";
import {Scrubber, useSessions} from "./scrubber.js";
import {go, read, subscribe} from "./state.js";
import {plain} from "./text.js";

const PANES = [
  ["decision", "Decision", DecisionPane],
  ["compare", "Side by side", ComparePane],
  ["block", "Block", BlockPane],
  ["graph", "Graph", GraphPane],
  ["ledger", "Ledger & frontier", LedgerPane],
];
const KEYS = [
  ["← →", "one event back or on"],
  ["Shift ← →", "one session back or on"],
  ["Home End", "first event; the present"],
  ["j k", "next or previous decision of the list"],
  ["1 – 5", "panes"],
  ["/", "filter the decisions"],
  ["?", "these keys"],
];

function useTheme() {
  const [theme, set] = useState(localStorage.getItem("mnemic-theme") || "");
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    localStorage.setItem("mnemic-theme", theme);
  }, [theme]);
  return [theme, set];
}

function Sign({why, done}) {
  const field = useRef(null);
  const send = (event) => {
    event.preventDefault();
    setToken(field.current.value);
    done();
  };
  return html`<main class="sign"><form onSubmit=${send}>
    <h1>mnemic explorer</h1>
    <p>${plain(why)}</p>
    <label>Token <input ref=${field} type="password" autocomplete="off" autofocus /></label>
    <button class="primary">Use it</button>
    <p class="quiet">Kept in this tab until it is closed. <code>mnemic token create NAME --read SPACE</code> makes one.</p>
  </form></main>`;
}

function Help({close}) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="keys-title">
    <h2 id="keys-title">Keys</h2>
    <dl>${KEYS.map(([keys, does]) => html`<dt><kbd>${keys}</kbd></dt><dd>${does}</dd>`)}</dl>
    <button onClick=${() => dialog.current.close()}>Close</button>
  </dialog>`;
}

function Explorer({spaces, leave}) {
  const [, draw] = useReducer((count) => count + 1, 0);
  useEffect(() => subscribe(draw), []);
  const [theme, setTheme] = useTheme();
  const [helping, help] = useState(false);
  const state = read();
  const names = spaces.map((each) => each.space);
  const space = names.includes(state.space) ? state.space : names[0];
  const [status, setStatus] = useState(null);
  const [failed, fail] = useState(null);
  const [since, renew] = useState(0);

  const shown = useRef(space);
  shown.current = space;
  const refresh = () => {
    ask(ofSpace(space)).then(
      (found) => {
        if (shown.current !== space) return;
        setStatus((before) => {
          if (before && before.version !== found.version) {
            forget();
            renew(found.version);
          }
          return found;
        });
        fail(null);
      },
      (error) => {
        if (shown.current !== space) return;
        if (error.status === 401) leave(error);
        else fail(error);
      },
    );
  };
  useLayoutEffect(() => {
    if (!space) return undefined;
    setStatus(null);
    fail(null);
    refresh();
    addEventListener("focus", refresh);
    return () => removeEventListener("focus", refresh);
  }, [space]);

  const head = status ? status.version : null;
  const at = head === null ? null : Math.min(typeof state.at === "number" ? state.at : head, head);
  const timeline = useAnswer(head === null ? null : ofSpace(space, "timeline"), {values: {bins: 240, limit: 1, as_of: `version:${head}`}});
  const entry = useAnswer(
    at === null ? null : ofSpace(space, "log"),
    {values: {after: at - 1, limit: 1}},
  );
  const moment = entry.answer && entry.answer.items[0];
  const sessions = useSessions(timeline.answer ? space : null, head);
  const pane = PANES.find(([name]) => name === state.pane) || PANES[0];

  const step = (version) => go({at: version >= head ? null : Math.max(0, version)}, {replace: true});
  const keys = useRef(null);
  keys.current = (event) => {
    const where = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || head === null) return;
    if (where.closest("input, textarea, select, dialog") && event.key !== "Escape") return;
    const act = {
      ArrowLeft: () => (event.shiftKey ? step(sessions.before(at)) : step(at - 1)),
      ArrowRight: () => (event.shiftKey ? step(sessions.after(at, head)) : step(at + 1)),
      Home: () => step(0),
      End: () => step(head),
      "?": () => help(true),
      "/": () => document.getElementById("filter-text")?.focus(),
      j: () => document.dispatchEvent(new CustomEvent("decision-step", {detail: 1})),
      k: () => document.dispatchEvent(new CustomEvent("decision-step", {detail: -1})),
    }[event.key];
    const place = /^[1-5]$/.test(event.key) ? PANES[Number(event.key) - 1] : null;
    if (act) act();
    else if (place) go({pane: place[0]});
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const press = (event) => keys.current(event);
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  if (!space) return html`<main class="sign"><h1>mnemic explorer</h1><p>This store has no space that you may read.</p></main>`;
  const Pane = pane[2];
  const shared = {space, at, head, moment, state, status, sessions, since};
  return html`
    <a class="skip" href="#pane">Skip to the pane</a>
    <header class="top">
      <h1><span aria-hidden="true" class="logo"></span>mnemic <span>explorer</span></h1>
      <label>Space <select value=${space} onChange=${(event) => go({space: event.target.value, at: null, decision: null, block: null})}>
        ${names.map((name) => html`<option value=${name}>${plain(name)}</option>`)}
      </select></label>
      ${status && html`<p class="counts">${status.active.toLocaleString("en")} active · ${status.archived.toLocaleString("en")} archived · ${status.decisions.toLocaleString("en")} decisions · ${(status.version + 1).toLocaleString("en")} events</p>`}
      <span class="space"></span>
      <button onClick=${() => setTheme(theme === "dark" ? "light" : theme === "light" ? "" : "dark")}>
        Theme: ${theme || "system"}</button>
      <button onClick=${() => help(true)}><kbd>?</kbd> Keys</button>
    </header>
    ${failed && html`<div class="problem" role="alert">${plain(failed.message)} ${plain(failed.recovery || "")}</div>`}
    <${Scrubber} timeline=${timeline} sessions=${sessions} at=${at} head=${head} moment=${moment} step=${step} />
    <div class="columns">
      <${DecisionList} ...${shared} />
      <main id="pane" tabindex="-1">
        <nav class="panes" aria-label="Panes">${PANES.map(
          ([name, title], place) => html`<button aria-current=${pane[0] === name ? "page" : undefined}
            onClick=${() => go({pane: name})}><kbd aria-hidden="true">${place + 1}</kbd> ${title}</button>`,
        )}</nav>
        ${head !== null && html`<${Pane} key=${`${space} ${pane[0]}`} ...${shared} />`}
      </main>
    </div>
    ${helping && html`<${Help} close=${() => help(false)} />`}`;
}

function Page() {
  const [spaces, set] = useState(null);
  const [failed, fail] = useState(null);
  const enter = () => {
    fail(null);
    ask("spaces").then((found) => set(found.items), fail);
  };
  useLayoutEffect(enter, []);
  if (failed && (failed.status === 401 || failed.status === 403)) {
    return html`<${Sign} why=${failed.message} done=${enter} />`;
  }
  if (failed) {
    return html`<main class="sign"><h1>mnemic explorer</h1><div class="problem" role="alert">${plain(failed.message)}</div>
      <button onClick=${enter}>Try again</button></main>`;
  }
  // The space that the address names is asked for without waiting for the list.
  const named = read().space;
  const known = spaces || (named ? [{space: named}] : null);
  if (!known) return html`<main class="sign" role="status">Opening the store…</main>`;
  return html`<${Explorer} spaces=${known} leave=${(error) => {
    set(null);
    fail(error);
  }} />`;
}

render(html`<${Page} />`, document.getElementById("app"));
