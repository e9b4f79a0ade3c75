// A decision as one HTML file for a bug report: no script, no link, nothing loaded; every text of
// the memory is escaped, and a policy in the file forbids what escaping may have missed.

import {hours, number, plain, wall} from "./text.js";

const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
export const escaped = (value) => plain(value).replace(/[&<>"']/g, (mark) => ESCAPES[mark]);

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a2233;background:#fff}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #d5dae5}
.text{overflow-wrap:anywhere;white-space:pre-wrap;unicode-bidi:isolate}small{color:#566}h1{font-size:1.4rem;overflow-wrap:anywhere}`;

function row(block) {
  const parts = (block.contributions || [])
    .map((each) => `${escaped(each.signal)} ${number(each.value)} × ${number(each.weight, 2)} = ${number(each.contribution)}`)
    .join("<br>");
  const margin = block.margin === undefined || block.margin === null ? "" : `<br><small>${number(block.margin)} short, ${escaped(block.reason)}</small>`;
  return `<tr><td>#${Number(block.rank) || ""}</td><td class="text" dir="auto">${escaped(block.content)}<br><small>${escaped(block.block_id)} · author ${escaped(block.author ?? "unknown")} · written by ${escaped(block.actor)} · zone ${escaped(block.zone)}</small></td><td>${number(block.score)}${margin}</td><td><small>${parts}</small></td></tr>`;
}

export function documentOf(space, explained, summary) {
  const table = (blocks) => `<table><thead><tr><th>rank<th>block<th>score<th>contributions</thead><tbody>${blocks.map(row).join("")}</tbody></table>`;
  const facts = [
    ["decision", explained.decision_id], ["space", space], ["frame", explained.frame],
    ["read version", explained.version], ["active hours", hours(explained.hour)],
    ["asked", summary ? wall(summary.recorded_at) : ""], ["actor", summary?.actor ?? ""],
    ["outcome", summary?.outcome ?? "not scored"], ["verdict", explained.verdict],
    ["policy", explained.policy_id], ["recipe", explained.recipe],
  ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"><meta name="referrer" content="no-referrer"><title>${escaped(explained.decision_id)} of ${escaped(space)}</title><style>${STYLE}</style></head><body>
<h1><bdi>${escaped(explained.query ?? (explained.sealed ? "[question erased]" : "[no question]"))}</bdi></h1>
<table>${facts.map(([name, value]) => `<tr><th>${name}</th><td>${escaped(value)}</td></tr>`).join("")}</table>
<h2>Returned</h2>${table(explained.blocks)}<h2>Just missed</h2>${table(explained.missed)}
<p><small>Saved by the mnemic explorer. Compute it again: mnemic replay ${escaped(explained.decision_id)}</small></p></body></html>`;
}

export function saveDecision(space, explained, summary) {
  const url = URL.createObjectURL(new Blob([documentOf(space, explained, summary)], {type: "text/html"}));
  const link = document.createElement("a");
  link.href = url;
  link.download = `mnemic-${explained.decision_id}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
