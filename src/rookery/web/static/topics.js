// Topics: sparklines of each, and amounts in short units.

import { shown, sparkline } from "/static/chart.js";

for (const place of document.querySelectorAll(".spark")) {
  const values = place.dataset.values.split(",").map(Number);
  sparkline(place, values, { label: `${place.dataset.label}: ${values.join(", ")}`, width: 120 });
}
for (const place of document.querySelectorAll("[data-amount]")) {
  place.title = place.dataset.amount;
  place.textContent = shown(Number(place.dataset.amount), place.dataset.unit);
}
