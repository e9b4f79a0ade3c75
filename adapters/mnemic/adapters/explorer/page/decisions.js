// The list of decisions, the worst first: where debugging begins.

import {html, useEffect, useMemo, useRef, useState} from "htm/preact";
import {ask, ofSpace, useAnswer} from "./api.js";
import {AsCode, Asked, Verdict, curl, py, sh} from "./parts.js";
import {go} from "./state.js";
import {hours, line, plain, wall} from "./text.js";

const LIMIT = 50;

export function DecisionList({space, at, head, state, since}) {
  const {outcome, text} = state;
  const order = state.order || "worst";
  // The whole log to choose from, or only what was known at the moment.
  const until = state.list === "moment" ? at : head;
  const values = {order, outcome, text, limit: LIMIT, as_of: until === head ? undefined : `version:${until}`};
  // Of the whole log, it is asked for at once, before the head is known.
  const where = state.list === "moment" && at === null ? null : ofSpace(space, "decisions");
  const asked = useAnswer(where, {values, since}, {wait: until === head ? 0 : 200});
  const [more, setMore] = useState({items: [], after: null, of: null});
  const page = asked.answer;
  const mine = more.of === page ? more : {items: [], after: page?.next_after ?? null};
  const items = page ? [...page.items, ...mine.items] : [];

  const next = async () => {
    const found = await ask(where, {values: {...values, after: mine.after}});
    setMore({of: page, items: [...mine.items, ...found.items], after: found.next_after});
  };
  const open = (decision) => go({decision: decision.decision_id, at: decision.read_version, pane: state.pane === "compare" ? "compare" : "decision", block: null});

  const chosen = useRef(null);
  chosen.current = (by) => {
    const place = items.findIndex((each) => each.decision_id === state.decision);
    const to = items[Math.min(items.length - 1, Math.max(0, place + by))];
    if (to) open(to);
  };
  useEffect(() => {
    const move = (event) => chosen.current(event.detail);
    document.addEventListener("decision-step", move);
    return () => document.removeEventListener("decision-step", move);
  }, []);

  // Drawn again if the list changes, not at every step of the scrubber.
  const isLater = (each) => at !== null && each.version > at + 1;
  const earlier = items.reduce((count, each) => count + !isLater(each), 0);
  const drawn = useMemo(() => html`<ol>${items.map((each) => html`<li key=${each.decision_id}><button class=${`decision ${isLater(each) ? "later" : ""}`} aria-current=${each.decision_id === state.decision ? "true" : undefined} onClick=${() => open(each)}>
        <span class="question">${each.sealed ? html`<span class="gone">Question erased</span>` : each.query ? html`<bdi>${line(each.query, 140)}</bdi>` : html`<span class="gone">No question</span>`}</span>
        <span class="facts"><${Verdict} outcome=${each.outcome} verdict=${each.verdict} /> <span>${each.decision_id} · ${hours(each.hour)} · ${wall(each.recorded_at).slice(5)}</span>
        <span class="origin">${each.answer.length} blocks · ${isLater(each) ? "later · " : ""}${plain(each.frame)} · <bdi>${plain(each.actor)}</bdi></span></span>
      </button></li>`)}</ol>`, [page, mine.items.length, earlier, state.decision, state.pane]);

  const filters = `${order === "worst" ? `order="worst"` : ""}${outcome ? `, outcome=${py(outcome)}` : ""}${text ? `, text=${py(text)}` : ""}`.replace(/^, /, "");
  const cli = `mnemic --space ${sh(space)} decisions --order ${order}${outcome ? ` --outcome ${outcome}` : ""}${text ? ` --text ${sh(text)}` : ""}`;
  return html`<aside class="list" aria-label="Decisions">
    <header>
      <h2>Decisions</h2>
      <label>Order <select value=${order} onChange=${(event) => go({order: event.target.value})}>
        <option value="worst">worst first</option><option value="latest">latest first</option></select></label>
      <label>Outcome <select value=${outcome || ""} onChange=${(event) => go({outcome: event.target.value})}>
        <option value="">any</option><option value="bad">bad</option><option value="good">good</option><option value="none">not scored</option></select></label>
      <label class="wide"><span class="hidden">Words of the question</span><input id="filter-text" type="search" placeholder="Words of the question  /" value=${text || ""}
        onChange=${(event) => go({text: event.target.value})}
        onKeyDown=${(event) => event.key === "Escape" && event.target.blur()} /></label>
      <label class="check"><input type="checkbox" checked=${state.list === "moment"} onChange=${(event) => go({list: event.target.checked ? "moment" : null})} /> as of the moment</label>
    </header>
    <${Asked} asked=${asked} empty=${page && !items.length ? (page.total || text ? "No decision matches, as of this moment." : "No decision was recorded by this moment. Each recall records one.") : null}>
      ${drawn}
      ${page && html`<p class="quiet">${items.length} of ${page.total.toLocaleString("en")}</p>`}
      ${mine.after !== null && html`<button onClick=${next}>Show more</button>`}
      <${AsCode} title="This list as code" python=${`memory${until === head ? "" : `.as_of(version=${until})`}.decisions(${filters})`}
        cli=${until === head ? cli : cli.replace(" decisions", ` as-of --version ${until} decisions`)} http=${curl(ofSpace(space, "decisions"), {values})} />
    </${Asked}>
  </aside>`;
}
