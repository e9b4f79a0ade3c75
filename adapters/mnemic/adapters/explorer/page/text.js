// Texts of a memory are data: they are shown as text nodes only, with everything that could make
// them look like something else made visible.

import {html, useState} from "htm/preact";

const FOLD = 600;
// Marks that reorder a line, characters without width, and control characters but line breaks.
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export const plain = (text) =>
  String(text ?? "").replace(
    INVISIBLE,
    (mark) => `⟨U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );

export const short = (id) => String(id ?? "").slice(0, 8);

// One text, in an isolated direction of its own; a long one is folded.
export function Quote({text, lost, fold = FOLD}) {
  const [open, set] = useState(false);
  if (text === null || text === undefined || text === "[erased]" || text === "[lost]") {
    const gone = lost || text === "[lost]" ? "lost" : "erased";
    return html`<span class="gone">Text ${gone}${gone === "erased"
      ? ": it was destroyed for good, in the past too. Only that it existed is known."
      : ": it is missing although nobody erased it."}</span>`;
  }
  const whole = plain(text);
  const folded = !open && whole.length > fold;
  return html`<bdi class="quote" dir="auto">${folded ? `${whole.slice(0, fold)}…` : whole}</bdi>
    ${whole.length > fold &&
    html` <button class="link" onClick=${(event) => {
      event.stopPropagation();
      set(!open);
    }} aria-expanded=${open}>
      ${open ? "show less" : `show all ${whole.length.toLocaleString("en")} characters`}
    </button>`}`;
}

export const line = (text, length = 120) => {
  const whole = plain(text).replace(/\s+/g, " ");
  return whole.length > length ? `${whole.slice(0, length)}…` : whole;
};

export const number = (value, digits = 3) =>
  value === null || value === undefined ? "–" : Number(value).toFixed(digits);
export const signed = (value, digits = 3) =>
  `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`;
export const hours = (value) => `${Number(value).toFixed(2)} h`;
export const wall = (iso) =>
  iso ? new Date(iso).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "–";

export function age(created, now) {
  if (!created || !now) return "age unknown";
  const days = (new Date(now) - new Date(created)) / 86_400_000;
  if (days < 0) return "dated later";
  if (days < 1 / 24) return "less than an hour old";
  if (days < 2) return `${Math.round(days * 24)} hours old`;
  return `${Math.round(days)} days old`;
}

// Words of two texts, with what was taken out and what was put in.
export function difference(before, after) {
  const cut = (text) => plain(text).slice(0, 6000).match(/\s+|[^\s]+/g) || [];
  const [a, b] = [cut(before), cut(after)];
  if (a.length * b.length > 1_500_000) return [["del", a.join("")], ["ins", b.join("")]];
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const found = [];
  const add = (kind, text) => {
    const last = found[found.length - 1];
    if (last && last[0] === kind) last[1] += text;
    else found.push([kind, text]);
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", a[i++]);
      j++;
    } else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      add("del", a[i++]);
    } else add("ins", b[j++]);
  }
  return joined(found);
}

// A space between two changed words belongs to the change: phrases, not words, were replaced.
function joined(parts) {
  const found = [];
  let [out, put] = ["", ""];
  const end = () => {
    if (out) found.push(["del", out]);
    if (put) found.push(["ins", put]);
    [out, put] = ["", ""];
  };
  parts.forEach(([kind, text], at) => {
    if (kind === "del") out += text;
    else if (kind === "ins") put += text;
    else if (/^\s+$/.test(text) && (out || put) && at < parts.length - 1) {
      out += text;
      put += text;
    } else {
      end();
      found.push([kind, text]);
    }
  });
  end();
  return found;
}

export function Difference({before, after}) {
  return html`<p class="diff quote" dir="auto">${difference(before, after).map(
    ([kind, text]) =>
      kind === "same" ? text : kind === "del" ? html`<del>${text}</del>` : html`<ins>${text}</ins>`,
  )}</p>`;
}
