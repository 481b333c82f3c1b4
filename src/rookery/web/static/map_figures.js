// Figures as people read them, and the scales by which links are drawn and cells are coloured.

import { duration } from "/static/shell.js";

export const UNKNOWN = "–";

export function milliseconds(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value < 1) return `${value.toFixed(2)} ms`;
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

export function share(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const percent = value * 100;
  if (percent === 0 || percent >= 10) return `${Math.round(percent)} %`;
  return percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

export function rate(bytes_s) {
  if (bytes_s === null || bytes_s === undefined) return UNKNOWN;
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  let value = bytes_s * 8;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function age(seconds) {
  return seconds === null || seconds === undefined ? UNKNOWN : duration(seconds);
}

/** A moment to the second, in UTC. */
export function utc(seconds) {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The same moment where the reader is. */
export function local(seconds) {
  const language = document.documentElement.lang || "en";
  return new Date(seconds * 1000).toLocaleString(language, {
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
}

/** What is worse of two that may be unknown. */
export function worse(one, other) {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

/** The round trip, or the most that it can be by what both ends claim: a cost is never less. */
export function roundTrip(link) {
  if (link.rtt_ms !== null) return link.rtt_ms;
  const costs = [link.cost_ab_us, link.cost_ba_us].filter((us) => us !== null);
  return costs.length ? (2 * Math.min(...costs)) / 1000 : null;
}

/** The same as a text, which says whether it was measured. */
export function roundTripText(link) {
  const text = milliseconds(roundTrip(link));
  return link.rtt_ms === null && text !== UNKNOWN ? `≤ ${text}` : text;
}

// Five steps each, from the best to the worst. Width and dash repeat what the colour says, so that
// nothing depends on telling colours apart.
const BROKEN = [
  { width: 1.5, dash: [] },
  { width: 2, dash: [] },
  { width: 2.5, dash: [] },
  { width: 3, dash: [9, 4] },
  { width: 4, dash: [4, 4] },
];
const NARROW = [
  { width: 5, dash: [] },
  { width: 3.5, dash: [] },
  { width: 2.5, dash: [] },
  { width: 2, dash: [9, 4] },
  { width: 1.5, dash: [4, 4] },
];

class Scale {
  /** `bounds`: where the second to the fifth step begin. */
  constructor({ read, tell, bounds, labels, looks }) {
    Object.assign(this, { read, tell, bounds, labels, looks });
  }

  /** 0, the best, to 4, or null for what is not known. */
  step(value) {
    if (value === null || value === undefined) return null;
    const worst = this.bounds.findLastIndex((bound) => (this.isRising ? value >= bound : value < bound));
    return worst + 1;
  }

  get isRising() {
    return this.bounds[0] < this.bounds[1];
  }
}

export const SCALES = {
  rtt: new Scale({
    read: roundTrip,
    tell: roundTripText,
    bounds: [10, 30, 80, 200],
    labels: ["< 10 ms", "10–30 ms", "30–80 ms", "80–200 ms", "≥ 200 ms"],
    looks: BROKEN,
  }),
  loss: new Scale({
    read: (link) => worse(link.loss_ab, link.loss_ba),
    tell: (link) => share(worse(link.loss_ab, link.loss_ba)),
    bounds: [0.001, 0.01, 0.03, 0.1],
    labels: ["< 0.1 %", "0.1–1 %", "1–3 %", "3–10 %", "≥ 10 %"],
    looks: BROKEN,
  }),
  rate: new Scale({
    read: (link) => link.rate_bytes_s,
    tell: (link) => rate(link.rate_bytes_s),
    bounds: [12.5e6, 1.25e6, 125e3, 12.5e3],
    labels: ["≥ 100 Mbit/s", "10–100 Mbit/s", "1–10 Mbit/s", "0.1–1 Mbit/s", "< 0.1 Mbit/s"],
    looks: NARROW,
  }),
};
export const UNKNOWN_LOOK = { width: 1.5, dash: [1.5, 4] };
export const DOWN_LOOK = { width: 1.5, dash: [2, 6] };
