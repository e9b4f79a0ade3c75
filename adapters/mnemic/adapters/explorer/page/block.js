// One block: its text now and before, who changed it and when, its strength over time, and the
// decisions that returned it.

import {html, useState} from "htm/preact";
import {ofSpace, useAnswer} from "./api.js";
import {Events} from "./decision.js";
import {AsCode, Asked, Origin, Sections, Verdict, curl, py, sh} from "./parts.js";
import {Plot} from "./plot.js";
import {go} from "./state.js";
import {Difference, Quote, age, hours, line, number, plain, short} from "./text.js";

const CHAIN_MAX = 8;

function Search({space, at}) {
  const [words, set] = useState("");
  const found = useAnswer(words ? ofSpace(space, "recall") : null, {values: {as_of: `version:${at}`}, body: {query: words, top_k: 10, min_probability: 0, detail: "core"}}, {wait: 250});
  return html`<div class="welcome"><h2>Which block?</h2>
    <label class="wide">Search the memory of this moment, or paste an id <input type="search" value=${words} onInput=${(event) => {
      const text = event.target.value.trim();
      if (/^[0-9a-f]{16}$/.test(text)) go({block: text});
      else set(text);
    }} /></label>
    ${found.error && html`<div class="problem" role="alert">${plain(found.error.message)}</div>`}
    <ul class="plain">${found.answer?.blocks.map((each) => html`<li><button class="row" onClick=${() => go({block: each.id})}><bdi>${line(each.content, 130)}</bdi> <span class="quiet">${short(each.id)}</span></button></li>`)}</ul>
  </div>`;
}

export function BlockPane({space, at, head, state, moment}) {
  const {block: id} = state;
  const as_of = `version:${at}`;
  const asked = useAnswer(id ? ofSpace(space, "blocks", id) : null, {values: {as_of}});
  if (!id) return html`<${Search} space=${space} at=${at} />`;
  if (asked.error?.code === "block-not-found") {
    return html`<div class="welcome"><h2>Not known yet</h2><p>Block <code>${plain(id)}</code> was not learned by version ${at}. ${at !== head && html`<button onClick=${() => go({at: null})}>Go to the present</button>`}</p><${Search} space=${space} at=${at} /></div>`;
  }
  return html`<${Asked} asked=${asked}>${asked.answer && html`<${Block} key=${id} space=${space} at=${at} head=${head} block=${asked.answer} moment=${moment} />`}</${Asked}>`;
}

