// One decision: what it returned, what just missed, and why not; as recorded, or the same question
// asked at the moment of the scrubber.

import {html, useState} from "htm/preact";
import {ask, ofSpace, useAnswer} from "./api.js";
import {saveDecision} from "./export.js";
import {AsCode, Asked, Bar, Contributions, Copy, Legend, Origin, Sections, Verdict, curl, py, sh} from "./parts.js";
import {go} from "./state.js";
import {Quote, age, hours, line, number, plain, short, signed, wall} from "./text.js";

export const NEAR_MAX = 10;

// Answers of `explain` and of `recall` in one form.
export function rows(answer) {
  return answer.blocks.map((each, place) => ({
    ...each,
    block_id: each.block_id || each.id,
    rank: each.rank || place + 1,
    score: each.score ?? each.composite_score,
  }));
}

export function nearMisses(answer, known) {
  if (answer.missed) return answer.missed;
  const least = Math.min(...answer.blocks.map((each) => each.composite_score));
  return answer.dropped.slice(0, NEAR_MAX).map((each) => ({
    ...(known.get(each.id) || {}),
    block_id: each.id,
    score: each.score,
    margin: each.score === null || !answer.blocks.length ? null : least - each.score,
    reason: each.reason,
    contributions: [],
    rank: null,
  }));
}

export function useExplained(space, decision) {
  return useAnswer(decision ? ofSpace(space, "decisions", decision, "explain") : null, {values: {events: 0}});
}

export function DecisionPane({space, at, head, state, moment}) {
  const {decision} = state;
  const explained = useExplained(space, decision);
  const found = explained.answer;
  const recorded = found && (at === found.version || found.sealed || !found.query);
  const now = useAnswer(found && !recorded ? ofSpace(space, "decisions", decision, "ask-again") : null, {values: {as_of: `version:${at}`}});
  const [opened, open] = useState(null);
  if (!decision) {
    return html`<div class="welcome"><h2>Which answer was bad?</h2>
      <p>Choose a decision on the left: the worst come first. You see what it returned, each score by its parts, and what just missed. Then step back and forth in time with <kbd>←</kbd> and <kbd>→</kbd>: everything is computed as of that event.</p></div>`;
  }
  return html`<${Asked} asked=${explained}>${found && html`
    <${Head} space=${space} explained=${found} at=${at} recorded=${recorded} />
    ${found.sealed && html`<p class="note sealed"><b>Sealed.</b> Text that this decision read has been erased since. Its recorded scores are shown; it cannot be computed again.</p>`}
    ${recorded
      ? html`<${Answer} space=${space} at=${at} answer=${found} opened=${opened} open=${open} moment=${moment} recorded=${found} />`
      : html`<${Asked} asked=${now}>${now.answer && html`<${Answer} space=${space} at=${at} answer=${now.answer} opened=${opened} open=${open} moment=${moment} recorded=${found} />`}</${Asked}>`}
    <${Missing} space=${space} explained=${found} head=${head} />
    <${Receipt} space=${space} decision=${decision} />
    <${AsCode} python=${recorded ? `memory.explain(${py(decision)})` : `memory.as_of(version=${at}).ask_again(${py(decision)})`}
      cli=${`mnemic --space ${sh(space)} ${recorded ? "explain" : `as-of --version ${at} ask-again`} ${decision}`}
      http=${recorded ? curl(ofSpace(space, "decisions", decision, "explain")) : curl(ofSpace(space, "decisions", decision, "ask-again"), {values: {as_of: `version:${at}`}})} />`}
  </${Asked}>`;
}

