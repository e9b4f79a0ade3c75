// Parts that several panes use: answers in progress, bars of scores, code to copy, blocks.

import {html, useRef, useState} from "htm/preact";
import {Quote, line, number, plain, short, signed} from "./text.js";

export const SIGNALS = [
  "relevance", "recency", "usefulness", "confidence", "frequency", "centrality", "reinforcement",
];

export function Asked({asked, children, empty}) {
  if (asked.error) {
    return html`<div class="problem" role="alert">
      <strong>${plain(asked.error.message)}</strong> ${plain(asked.error.recovery || "")}
    </div>`;
  }
  if (asked.answer === undefined) return html`<div class="waiting" role="status">Computing…</div>`;
  if (empty) return html`<p class="empty">${empty}</p>`;
  return html`<div class=${asked.stale ? "stale" : ""}>${children}</div>`;
}

// A score as stacked contributions. The table beside it says the same to a screen reader.
export function Bar({contributions, score, most = 1}) {
  const shown = contributions.filter((each) => Math.abs(each.contribution) > 0.0005);
  const said = shown
    .map((each) => `${each.signal} ${number(each.value)} × ${number(each.weight, 2)} = ${number(each.contribution)}`)
    .join(", ");
  return html`<span class="bar" role="img" aria-label=${`score ${number(score)}: ${said}`} title=${said}>
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">${
      shown.reduce(
        ({parts, from}, each) => {
          const width = (Math.max(0, each.contribution) / most) * 100;
          parts.push(html`<rect x=${from} y="0" width=${width} height="10" class=${`signal-${each.signal}`} />`);
          return {parts, from: from + width};
        },
        {parts: [], from: 0},
      ).parts
    }</svg>
  </span>`;
}

export function Legend({contributions}) {
  const names = SIGNALS.filter((name) =>
    contributions.some((each) => each.signal === name && Math.abs(each.contribution) > 0.0005));
  return html`<div class="legend" aria-hidden="true">${names.map(
    (name) => html`<span><i class=${`chip signal-${name}`}></i>${name}</span>`,
  )}</div>`;
}

export function Contributions({contributions, caption}) {
  return html`<table class="numbers">
    <caption>${caption}</caption>
    <thead><tr><th scope="col">signal</th><th scope="col">value</th><th scope="col">weight</th><th scope="col">adds</th></tr></thead>
    <tbody>${contributions.map(
      (each) => html`<tr>
        <th scope="row"><i class=${`chip signal-${each.signal}`} aria-hidden="true"></i>${plain(each.signal)}</th>
        <td>${number(each.value)}</td><td>${number(each.weight, 2)}</td><td>${number(each.contribution)}</td>
      </tr>`,
    )}</tbody>
  </table>`;
}

export function Verdict({outcome, verdict}) {
  const word = outcome === null || outcome === undefined ? "not scored" : number(outcome, 2);
  const kind = outcome === null || outcome === undefined ? "none" : outcome < 0.5 ? "bad" : "good";
  return html`<span class=${`badge ${kind}`}>${kind === "none" ? "" : kind === "bad" ? "▼ " : "▲ "}${word}</span>${
    verdict && verdict !== "yes" ? html` <span class="badge quiet">says ${verdict}</span>` : ""}`;
}

export function Origin({block}) {
  return html`<span class="origin">${short(block.block_id || block.id)}${
    block.author ? html` · by <bdi>${plain(block.author)}</bdi>` : ""}${
    block.actor ? html` · written by <bdi>${plain(block.actor)}</bdi>` : ""}${
    block.zone && block.zone !== "trusted" ? html` · <b class="zone">zone ${plain(block.zone)}</b>` : ""}</span>`;
}

export function Copy({text, label = "Copy"}) {
  const [done, set] = useState("");
  const timer = useRef(0);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set("Copied");
    } catch {
      set("Select it and copy");
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(""), 1500);
  };
  return html`<button class="small" onClick=${copy}>${done || label}</button>`;
}

// What a pane shows, as the library, the command line and any HTTP client get it.
export function AsCode({python, cli, http, title = "This pane as code"}) {
  const rows = [["Python", python], ["CLI", cli], ["curl", http]].filter(([, text]) => text);
  return html`<details class="code"><summary>${title}</summary>${rows.map(
    ([name, text]) => html`<div class="snippet"><div><b>${name}</b> <${Copy} text=${text} label=${`Copy ${name}`} /></div>
      <pre tabindex="0" aria-label=${`${name} code`}>${plain(text)}</pre></div>`,
  )}</details>`;
}

export const py = (value) =>
  value === null || value === undefined ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value);
export const sh = (text) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${String(text).replaceAll("'", `'\\''`)}'`);

export function curl(where, {values, body} = {}) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values || {})) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined && each !== null && each !== "") found.append(name, each);
  }
  const url = new URL(`../v1/${where}`, location.href);
  url.search = found.toString();
  const sent = body === undefined ? "" : ` \\\n  -H 'Content-Type: application/json' -d ${sh(JSON.stringify(body))}`;
  return `curl -H "Authorization: Bearer $TOKEN" ${sh(url.href)}${sent}`;
}

export function Sections({title, level = 3, children, aside}) {
  const Tag = `h${level}`;
  return html`<section class="section"><header><${Tag}>${title}</${Tag}>${aside || ""}</header>${children}</section>`;
}

export function Row({block, onOpen, children}) {
  return html`<button class="row" onClick=${onOpen}><span class="words">${line(block.content ?? block.preview ?? "[erased]")}</span>${children}</button>`;
}

export {Quote, signed};