function Block({space, at, head, block, moment}) {
  const as_of = `version:${at}`;
  const course = useAnswer(ofSpace(space, "blocks", block.id, "trajectory"), {values: {points: 60, as_of}});
  const events = useAnswer(ofSpace(space, "history"), {values: {of: block.id, limit: 60, as_of}});
  const decisions = useAnswer(ofSpace(space, "decisions"), {values: {of: block.id, limit: 50, as_of}});
  const before = course.answer?.supersedes || [];
  const command = (name, ...rest) => `mnemic --space ${sh(space)} ${name} ${[short(block.id), ...rest].join(" ")}`;
  return html`
    <header class="pane-head"><p class="eyebrow">block ${block.id}</p>
      <h2 class="text"><${Quote} text=${block.content} lost=${block.lost} /></h2>
      <p class="facts"><span class=${`badge ${block.status === "active" ? "good" : "none"}`}>${block.status}${block.archive_reason ? `: ${block.archive_reason}` : ""}</span> <${Origin} block=${block} /> · ${age(block.created_at, moment?.recorded_at)} · ${plain(block.category)}${block.tags.length ? html` · ${block.tags.map((each) => html`<span class="tag">${plain(each)}</span> `)}` : ""}</p>
      <p class="facts">usefulness ${number(block.usefulness)} by ${number(block.evidence, 1)} of evidence · recency ${number(block.recency)} · returned ${block.retrievals} times · ${block.degree} edges · confidence ${number(block.confidence, 2)}</p>
      <p class="actions"><button onClick=${() => go({pane: "graph"})}>Graph around it</button>
        ${block.superseded_by && html`<button onClick=${() => go({block: block.superseded_by})}>Its successor ${short(block.superseded_by)}</button>`}</p>
    </header>
    <${Sections} title="Its text, before and after">
      ${!before.length && !block.superseded_by && html`<p class="empty">It was never revised or superseded, as of this moment.</p>`}
      ${before.slice(0, CHAIN_MAX).map((each) => html`<${Change} key=${each} space=${space} as_of=${as_of} from=${each} to=${block} />`)}
      ${block.superseded_by && html`<${Change} space=${space} as_of=${as_of} from=${block} to=${block.superseded_by} />`}
    </${Sections}>
    <${Sections} title="Over time">
      <${Asked} asked=${course}>${course.answer && html`<${Course} points=${course.answer.points} decisions=${decisions.answer?.items || []} id=${block.id} />`}</${Asked}>
    </${Sections}>
    <${Sections} title="What happened to it"><${Asked} asked=${events}><${Events} items=${events.answer?.items || []} /></${Asked}></${Sections}>
    <${Sections} title="Decisions that returned it">
      <${Asked} asked=${decisions} empty=${decisions.answer && !decisions.answer.items.length ? "None, as of this moment." : null}>
        <ul class="plain">${decisions.answer?.items.map((each) => {
          const place = each.answer.findIndex((one) => one.block_id === block.id);
          return html`<li><button class="row" onClick=${() => go({decision: each.decision_id, at: each.read_version, pane: "decision"})}><span class="rank">#${place + 1}</span> <bdi>${line(each.query ?? "[erased]", 100)}</bdi> <span class="quiet">${each.decision_id} · ${hours(each.hour)} · ${number(each.answer[place]?.score)}</span> <${Verdict} outcome=${each.outcome} /></button></li>`;
        })}</ul>
      </${Asked}>
    </${Sections}>
    <${AsCode} title="Change it: commands" python=${`memory.revise(${py(block.id)}, "…", "why")\nmemory.forget(${py(block.id)})\nmemory.quarantine({"block": ${py(block.id)}})\nmemory.revert_source({"block": ${py(block.id)}}, dry_run=True)\nmemory.fork("a.copy", at_version=${at})`}
      cli=${[command("revise", "'…'", "why"), command("forget"), `mnemic --space ${sh(space)} quarantine --block ${block.id}`, `mnemic --space ${sh(space)} revert-source --block ${block.id} --dry-run`].join("\n")} />
    <${AsCode} python=${`view = memory${at === head ? "" : `.as_of(version=${at})`}\nview.block(${py(block.id)})\nview.trajectory(${py(block.id)})\nview.history(of=${py(block.id)})\nview.decisions(of=${py(block.id)})`}
      cli=${`mnemic --space ${sh(space)} ${at === head ? "" : `as-of --version ${at} `}block ${short(block.id)}\nmnemic --space ${sh(space)} ${at === head ? "" : `as-of --version ${at} `}trajectory ${short(block.id)}`}
      http=${curl(ofSpace(space, "blocks", block.id, "trajectory"), {values: {as_of}})} />`;
}

function Change({space, as_of, from, to}) {
  const one = useAnswer(typeof from === "string" ? ofSpace(space, "blocks", from) : null, {values: {as_of}});
  const other = useAnswer(typeof to === "string" ? ofSpace(space, "blocks", to) : null, {values: {as_of}});
  const [before, after] = [typeof from === "string" ? one.answer : from, typeof to === "string" ? other.answer : to];
  if (!before || !after) return html`<p class="waiting" role="status">Computing…</p>`;
  const link = typeof from === "string" ? before : after;
  return html`<div class="change"><p class="facts"><button class="link" onClick=${() => go({block: link.id})}>${short(before.id)}</button> superseded by ${short(after.id)} · learned at version ${after.learned_version} by <bdi>${plain(after.actor)}</bdi></p>
    ${before.content && after.content ? html`<${Difference} before=${before.content} after=${after.content} />` : html`<p><${Quote} text=${null} lost=${before.lost || after.lost} /></p>`}</div>`;
}

function Course({points, decisions, id}) {
  const x = points.map((each) => each.hour);
  const scores = new Map(decisions.map((each) => [each.hour, each.answer.find((one) => one.block_id === id)?.score]));
  const all = [...new Set([...x, ...scores.keys()])].sort((a, b) => a - b);
  const last = (hour, name) => {
    const found = points.findLast((each) => each.hour <= hour);
    return found ? found[name] : null;
  };
  const series = [
    {label: "recency", color: "--signal-recency", y: all.map((hour) => last(hour, "recency"))},
    {label: "usefulness", color: "--signal-usefulness", stepped: true, y: all.map((hour) => last(hour, "usefulness"))},
    {label: "score in decisions", color: "--accent", dots: true, y: all.map((hour) => scores.get(hour) ?? null)},
  ];
  const [first, end] = [points[0], points[points.length - 1]];
  return html`<${Plot} x=${all} series=${series} xLabel="active hours" title="Recency, usefulness and scores over active hours" />
    <p class="hidden">Recency from ${number(first.recency)} to ${number(end.recency)}, usefulness from ${number(first.usefulness)} to ${number(end.usefulness)}, over ${hours(end.hour - first.hour)}.</p>`;
}