function Head({space, explained, at, recorded}) {
  const {decision_id: id} = explained;
  const listed = useAnswer(ofSpace(space, "decisions"), {values: {order: "latest", after: Number(id.slice(1)) + 1, limit: 1}});
  const summary = listed.answer?.items.find((each) => each.decision_id === id);
  return html`<header class="pane-head">
    <p class="eyebrow">${id} ${summary && html`<${Verdict} outcome=${summary.outcome} verdict=${summary.verdict} />`}</p>
    <h2>${explained.query ? html`<${Quote} text=${explained.query} />` : html`<span class="gone">${explained.sealed ? "Question erased" : "No question: ranked without relevance"}</span>`}</h2>
    <p class="facts">frame <b>${plain(explained.frame)}</b> · read version ${explained.version} at ${hours(explained.hour)}${summary ? html` · ${wall(summary.recorded_at)} · by <bdi>${plain(summary.actor)}</bdi>${summary.session_id ? ` · session ${short(summary.session_id)}` : ""}` : ""} · policy ${explained.policy_id} · ${plain(explained.recipe)}${explained.candidates !== null ? ` · ${explained.candidates.toLocaleString("en")} scored` : ""}</p>
    <p class="actions">
      <span class=${`moment-note ${recorded ? "" : "other"}`}>${recorded ? "As it answered" : html`The same question at version <b>${at}</b>`}</span>
      ${!recorded && html`<button onClick=${() => go({at: explained.version})}>Back to what it read</button>`}
      <button onClick=${() => go({pane: "compare"})}>Side by side</button>
      <button onClick=${() => go({pane: "graph", block: null})}>Graph</button>
      <button onClick=${() => saveDecision(space, explained, summary)}>Save as HTML</button>
    </p>
  </header>`;
}

