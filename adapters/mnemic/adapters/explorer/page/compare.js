// The same question then, at the scrubber's moment, and under another policy.

import {html, useEffect, useRef, useState} from "htm/preact";
import {askLong, ofSpace, useAnswer} from "./api.js";
import {rows, useExplained} from "./decision.js";
import {AsCode, Asked, Bar, Copy, Legend, SIGNALS, Sections, curl, py, sh} from "./parts.js";
import {Plot} from "./plot.js";
import {go} from "./state.js";
import {Quote, line, number, plain, signed} from "./text.js";

const MEASURES = [["ndcg", "order (nDCG)"], ["hit", "a useful block (hit)"], ["reward", "usefulness (reward)"]];

// The weights of a frame sum to 1: the sliders give their proportions.
export function proportions(weights) {
  const sum = SIGNALS.reduce((total, name) => total + weights[name], 0);
  if (!sum) return null;
  const shares = Object.fromEntries(SIGNALS.map((name) => [name, Math.round((weights[name] / sum) * 10_000)]));
  const largest = SIGNALS.reduce((best, name) => (shares[name] > shares[best] ? name : best));
  shares[largest] += 10_000 - Object.values(shares).reduce((total, each) => total + each, 0);
  return Object.fromEntries(SIGNALS.map((name) => [name, shares[name] / 10_000]));
}

export function ComparePane({space, at, head, state}) {
  const {decision} = state;
  const explained = useExplained(space, decision);
  const policy = useAnswer(ofSpace(space, "policy"));
  if (!decision) return html`<p class="empty">Choose a decision on the left: its question is asked again here.</p>`;
  return html`<${Asked} asked=${explained}>${explained.answer && (explained.answer.sealed || !explained.answer.query
    ? html`<p class="note sealed"><b>Sealed.</b> Text that this decision read has been erased since: it cannot be asked again.</p>`
    : html`<${Asked} asked=${policy}>${policy.answer && html`<${Comparison} key=${decision} space=${space} at=${at} head=${head} explained=${explained.answer} policy=${policy.answer} />`}</${Asked}>`)}
  </${Asked}>`;
}

