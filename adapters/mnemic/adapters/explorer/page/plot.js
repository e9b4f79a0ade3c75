// Plots by uPlot, loaded when the first one is drawn; the table beside each says the same.

import {html, useEffect, useRef} from "htm/preact";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// series: [{label, color, points, bars}], where x and each y are arrays of equal length.
export function Plot({x, series, title, height = 200, xLabel, low, high, names}) {
  const place = useRef(null);
  useEffect(() => {
    let plot;
    let stopped = false;
    const sheet = document.getElementById("uplot-style");
    if (!sheet) {
      document.head.append(Object.assign(document.createElement("link"), {id: "uplot-style", rel: "stylesheet", href: "uplot.css"}));
    }
    import("uplot").then(({default: UPlot}) => {
      if (stopped || !place.current) return;
      const axis = {stroke: color("--quiet"), grid: {stroke: color("--line"), width: 1}, ticks: {stroke: color("--line"), width: 1}, font: "12px system-ui"};
      plot = new UPlot(
        {
          width: place.current.clientWidth || 600,
          height,
          scales: {x: {time: false, ...(names ? {range: [-0.6, names.length - 0.4]} : {})}, y: {range: [low ?? 0, high ?? 1]}},
          axes: [
            {...axis, label: xLabel, ...(names ? {splits: () => names.map((_, at) => at), values: () => names} : {})},
            {...axis, size: 46},
          ],
          legend: {live: false},
          series: [{label: xLabel || ""}, ...series.map((each) => ({
            label: each.label, stroke: color(each.color), width: each.dots ? 0 : 2, spanGaps: true,
            points: {show: Boolean(each.dots), size: 8, fill: color(each.color)},
            ...(each.dots ? {paths: () => null} : each.stepped ? {paths: UPlot.paths.stepped({align: 1})} : {}),
          }))],
          hooks: {
            draw: [(self) => {
              for (const each of series) {
                if (!each.intervals) continue;
                const context = self.ctx;
                context.save();
                context.strokeStyle = color(each.color);
                context.lineWidth = 2 * devicePixelRatio;
                each.intervals.forEach(([from, to], at) => {
                  if (from === null || to === null) return;
                  const at_x = self.valToPos(x[at], "x", true);
                  context.beginPath();
                  context.moveTo(at_x, self.valToPos(from, "y", true));
                  context.lineTo(at_x, self.valToPos(to, "y", true));
                  context.stroke();
                });
                context.restore();
              }
            }],
          },
        },
        [x, ...series.map((each) => each.y)],
        place.current,
      );
    });
    return () => {
      stopped = true;
      plot?.destroy();
    };
  }, [JSON.stringify([x, series.map((each) => each.y)]), document.documentElement.dataset.theme]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${title}></div>`;
}
