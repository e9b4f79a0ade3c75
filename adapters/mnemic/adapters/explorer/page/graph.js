// The strongest connections around a block or an answer, at the scrubber's moment. Sigma draws them;
// the table says the same.

import {html, useEffect, useRef, useState} from "htm/preact";
import {ofSpace, useAnswer} from "./api.js";
import {rows, useExplained} from "./decision.js";
import {AsCode, Asked, Sections, curl, py, sh} from "./parts.js";
import {go} from "./state.js";
import {line, number, plain, short} from "./text.js";

const RELATIONS = ["similar", "co_occurs", "elaborates", "supports", "contradicts", "outcome"];
const relation = (name) => (RELATIONS.includes(name) ? name : "other");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const places = new Map();

export function GraphPane({space, at, state}) {
  const {decision, block} = state;
  const [limit, setLimit] = useState(60);
  const explained = useExplained(space, block ? null : decision);
  const starts = block ? [block] : explained.answer ? rows(explained.answer).map((each) => each.block_id) : [];
  const values = {block_ids: starts, hops: 2, limit, as_of: `version:${at}`};
  const asked = useAnswer(starts.length ? ofSpace(space, "subgraph") : null, {values});
  if (!block && !decision) return html`<p class="empty">Choose a decision on the left, or open a block: its surroundings are drawn here.</p>`;
  if (!starts.length && explained.answer) return html`<p class="empty">This decision returned no block.</p>`;
  if (asked.error?.code === "block-not-found") return html`<p class="empty">Not all of these blocks were learned by version ${at}. Move the scrubber on.</p>`;
  const found = asked.answer;
  return html`
    <header class="pane-head"><p class="eyebrow">${block ? `around block ${short(block)}` : `around the answer of ${decision}`} · version ${at}</p>
      <p class="actions"><label>At most <select value=${limit} onChange=${(event) => setLimit(Number(event.target.value))}>${[30, 60, 120, 200].map((each) => html`<option value=${each}>${each} blocks</option>`)}</select></label>
      ${found && html`<span class="quiet">${found.blocks.length} blocks, ${found.edges.length} edges${found.blocks_left_out ? `; ${found.blocks_left_out} weaker ones are left out` : ""}</span>`}</p></header>
    <${Asked} asked=${asked}>${found && html`
      <${Drawing} found=${found} />
      <div class="legend">${[...new Set(found.edges.map((each) => relation(each.relation)))].map((name) => html`<span><i class=${`chip relation-${name}`}></i>${name}</span>`)}<span class="quiet">width: weight now · paler: decayed since it was last used</span></div>
      <${Sections} title="Edges">
        ${!found.edges.length && html`<p class="empty">No edges at this moment.</p>`}
        ${found.edges.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Edges"><table class="numbers wide"><thead><tr><th scope="col">from</th><th scope="col">relation</th><th scope="col">to</th><th scope="col">stored</th><th scope="col">now</th></tr></thead>
        <tbody>${found.edges.map((each) => html`<tr><td><${Name} id=${each.source_id} found=${found} /></td><td>${plain(each.relation)}</td><td><${Name} id=${each.target_id} found=${found} /></td><td>${number(each.weight, 2)}</td><td>${number(each.effective_weight, 2)}</td></tr>`)}</tbody></table></div>`}
      </${Sections}>`}</${Asked}>
    <${AsCode} python=${`memory.as_of(version=${at}).subgraph(${py(starts)}, limit=${limit})`} cli=${`mnemic --space ${sh(space)} as-of --version ${at} subgraph ${starts.map(short).join(" ")} --limit ${limit}`} http=${curl(ofSpace(space, "subgraph"), {values})} />`;
}

function Name({id, found}) {
  const block = found.blocks.find((each) => each.block_id === id);
  return html`<button class="link" onClick=${() => go({pane: "block", block: id})}><bdi>${block?.preview ? line(block.preview, 44) : short(id)}</bdi></button>`;
}

// Places that stay from step to step: new blocks begin beside a neighbour, then all are relaxed.
function arranged(found) {
  const ids = found.blocks.map((each) => each.block_id);
  const many = ids.length;
  ids.forEach((id, at) => {
    if (places.has(id)) return;
    const edge = found.edges.find((each) => (each.source_id === id && places.has(each.target_id)) || (each.target_id === id && places.has(each.source_id)));
    const near = edge ? places.get(edge.source_id === id ? edge.target_id : edge.source_id) : {x: 0, y: 0};
    const angle = at * 2.39996;
    const far = edge ? 0.3 : 0.2 + at / many;
    places.set(id, {x: near.x + far * Math.cos(angle), y: near.y + far * Math.sin(angle)});
  });
  const spring = 1.2 / Math.sqrt(many + 1);
  for (let round = 0; round < 120; round++) {
    const heat = 0.08 * (1 - round / 120);
    const force = new Map(ids.map((id) => [id, {x: 0, y: 0}]));
    for (let i = 0; i < many; i++) {
      for (let j = i + 1; j < many; j++) {
        const [a, b] = [places.get(ids[i]), places.get(ids[j])];
        const [dx, dy] = [a.x - b.x || 0.001 * (i + 1), a.y - b.y || 0.001];
        const push = (spring * spring) / (dx * dx + dy * dy);
        const [fa, fb] = [force.get(ids[i]), force.get(ids[j])];
        fa.x += dx * push; fa.y += dy * push; fb.x -= dx * push; fb.y -= dy * push;
      }
    }
    for (const each of found.edges) {
      const [a, b] = [places.get(each.source_id), places.get(each.target_id)];
      const pull = (Math.hypot(a.x - b.x, a.y - b.y) / spring) * (0.3 + each.effective_weight);
      const [fa, fb] = [force.get(each.source_id), force.get(each.target_id)];
      fa.x -= (a.x - b.x) * pull; fa.y -= (a.y - b.y) * pull; fb.x += (a.x - b.x) * pull; fb.y += (a.y - b.y) * pull;
    }
    for (const id of ids) {
      const [at, to] = [places.get(id), force.get(id)];
      const length = Math.hypot(to.x, to.y) || 1;
      const move = Math.min(heat, length) / length;
      at.x += to.x * move - at.x * 0.01; at.y += to.y * move - at.y * 0.01;
    }
  }
}

function faded(color, share) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${Math.max(0.15, Math.min(1, share))})`;
}