function Answer({space, at, answer, opened, open, moment, recorded}) {
  const shown = rows(answer);
  const known = new Map([...recorded.blocks, ...recorded.missed].map((each) => [each.block_id, each]));
  const near = nearMisses(answer, known);
  const other = answer !== recorded;
  const before = new Map(rows(recorded).map((each) => [each.block_id, each.rank]));
  const gone = other ? rows(recorded).filter((each) => !shown.some((one) => one.block_id === each.block_id)) : [];
  return html`
    <${Sections} title=${`Returned: ${shown.length} ${shown.length === 1 ? "block" : "blocks"}`} aside=${html`<${Legend} contributions=${[...shown, ...near].flatMap((each) => each.contributions)} />`}>
      ${answer.verdict && html`<p class="quiet">Memory says it can answer: <b>${answer.verdict}</b> (${number(answer.answerable, 2)})</p>`}
      ${!shown.length && html`<p class="empty">Nothing was returned: no block was probable enough, or none was known.</p>`}
      <ol class="blocks">${shown.map((each) => html`<${Line} key=${each.block_id} space=${space} at=${at} block=${each} moment=${moment}
        mark=${!other ? null : !before.has(each.block_id) ? "entered" : before.get(each.block_id) !== each.rank ? `was #${before.get(each.block_id)}` : null}
        opened=${opened === each.block_id} open=${() => open(opened === each.block_id ? null : each.block_id)} />`)}</ol>
      ${gone.map((each) => html`<p class="left-out">No longer: #${each.rank} <button class="link" onClick=${() => go({pane: "block", block: each.block_id})}>${line(each.content, 90)}</button></p>`)}
    </${Sections}>
    <${Sections} title=${`Just missed: ${near.length}`}>
      ${!near.length && html`<p class="empty">No other block was scored.</p>`}
      <ol class="blocks near">${near.map((each) => html`<${Line} key=${each.block_id} space=${space} at=${at} block=${each} moment=${moment} near
        opened=${opened === each.block_id} open=${() => open(opened === each.block_id ? null : each.block_id)} />`)}</ol>
    </${Sections}>`;
}

const REASONS = {
  top_k: "no place left", token_budget: "too long for the budget", zone_full: "its zone had its share",
  min_probability: "improbable", explored: "exploration took its place", sealed: "sealed", superseded: "superseded", filter: "filtered out",
};

function Line({space, at, block, near, mark, opened, open, moment}) {
  return html`<li class=${near ? "near" : ""}>
    <button class="block" aria-expanded=${opened} onClick=${open}>
      <span class="rank" title=${near ? "place among everything that was scored" : "place in the answer"}>${block.rank ? (near ? block.rank : `#${block.rank}`) : "·"}</span>
      <span class="words">${block.content ? html`<bdi>${line(block.content, 170)}</bdi>` : html`<${Words} space=${space} id=${block.block_id} />`}${mark && html` <span class="badge moved">${mark}</span>`}</span>
      <span class="score">${number(block.score)}${near && html`<small>${block.margin === null || block.margin === undefined ? "" : block.margin >= 0 ? `${number(block.margin)} short` : `${signed(-block.margin)} above`} · ${REASONS[block.reason] || block.reason}</small>`}</span>
      ${block.contributions.length > 0 && html`<${Bar} contributions=${block.contributions} score=${block.score} />`}
    </button>
    ${opened && html`<${Details} space=${space} at=${at} block=${block} moment=${moment} />`}
  </li>`;
}

// The text of a block that an answer names by its id; asked for when the scrubber rests.
function Words({space, id}) {
  const found = useAnswer(ofSpace(space, "blocks", id), {}, {wait: 300});
  return found.answer?.content ? html`<bdi>${line(found.answer.content, 170)}</bdi>` : html`<span class="quiet">block ${short(id)}</span>`;
}

function Details({space, at, block, moment}) {
  const as_of = `version:${at}`;
  const facts = useAnswer(ofSpace(space, "blocks", block.block_id), {values: {as_of}});
  const edges = useAnswer(ofSpace(space, "blocks", block.block_id, "edges"), {values: {as_of}});
  const events = useAnswer(ofSpace(space, "history"), {values: {of: block.block_id, limit: 12, as_of}});
  const found = facts.answer;
  return html`<div class="details">
    <${Asked} asked=${facts}>${found && html`
      <p><${Quote} text=${found.content} lost=${found.lost} /></p>
      <p class="facts"><${Origin} block=${found} /> · ${age(found.created_at, moment?.recorded_at)} · ${found.status}${found.archive_reason ? ` (${found.archive_reason})` : ""} · zone ${plain(found.zone)}</p>`}
    </${Asked}>
    ${block.contributions?.length > 0 && html`<${Contributions} contributions=${block.contributions} caption=${`Score ${number(block.score)}`} />`}
    ${block.relevance_parts?.length > 0 && html`<${Contributions} contributions=${block.relevance_parts.filter((each) => each.contribution)} caption="Parts of relevance" />`}
    <div><h4>Edges</h4><${Asked} asked=${edges} empty=${edges.answer && !edges.answer.items.length ? "None." : null}><ul class="plain">${edges.answer?.items.slice(0, 8).map((each) => {
      const other = each.source_id === block.block_id ? each.target_id : each.source_id;
      return html`<li><button class="link" onClick=${() => go({pane: "block", block: other})}>${short(other)}</button> ${plain(each.relation)} <span class="quiet">${number(each.effective_weight, 2)} now, ${number(each.weight, 2)} stored</span></li>`;
    })}</ul></${Asked}></div>
    <div><h4>Events behind it</h4><${Asked} asked=${events}><${Events} items=${events.answer?.items || []} /></${Asked}></div>
    <button onClick=${() => go({pane: "block", block: block.block_id})}>Open the block</button>
  </div>`;
}

export function Events({items}) {
  return html`<ol class="events">${items.map((each) => html`<li><button class="link" onClick=${() => go({at: each.version})}>v${each.version}</button>
    <b class="kind">${each.kind}</b> <span>${hours(each.hour)} · ${wall(each.recorded_at)} · <bdi>${plain(each.actor)}</bdi></span> <span class="quiet">${line(each.detail, 110)}</span></li>`)}</ol>`;
}

// Search for the block that should have been there, and see at which stage it dropped out.
function Missing({space, explained, head}) {
  const [words, search] = useState("");
  const [block, choose] = useState(null);
  const isId = /^[0-9a-f]{16}$/.test(words.trim());
  const found = useAnswer(words && !isId ? ofSpace(space, "recall") : null, {values: {as_of: `version:${head}`}, body: {query: words, top_k: 8, min_probability: 0, detail: "core"}}, {wait: 250});
  const chosen = isId ? words.trim() : block;
  const why = useAnswer(chosen ? ofSpace(space, "decisions", explained.decision_id, "why-not", chosen) : null);
  return html`<${Sections} title="What is missing?">
    <label class="wide">Search all memory, or paste an id <input type="search" value=${words} onInput=${(event) => {
      search(event.target.value);
      choose(null);
    }} placeholder="words of the block that should have been returned" /></label>
    ${found.error && html`<div class="problem" role="alert">${plain(found.error.message)}</div>`}
    ${words && !isId && found.answer && html`<ul class="plain">${found.answer.blocks.map((each) => html`<li><button class="row" aria-pressed=${each.id === block} onClick=${() => choose(each.id)}><bdi>${line(each.content, 130)}</bdi> <span class="quiet">${short(each.id)}</span></button></li>`)}</ul>`}
    ${chosen && html`<div class="why" role="status"><${Asked} asked=${why}>${why.answer && html`<p><span class="badge stage">${why.answer.stage}</span> ${plain(why.answer.detail)}</p>
      ${why.answer.score !== null && html`<p class="facts">rank ${why.answer.rank} · score ${number(why.answer.score)}${why.answer.score_needed !== null ? ` · needed ${number(why.answer.score_needed)}` : ""}</p>`}
      ${why.answer.successor_id && html`<p>Successor: <button class="link" onClick=${() => go({pane: "block", block: why.answer.successor_id})}>${short(why.answer.successor_id)}</button></p>`}
      ${why.answer.contributions.length > 0 && html`<${Contributions} contributions=${why.answer.contributions} caption="Its score then" />`}
      <${AsCode} title="As code" python=${`memory.why_not(${py(explained.decision_id)}, ${py(chosen)})`} cli=${`mnemic --space ${sh(space)} why-not ${explained.decision_id} ${chosen}`} http=${curl(ofSpace(space, "decisions", explained.decision_id, "why-not", chosen))} />`}</${Asked}></div>`}
  </${Sections}>`;
}

function Receipt({space, decision}) {
  const [text, set] = useState("");
  const [check, say] = useState(null);
  const make = async () => {
    try {
      set(JSON.stringify(await ask(ofSpace(space, "decisions", decision, "receipt")), null, 1));
      say(null);
    } catch (error) {
      say({problem: error.message});
    }
  };
  const verify = async () => {
    try {
      say(await ask(ofSpace(space, "receipts", "verify"), {body: {receipt: JSON.parse(text), replay: true}}));
    } catch (error) {
      say({problem: error instanceof SyntaxError ? "This is not JSON: paste a whole receipt." : error.message});
    }
  };
  return html`<${Sections} title="Receipt" aside=${html`<span><button onClick=${make}>Make a receipt</button> <button onClick=${verify} disabled=${!text.trim()}>Check it</button></span>`}>
    <label class="hidden" for="receipt">Receipt, as JSON</label>
    <textarea id="receipt" rows=${text ? 7 : 2} spellcheck="false" placeholder="A receipt proves later what was answered, without the texts. Make one, or paste one to check it." value=${text} onInput=${(event) => set(event.target.value)}></textarea>
    ${text && html`<${Copy} text=${text} label="Copy the receipt" />`}
    ${check && html`<p role="status" class=${`note ${check.holds ? "good" : "bad"}`}>${check.problem ? plain(check.problem) : html`<b>${check.verdict}</b> by the log of ${plain(check.space)}${check.replayed ? `; computed again: ${check.replayed}` : ""}${check.differences?.length ? `; differs in ${check.differences.map((each) => each.field || each.name || "").join(", ")}` : ""}`}</p>`}
  </${Sections}>`;
}
