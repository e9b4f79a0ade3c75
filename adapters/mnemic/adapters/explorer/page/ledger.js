// The ledger, in lanes by outcome, and the frontier: what was never composed and looks worth it.

import {html} from "htm/preact";
import {ofSpace, useAnswer} from "./api.js";
import {AsCode, Asked, Sections, curl, sh} from "./parts.js";
import {go} from "./state.js";
import {hours, line, number, plain, short} from "./text.js";

const WORKED = new Set(["accepted", "helpful", "submitted", "user_promoted"]);
const LANES = [["worked", "Worked"], ["failed", "Failed"], ["mixed", "Mixed"], ["open", "Not labelled"]];
const LIMIT = 60;

export function lane(composition) {
  const names = composition.labels.map((each) => each.label);
  const good = names.some((each) => WORKED.has(each));
  const bad = names.some((each) => !WORKED.has(each));
  return good && bad ? "mixed" : good ? "worked" : bad ? "failed" : "open";
}

export function LedgerPane({space, at, head}) {
  const as_of = `version:${at}`;
  const ledger = useAnswer(ofSpace(space, "compositions"), {values: {limit: LIMIT, as_of}}, {wait: 120});
  const frontier = useAnswer(ofSpace(space, "frontier"), {values: {limit: 12, as_of}}, {wait: 200});
  const items = ledger.answer?.items || [];
  const past = at === head ? "" : `as-of --version ${at} `;
  return html`
    <${Sections} level=${2} title="Ledger" aside=${html`<span class="quiet">the last ${LIMIT}, as of version ${at}</span>`}>
      <${Asked} asked=${ledger} empty=${ledger.answer && !items.length ? "Nothing was composed by this moment. compose() records that blocks were used together, and label() how it went." : null}>
        <div class="lanes">${LANES.map(([name, title]) => {
          const mine = items.filter((each) => lane(each) === name);
          return html`<section class=${`lane ${name}`} aria-label=${title}><h3>${title} <span class="quiet">${mine.length}</span></h3>
            ${mine.map((each) => html`<article><p class="facts">${plain(each.id)} · ${hours(each.hour)} · ${plain(each.tool)}</p>
              ${each.query && html`<p><bdi>${line(each.query, 100)}</bdi></p>`}
              <ul class="plain">${each.members.map((one) => html`<li><button class="link" onClick=${() => go({pane: "block", block: one.block_id})}><bdi>${one.preview ? line(one.preview, 70) : `${short(one.block_id)} (erased)`}</bdi></button></li>`)}</ul>
              ${each.labels.map((one) => html`<span class="tag">${plain(one.label)}${one.source ? ` · ${plain(one.source)}` : ""}</span> `)}</article>`)}</section>`;
        })}</div>
      </${Asked}>
    </${Sections}>
    <${Sections} level=${2} title="Frontier" aside=${html`<span class="quiet">never composed, and looks worth it: questions, not findings</span>`}>
      <${Asked} asked=${frontier} empty=${frontier.answer && !frontier.answer.candidates.length ? plain(frontier.answer.empty_because || "Nothing.") : null}>
        <ol class="frontier">${frontier.answer?.candidates.map((each) => html`<li>
          <p class="score">${number(each.score, 2)}</p>
          <div>${each.block_ids.map((id, place) => html`<p><button class="link" onClick=${() => go({pane: "block", block: id})}><bdi>${line(each.previews[place] ?? "[erased]", 120)}</bdi></button></p>`)}
          <p class="facts">${plain(each.reason)}${each.outcome_signal !== "clean" ? ` · ${each.outcome_signal}` : ""}</p><p class="quiet">${plain(each.composition_question)}</p></div></li>`)}</ol>
      </${Asked}>
    </${Sections}>
    <${AsCode} python=${`view = memory${at === head ? "" : `.as_of(version=${at})`}\nview.ledger(limit=${LIMIT})\nview.frontier(limit=12)`}
      cli=${`mnemic --space ${sh(space)} ${past}ledger --limit ${LIMIT}\nmnemic --space ${sh(space)} ${past}frontier --limit 12`}
      http=${`${curl(ofSpace(space, "compositions"), {values: {limit: LIMIT, as_of}})}\n${curl(ofSpace(space, "frontier"), {values: {limit: 12, as_of}})}`} />`;
}
