// Latency and loss between every two members; fetched again when the live mesh has changed.

import { follow } from "/static/live.js";
import { element } from "/static/map_element.js";
import { age } from "/static/map_figures.js";
import { bySiteAndName, Graph, nameOf } from "/static/map_graph.js";
import { problemOf } from "/static/map_time.js";
import { fadeOf, MEASURES, stepOf } from "/static/matrix_figures.js";
import { MatrixTable } from "/static/matrix_table.js";

const SHOWN_MAX = 100; // members in a table; of more, the hub picks those that tell most
const WORST_FROM = 8; // members; with fewer everybody sees them
const WORST = 12;
const AGES_MS = 2000; // how often ages are written anew
const AGES_LARGE_MS = 15000; // in a large matrix, where that is work
const LARGE_FROM = 30;
const PREFIX = 16; // characters of a hashname that no two members share

const root = document.getElementById("matrix");
const say = root.dataset;
const find = (name) => root.querySelector(`[data-matrix="${name}"]`);
const query = new URLSearchParams(location.search);

const mesh = new Graph();
const chosen = {
  by: query.get("by") in MEASURES ? query.get("by") : "latency",
  site: query.get("site") ?? "",
  filter: query.get("filter") ?? "",
};
let matrix = null;
let receivedAt = 0;
let requests = 0;
let timer = null;

const table = new MatrixTable(find("table"), { say, tell: (text) => (find("route").textContent = text) });

function wanted() {
  const text = chosen.filter.trim().toLowerCase();
  return mesh.sorted.filter(
    (member) =>
      (!chosen.site || member.site === chosen.site) &&
      (!text || `${nameOf(member)} ${member.hashname}`.toLowerCase().includes(text)),
  );
}

async function load() {
  clearTimeout(timer);
  timer = null;
  const members = wanted();
  find("empty").hidden = mesh.members.size > 0;
  if (!members.length) return show({ members: [], cells: [] });
  const mine = ++requests;
  const names = members.map((member) => member.hashname.slice(0, PREFIX)).join();
  const address = members.length > SHOWN_MAX ? "/api/v1/mesh/matrix" : `/api/v1/mesh/matrix?members=${names}`;
  const answer = await fetch(address);
  if (mine !== requests) return;
  if (!answer.ok) return note(await problemOf(answer));
  const found = await answer.json();
  found.members.sort(bySiteAndName);
  const missing = members.length - found.members.length;
  note(missing > 0 ? `${missing} ${say.leftOut}` : "");
  show(found);
}

function show(found) {
  matrix = found;
  receivedAt = Date.now();
  draw();
}

function draw() {
  table.show(matrix, chosen.by, receivedAt);
  find("scroll").hidden = matrix.members.length === 0;
  showWorst();
}

function note(text) {
  find("note").textContent = text;
  find("note").hidden = !text;
}

// A mesh changes all the time; a large matrix costs more to ask for and to look at.
function loadSoon() {
  if (timer === null) timer = setTimeout(load, matrix ? 2000 + 80 * matrix.members.length : 0);
}

function showWorst() {
  const measure = MEASURES[chosen.by];
  const names = new Map(matrix.members.map((member) => [member.hashname, nameOf(member)]));
  const worst = matrix.cells
    .filter((cell) => measure.read(cell) !== null && stepOf(measure, measure.read(cell)) >= 2)
    .sort((one, other) => measure.read(other) - measure.read(one))
    .slice(0, WORST);
  find("worst").hidden = matrix.members.length < WORST_FROM || !worst.length;
  find("worst-list").replaceChildren(...worst.map((cell) => worstItem(cell, measure, names)));
}

function worstItem(cell, measure, names) {
  const value = measure.read(cell);
  const address = `/fleet/map?${new URLSearchParams({ from: cell.from, to: cell.to })}`;
  return element(
    "li",
    {},
    element("a", { href: address }, `${names.get(cell.from)} → ${names.get(cell.to)}`),
    element("span", { className: `matrix-figure step-${stepOf(measure, value)}` }, measure.text(value)),
    element("small", {}, age(cell.age_s)),
  );
}

function showLegend() {
  const steps = MEASURES[chosen.by].labels.map((label, step) =>
    element("li", {}, element("span", { className: `matrix-swatch step-${step}` }), label),
  );
  const fades = [0, 300, 900].map((seconds) => element("span", { className: `matrix-swatch step-0 fade-${fadeOf(seconds)}` }));
  find("legend").replaceChildren(
    ...steps,
    element("li", {}, element("span", { className: "matrix-swatch is-relayed step-0" }), `${say.via} …`),
    element("li", {}, ...fades, say.old),
    element("li", {}, element("span", { className: "matrix-cross" }, "✕"), say.none),
  );
}

function offerSites() {
  const sites = [...new Set(mesh.sorted.map((member) => member.site).filter(Boolean))];
  const text = JSON.stringify(sites);
  if (text === offerSites.last) return;
  offerSites.last = text;
  find("site").replaceChildren(new Option(say.all, ""), ...sites.map((site) => new Option(site, site)));
  find("site").value = sites.includes(chosen.site) ? chosen.site : "";
}

function remember() {
  const now = new URLSearchParams();
  if (chosen.by !== "latency") now.set("by", chosen.by);
  for (const name of ["site", "filter"]) if (chosen[name]) now.set(name, chosen[name]);
  const text = now.toString();
  history.replaceState(null, "", text ? `?${text}` : location.pathname);
}

function listen() {
  for (const radio of root.querySelectorAll("input[name=by]")) {
    radio.checked = radio.value === chosen.by;
    radio.addEventListener("change", () => {
      chosen.by = radio.value;
      showLegend();
      if (matrix) draw();
      remember();
    });
  }
  find("filter").value = chosen.filter;
  find("site").addEventListener("change", (event) => narrow("site", event.target.value, 0));
  find("filter").addEventListener("input", (event) => narrow("filter", event.target.value, 200));
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
}

function narrow(name, value, wait) {
  chosen[name] = value;
  remember();
  clearTimeout(timer);
  timer = setTimeout(load, wait);
}

listen();
showLegend();
follow({
  mesh: (change) => {
    mesh.apply(change);
    offerSites();
    loadSoon();
  },
});
let refreshedAt = 0;
setInterval(() => {
  const wait = matrix?.members.length >= LARGE_FROM ? AGES_LARGE_MS : AGES_MS;
  if (!matrix || document.hidden || Date.now() - Math.max(refreshedAt, receivedAt) < wait) return;
  refreshedAt = Date.now();
  table.refresh();
}, AGES_MS);