function Drawing({found}) {
  const place = useRef(null);
  const [failed, fail] = useState("");
  useEffect(() => {
    let drawing;
    let stopped = false;
    Promise.all([import("graphology"), import("sigma")]).then(() => {
      if (stopped || !place.current) return;
      arranged(found);
      const Graph = globalThis.graphology.Graph || globalThis.graphology;
      const graph = new Graph({multi: true});
      for (const each of found.blocks) {
        graph.addNode(each.block_id, {
          ...places.get(each.block_id),
          label: each.preview ? line(each.preview, 36) : "[erased]",
          size: each.hops === 0 ? 11 : 4 + 5 * each.usefulness,
          color: css(each.hops === 0 ? "--accent" : each.status === "active" ? "--node" : "--line-strong"),
        });
      }
      for (const each of found.edges) {
        graph.addEdge(each.source_id, each.target_id, {
          size: 0.6 + 4 * each.effective_weight,
          color: faded(css(`--relation-${relation(each.relation)}`), each.weight ? each.effective_weight / each.weight : 1),
        });
      }
      drawing = new globalThis.Sigma(graph, place.current, {labelColor: {color: css("--text")}, labelSize: 12, labelFont: "system-ui, sans-serif", labelDensity: 0.6, labelRenderedSizeThreshold: 6, zIndex: true, allowInvalidContainer: true});
      drawing.on("clickNode", ({node}) => go({pane: "block", block: node}));
      place.current.dataset.drawn = String(graph.order);
    }).catch((error) => fail(error.message));
    return () => {
      stopped = true;
      drawing?.kill();
    };
  }, [found, document.documentElement.dataset.theme]);
  if (failed) return html`<p class="note">This browser cannot draw the graph (${plain(failed)}): it needs WebGL. The table below has all of it.</p>`;
  return html`<div class="graph" ref=${place} role="img" aria-label=${`Graph of ${found.blocks.length} blocks and ${found.edges.length} edges; the table below lists them`}></div>`;
}
