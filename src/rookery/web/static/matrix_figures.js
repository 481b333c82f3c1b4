// What a cell of the matrix says: a step of its scale, how faded it is, and its texts.

import { age, milliseconds, share } from "/static/map_figures.js";

const FADES_S = [60, 300, 900]; // from when on a figure is paler, and paler still

export const MEASURES = {
  latency: {
    read: (cell) => cell.latency_ms,
    text: milliseconds,
    short: (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toString()),
    bounds: [5, 15, 40, 100],
    labels: ["< 5 ms", "5–15 ms", "15–40 ms", "40–100 ms", "≥ 100 ms"],
  },
  loss: {
    read: (cell) => cell.loss,
    text: share,
    short: (value) => {
      const percent = value * 100;
      return percent === 0 || percent >= 10 ? Math.round(percent).toString() : percent.toFixed(1);
    },
    bounds: [0.001, 0.01, 0.03, 0.1],
    labels: ["< 0.1 %", "0.1–1 %", "1–3 %", "3–10 %", "≥ 10 %"],
  },
};

/** 0, the best, to 4. */
export function stepOf(measure, value) {
  return measure.bounds.findLastIndex((bound) => value >= bound) + 1;
}

/** 0, fresh, to 3. */
export function fadeOf(seconds) {
  return FADES_S.findLastIndex((bound) => seconds >= bound) + 1;
}

/** Text of the route from one member to another. */
export function routeText(cell, name, say, seconds) {
  const ends = `${name(cell.from)} → ${name(cell.to)}`;
  if (cell.latency_ms === null) return `${ends}: ${say.noRoute}`;
  const route = cell.is_direct ? say.direct : `${say.via} ${cell.via.map(name).join(" → ")}`;
  const figures = [
    milliseconds(cell.latency_ms),
    `${say.loss.toLowerCase()} ${share(cell.loss)}`,
    `${say.age.toLowerCase()} ${age(seconds)}`,
  ];
  return `${ends}: ${route} · ${figures.join(" · ")}`;
}
