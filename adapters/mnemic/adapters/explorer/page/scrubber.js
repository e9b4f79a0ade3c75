// The scrubber: versions of the log, drawn over active hours. Bars are bursts of events, bands are
// sessions, marks are sweeps, erasures, reverts and policies. It is one slider to a screen reader.

import {html, useEffect, useMemo, useRef, useState} from "htm/preact";
import {ask, ofSpace} from "./api.js";
import {hours, line, plain, wall} from "./text.js";

const WIDTH = 1200;
const HEIGHT = 58;
const BASE = 46;
const PAGE = 500;
const BANDS_MAX = 400;
const MARKS = [
  ["block-erased", "erasure", "✕"],
  ["blocks-erased", "erasure", "✕"],
  ["space-erased", "erasure", "✕"],
  ["reverted", "revert", "↺"],
  ["policy-adopted", "policy", "◆"],
  ["curated", "sweep", "▾"],
];

// All sessions, page by page, so that a long log draws before the last page is there.
export function useSessions(space, head) {
  const [spans, set] = useState([]);
  useEffect(() => {
    if (!space) return undefined;
    const stop = new AbortController();
    (async () => {
      const found = [];
      for (let after = null, more = true; more; ) {
        const page = await ask(ofSpace(space, "timeline"), {
          values: {bins: 1, limit: PAGE, after, as_of: `version:${head}`},
          signal: stop.signal,
        });
        found.push(...page.sessions.map(({start_version, end_version, from_hour, to_hour}) => ({start_version, end_version, from_hour, to_hour})));
        set([...found]);
        after = page.next_after;
        more = after !== null;
      }
    })().catch(() => {});
    return () => stop.abort();
  }, [space, head]);
  return useMemo(() => {
    const starts = spans.map((each) => each.start_version);
    return {
      spans,
      of: (version) => spans.findLast?.((each) => each.start_version <= version && version <= each.end_version),
      before: (version) => starts.findLast((each) => each < version) ?? 0,
      after: (version, last) => starts.find((each) => each > version) ?? last,
    };
  }, [spans]);
}

// Places on the axis for versions, and versions for places. A bin is filled evenly.
function axis(timeline) {
  const last = Math.max(1, timeline.version);
  const total = timeline.hour;
  if (!total) {
    return {
      x: (version) => (version / last) * WIDTH,
      version: (x) => Math.round((x / WIDTH) * last),
      bin: () => timeline.bins[0],
      hour: () => 0,
    };
  }
  const full = timeline.bins.filter((each) => each.from_version !== null);
  const place = (hour) => (hour / total) * WIDTH;
  const holding = (version) => {
    let [low, high] = [0, full.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (full[middle].from_version <= version) low = middle;
      else high = middle - 1;
    }
    return full[low];
  };
  const bin = (x) => {
    const hour = (x / WIDTH) * total;
    return timeline.bins.find((each) => hour < each.to_hour) || timeline.bins[timeline.bins.length - 1];
  };
  return {
    bin,
    hour: place,
    x: (version) => {
      const found = holding(version);
      const many = Math.max(1, found.to_version - found.from_version);
      const share = Math.min(1, (version - found.from_version) / many);
      return place(found.from_hour + share * (found.to_hour - found.from_hour));
    },
    version: (x) => {
      const hour = (x / WIDTH) * total;
      const found = full.findLast((each) => each.from_hour <= hour) || full[0];
      const share = Math.min(1, (hour - found.from_hour) / (found.to_hour - found.from_hour || 1));
      return Math.round(found.from_version + share * (found.to_version - found.from_version));
    },
  };
}

