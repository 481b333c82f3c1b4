// Servers: the table anew when one of them reports something else, and charts of past and forecast.

import { lines } from "/static/chart.js";
import { fragment } from "/static/fragment.js";
import { follow } from "/static/live.js";

const table = document.getElementById("servers-now");
if (table) {
  const refresh = fragment(table, "/fleet/servers/now");
  follow({ servers: refresh }); // the first reading too: it may be newer than the page
}

const root = document.getElementById("outlooks");
if (root) draw(root);

async function draw(root) {
  const answer = await fetch("/api/v1/servers/outlook");
  if (!answer.ok) return;
  for (const each of (await answer.json()).slice(0, 12)) root.append(panel(root.dataset, each));
}

function panel(say, { hashname, source, confidence, times, was, expected, high }) {
  const article = document.createElement("section");
  article.className = "panel";
  article.setAttribute("aria-label", hashname.slice(0, 8));
  const head = document.createElement("header");
  const name = document.createElement("h3");
  name.textContent = hashname.slice(0, 8);
  name.title = hashname;
  const note = document.createElement("small");
  note.className = "muted";
  if (source === "forecast") note.textContent = say.ofHub;
  else if (confidence !== null) note.textContent = `${say.confidence} ${Math.round(confidence * 100)} %`;
  head.append(name, note);
  const chart = document.createElement("div");
  article.append(head, chart);
  if (!times.length) {
    chart.textContent = say.none;
    chart.className = "muted";
    return article;
  }
  const series = [
    { label: say.was, values: was, token: "--accent", fill: true },
    { label: say.expected, values: expected, token: "--series-4", dash: [6, 4] },
  ];
  if (high.some((value) => value !== null)) series.push({ label: say.high, values: high, token: "--muted", dash: [2, 4] });
  requestAnimationFrame(() => lines(chart, { times, series, unit: "ratio", height: 180 }));
  return article;
}
