// The hub's own figures, live.

import { shown, sparkline } from "/static/chart.js";
import { follow } from "/static/live.js";

const words = document.getElementById("system").dataset;
const rates = document.getElementById("rates");
const lakeRun = document.getElementById("lake-run");

function at(value, path) {
  return path.split(".").reduce((inner, name) => (inner === null || inner === undefined ? inner : inner[name]), value);
}

function show(place, value) {
  if (place.tagName === "PROGRESS") place.value = value;
  else place.textContent = shown(value, place.dataset.unit);
}

function draw(values) {
  if (values.length > 1) sparkline(rates, values, { label: rates.dataset.label, width: 240, height: 28 });
}

for (const place of document.querySelectorAll("[data-figure]")) {
  const text = place.tagName === "PROGRESS" ? "" : place.textContent.trim();
  if (text && text !== "–") show(place, Number(text));
}
draw(rates.dataset.values ? rates.dataset.values.split(",").map(Number) : []);

follow({
  system({ changed }) {
    const now = changed.now;
    if (!now) return;
    for (const place of document.querySelectorAll("[data-figure]")) show(place, at(now, place.dataset.figure));
    for (const place of document.querySelectorAll("[data-state-of]")) {
      const found = at(now, place.dataset.stateOf);
      const state = found === true ? "ok" : found === false ? "away" : found;
      place.className = `badge ${state === "ok" ? "ok" : state === "away" ? "bad" : ""}`;
      place.textContent = words[state] ?? state;
    }
    for (const place of document.querySelectorAll("[data-text]")) place.textContent = at(now, place.dataset.text) ?? "";
    if (lakeRun) lakeRun.hidden = !now.lake_run || now.lake_run.ok;
    draw(now.reports.rates);
  },
});