export function Scrubber({timeline, sessions, at, head, moment, step}) {
  const [hover, setHover] = useState(null);
  const drawing = useRef(null);
  const found = timeline.answer;
  const scale = useMemo(() => found && axis(found), [found]);
  const still = useMemo(() => found && html`<${Picture} timeline=${found} scale=${scale} spans=${sessions.spans} />`, [found, sessions.spans]);
  const placeOf = (event) => {
    const box = drawing.current.getBoundingClientRect();
    return Math.min(WIDTH, Math.max(0, ((event.clientX - box.left) / box.width) * WIDTH));
  };
  const drag = (event) => {
    const x = placeOf(event);
    setHover(x);
    if (event.buttons === 1) step(scale.version(x));
  };
  if (timeline.error) return html`<div class="problem" role="alert">${plain(timeline.error.message)}</div>`;
  const said = moment
    ? `event ${at} of ${head}, ${hours(moment.hour)}, ${moment.kind}, ${wall(moment.recorded_at)}`
    : `event ${at} of ${head}`;
  return html`<section class="scrubber" aria-label="Moment">
    <div class="moment">
      <button onClick=${() => step(at - 1)} disabled=${at === null || at <= 0} aria-label="One event back">‹</button>
      <button onClick=${() => step(at + 1)} disabled=${at === null || at >= head} aria-label="One event on">›</button>
      <output aria-live="off"><b>v${at ?? "–"}</b> <span class="of">of ${head ?? "–"}</span></output>
      ${moment && html`<span class="event"><b class="kind">${moment.kind}</b> ${hours(moment.hour)} · ${wall(moment.recorded_at)} · <bdi>${plain(moment.actor)}</bdi>
        <span class="detail" title=${plain(moment.detail)}>${line(moment.detail, 90)}</span></span>`}
      <span class="space"></span>
      <button class=${at === head ? "now" : ""} onClick=${() => step(head)} disabled=${at === head}>${at === head ? "now" : "back to now"}</button>
    </div>
    <div class="track" role="slider" tabindex="0" aria-label="Version of the log" aria-valuemin="0" aria-valuemax=${head ?? 0} aria-valuenow=${at ?? 0} aria-valuetext=${said}>
      ${found ? html`<svg ref=${drawing} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true"
          onPointerMove=${drag} onPointerLeave=${() => setHover(null)}
          onPointerDown=${(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            step(scale.version(placeOf(event)));
          }}>
        ${still}
        ${hover !== null && html`<line class="hover" x1=${hover} x2=${hover} y1="0" y2=${HEIGHT} />`}
        ${at !== null && html`<rect class="later" x=${scale.x(at)} y="0" width=${Math.max(0, WIDTH - scale.x(at))} height=${HEIGHT} />
          <line class="cursor" x1=${scale.x(at)} x2=${scale.x(at)} y1="0" y2=${HEIGHT} />`}
      </svg>
      ${hover !== null && html`<${Tip} x=${hover} bin=${scale.bin(hover)} version=${scale.version(hover)} />`}` : html`<div class="waiting" role="status">Reading the timeline…</div>`}
    </div>
  </section>`;
}

function Tip({x, bin, version}) {
  const kinds = Object.entries(bin.kinds).sort((a, b) => b[1] - a[1]).slice(0, 4);
  return html`<div class=${`tip ${x > WIDTH / 2 ? "left" : ""}`} ref=${(node) => node && node.style.setProperty("--x", `${(x / WIDTH) * 100}%`)}>
    <b>v${version}</b> · ${hours(bin.from_hour)} to ${hours(bin.to_hour)}
    <div>${bin.from_at ? `${wall(bin.from_at)} to ${wall(bin.to_at)}` : "no event"}</div>
    ${kinds.map(([kind, count]) => html`<div>${count} ${kind}</div>`)}
  </div>`;
}

function Picture({timeline, scale, spans}) {
  const most = Math.max(1, ...timeline.bins.map((each) => each.events));
  const width = WIDTH / timeline.bins.length;
  // Of very many sessions, bands would be a grey bar.
  const bands = spans.length <= BANDS_MAX ? spans : [];
  return html`<g>
    ${bands.map((each, place) => html`<rect class=${`session ${place % 2 ? "odd" : ""}`} x=${scale.hour(each.from_hour)} y="0"
      width=${Math.max(0.5, scale.hour(each.to_hour) - scale.hour(each.from_hour))} height=${BASE} />`)}
    <line class="base" x1="0" x2=${WIDTH} y1=${BASE} y2=${BASE} />
    ${timeline.bins.map((each, place) => {
      const height = Math.sqrt(each.events / most) * (BASE - 8);
      const recalls = (each.kinds["recall-recorded"] || 0) > 0;
      return each.events > 0 && html`<rect class=${`burst ${recalls ? "asked" : ""}`} x=${place * width + 0.5} width=${Math.max(1, width - 1)} y=${BASE - height} height=${height} />`;
    })}
    ${timeline.bins.flatMap((each, place) => {
      const mark = MARKS.find(([kind]) => each.kinds[kind]);
      return mark && timeline.hour ? [html`<path class=${`mark ${mark[1]}`} d=${`M${place * width} ${BASE + 2} h6 l-3 7 z`}><title>${mark[1]}</title></path>`] : [];
    })}
  </g>`;
}