function Comparison({space, at, head, explained, policy}) {
  const frame = policy.frames.find((each) => each.name === explained.frame) || policy.frames[0];
  const own = Object.fromEntries(SIGNALS.map((name) => [name, frame[name]]));
  const [weights, weigh] = useState(own);
  const shares = proportions(weights) || own;
  const trial = {...policy, name: "trial", frames: policy.frames.map((each) => (each.name === frame.name ? {...each, ...shares} : each))};
  const changed = SIGNALS.some((name) => Math.abs(shares[name] - own[name]) > 0.0001);
  const moment = at === explained.version ? head : at;
  const now = useAnswer(ofSpace(space, "decisions", explained.decision_id, "ask-again"), {values: {as_of: `version:${moment}`}});
  const supposed = useAnswer(ofSpace(space, "decisions", explained.decision_id, "what-if"), {body: {policy: trial}}, {wait: 90});
  const moves = new Map((supposed.answer?.moves || []).map((each) => [each.block_id, each]));
  const then = rows(explained);
  const ranks = new Map(then.map((each) => [each.block_id, each.rank]));
  return html`
    <header class="pane-head"><p class="eyebrow">${explained.decision_id} · frame ${plain(frame.name)}</p><h2><${Quote} text=${explained.query} /></h2></header>
    <div class="thirds">
      <${Column} title="Then" note=${`version ${explained.version}, as recorded`} blocks=${then} />
      <${Asked} asked=${now}>${now.answer && html`<${Column} title=${moment === head ? "Now" : "At the scrubber"} note=${`version ${moment}`} blocks=${rows(now.answer)} ranks=${ranks} then=${then} />`}</${Asked}>
      <${Asked} asked=${supposed}>${supposed.answer && html`<${Column} title="Under another policy" note=${changed ? "the memory of then, your weights" : "move a slider"} blocks=${rows(supposed.answer.answer)} ranks=${ranks} then=${then} moves=${moves} />`}</${Asked}>
    </div>
    <${Legend} contributions=${[...then, ...(supposed.answer ? rows(supposed.answer.answer) : [])].flatMap((each) => each.contributions)} />
    <${Sections} title=${`Weights of frame ${plain(frame.name)}`} aside=${html`<button onClick=${() => weigh(own)} disabled=${!changed}>As in the policy</button>`}>
      <div class="sliders">${SIGNALS.map((name) => html`<label><span><i class=${`chip signal-${name}`} aria-hidden="true"></i>${name}</span>
        <input type="range" min="0" max="1" step="0.01" value=${weights[name]} onInput=${(event) => weigh({...weights, [name]: Number(event.target.value)})} />
        <output>${number(shares[name], 2)}</output></label>`)}</div>
      ${!proportions(weights) && html`<p class="note bad">All weights are 0: a frame needs at least one.</p>`}
    </${Sections}>
    <${Backtest} space=${space} trial=${trial} changed=${changed} />
    <${Adopt} space=${space} trial=${trial} changed=${changed} frame=${frame.name} shares=${shares} />
    <${AsCode} python=${`policy = memory.policy  # with other weights in frame ${py(frame.name)}\nmemory.what_if(${py(explained.decision_id)}, policy=policy)`}
      cli=${`mnemic --space ${sh(space)} what-if ${explained.decision_id} --policy trial.json`}
      http=${curl(ofSpace(space, "decisions", explained.decision_id, "what-if"), {body: {policy: {name: "trial", frames: [{name: frame.name, ...shares}]}}})} />`;
}

function Column({title, note, blocks, ranks, then, moves}) {
  const gone = ranks ? then.filter((each) => !blocks.some((one) => one.block_id === each.block_id)) : [];
  return html`<section class="column"><h3>${title}</h3><p class="quiet">${note}</p>
    ${!blocks.length && html`<p class="empty">Nothing was returned.</p>`}
    <ol>${blocks.map((each) => {
      const before = ranks?.get(each.block_id);
      const kind = !ranks ? "" : before === undefined ? "entered" : before !== each.rank ? "moved" : "";
      return html`<li class=${kind}><button class="row" onClick=${() => go({pane: "block", block: each.block_id})}>
        <span class="rank">#${each.rank}</span> <bdi>${line(each.content, 80)}</bdi>
        <span class="score">${number(each.score)}${kind && html` <span class="badge moved">${kind === "entered" ? "entered" : `was #${before}`}</span>`}</span></button>
        <${Bar} contributions=${each.contributions} score=${each.score} />
        ${moves?.get(each.block_id) && moves.get(each.block_id).change !== "stayed" && html`<small class="quiet">${plain(moves.get(each.block_id).cause)}</small>`}</li>`;
    })}${gone.map((each) => html`<li class="left"><button class="row" onClick=${() => go({pane: "block", block: each.block_id})}><span class="rank">–</span> <bdi>${line(each.content, 80)}</bdi> <span class="badge bad">left, was #${each.rank}</span></button></li>`)}</ol>
  </section>`;
}

function Backtest({space, trial, changed}) {
  const [state, set] = useState({});
  const stop = useRef(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async () => {
    stop.current?.abort();
    stop.current = new AbortController();
    set({done: 0, todo: 0, running: true});
    try {
      const found = await askLong(ofSpace(space, "backtest"), {
        body: {policies: {trial}},
        progress: (done, todo) => set({done, todo, running: true}),
        signal: stop.current.signal,
      });
      set({found});
    } catch (error) {
      set(error.name === "AbortError" ? {} : {problem: error});
    }
  };
  return html`<${Sections} title="Every past decision under these weights" aside=${html`<span>
      <button class="primary" onClick=${run} disabled=${state.running || !changed}>Run the backtest</button>
      ${state.running && html` <button onClick=${() => stop.current.abort()}>Stop</button>`}</span>`}>
    ${!changed && !state.found && html`<p class="quiet">Move a slider first: the policy in force is what was recorded.</p>`}
    ${state.running && html`<p role="status"><progress max=${state.todo || 1} value=${state.done} aria-label="Decisions answered again"></progress> ${state.done} of ${state.todo || "…"} decisions</p>`}
    ${state.problem && html`<div class="problem" role="alert">${plain(state.problem.message)} ${plain(state.problem.recovery || "")}</div>`}
    ${state.found && html`<${Scores} found=${state.found} />`}
  </${Sections}>`;
}

function Scores({found}) {
  const names = MEASURES.map(([, title]) => title);
  const colors = ["--quiet", "--accent"];
  const series = found.scores.map((score, place) => {
    const values = MEASURES.map(([name]) => score[name]);
    return {label: score.name, color: colors[place % 2], dots: true, y: values.map((each) => each?.mean ?? null), intervals: values.map((each) => [each?.low ?? null, each?.high ?? null])};
  });
  const spread = (each) => (each === null ? "–" : `${number(each.mean)}${each.low === null ? "" : ` [${number(each.low)}, ${number(each.high)}]`}`);
  return html`
    <p>${found.decisions} decisions, ${found.judged} judged by what happened afterwards.</p>
    <${Plot} title="Measures with intervals; the table has the numbers" x=${MEASURES.map((_, place) => place)} series=${series} names=${names} height=${190} />
    <table class="numbers wide"><caption>95 % intervals, resampled by session</caption>
      <thead><tr><th scope="col">policy</th>${MEASURES.map(([, title]) => html`<th scope="col">${title}</th>`)}<th scope="col">reward gap</th></tr></thead>
      <tbody>${found.scores.map((score) => html`<tr><th scope="row">${plain(score.name)}</th>${MEASURES.map(([name]) => html`<td>${spread(score[name])}</td>`)}<td>${score.reward_gap ? `${signed(score.reward_gap.mean)}${score.reward_gap.low === null ? "" : ` [${signed(score.reward_gap.low)}, ${signed(score.reward_gap.high)}]`}` : "–"}</td></tr>`)}</tbody></table>
    ${found.caveats.map((each) => html`<p class="note">${plain(each)}</p>`)}`;
}

function Adopt({space, trial, changed, frame, shares}) {
  const [open, set] = useState(false);
  const file = JSON.stringify(trial, null, 1);
  return html`<${Sections} title="Adopt" aside=${html`<button onClick=${() => set(!open)} aria-expanded=${open} disabled=${!changed}>Show the command</button>`}>
    ${open && changed && html`<p>The page changes nothing. Save the policy as <code>trial.json</code>, then adopt it; it is an event of the log, and the decisions so far stay as they are.</p>
      <pre tabindex="0" aria-label="Command">mnemic --space ${sh(space)} policy trial.json</pre><${Copy} text=${`mnemic --space ${sh(space)} policy trial.json`} label="Copy the command" /> <${Copy} text=${file} label="Copy trial.json" />
      <${AsCode} title="As code" python=${`from attrs import evolve\n\nweights = ${JSON.stringify(shares)}\npolicy = memory.policy\nframes = tuple(\n    evolve(each, **weights) if each.name == ${py(frame)} else each for each in policy.frames\n)\nmemory.adopt_policy(evolve(policy, name="trial", frames=frames))`}
        http=${`curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d @trial.json ${sh(new URL(`../v1/${ofSpace(space, "policy")}`, location.href).href)}`} />`}
  </${Sections}>`;
}

