// The map of the mesh: what is chosen stands in the address bar, so that a view can be passed on.

import { follow } from "/static/live.js";
import { SCALES, utc } from "/static/map_figures.js";
import { Graph, nameOf } from "/static/map_graph.js";
import { showLegend } from "/static/map_legend.js";
import { Panel } from "/static/map_panel.js";
import { LinkTable } from "/static/map_table.js";
import { problemOf, Timeline } from "/static/map_time.js";
import { MapView } from "/static/map_view.js";
import { onTheme } from "/static/theme.js";

const AGES_MS = 5000; // how often ages are written anew while nothing else changes
const EXPLAINED_MS = 5000; // how often the route between two members is fetched while the mesh changes

const root = document.getElementById("map");
const say = root.dataset;
const find = (name) => root.querySelector(`[data-map="${name}"]`);
const query = new URLSearchParams(location.search);

const live = new Graph();
let shown = live;
let overlay = null;
let explained = 0;
const chosen = {
  by: query.get("by") in SCALES ? query.get("by") : "rtt",
  from: query.get("from") ?? "",
  to: query.get("to") ?? "",
  item: null,
};

const view = new MapView(find("canvas"), { select });
const panel = new Panel({ path: find("path"), item: find("item"), say, choose });
const table = new LinkTable(find("table"), { say, select });
const timeline = new Timeline(find("time"), { say, show: showPast, showLive });

function draw() {
  view.show(shown, chosen.by);
  table.show(shown);
  panel.showItem(shown, chosen.item);
  offerMembers();
  find("empty").hidden = shown.members.size > 0;
  find("canvas").setAttribute("aria-label", summary());
  find("figures").textContent = summary();
}

function summary() {
  const members = [...shown.members.values()];
  const away = members.filter((member) => !member.is_up).length;
  const text = [`${say.members}: ${members.length}`, `${say.links}: ${shown.drawn.length}`];
  if (away) text.push(`${say.away}: ${away}`);
  if (timeline.at !== null) text.push(utc(timeline.at));
  return text.join(" · ");
}

function offerMembers() {
  const options = shown.sorted.map((member) => [member.hashname, nameOf(member), member.site]);
  const text = JSON.stringify(options);
  if (text === offerMembers.last) return;
  offerMembers.last = text;
  for (const end of ["from", "to"]) {
    const select = find(end);
    const groups = new Map();
    for (const [hashname, name, site] of options) {
      if (!groups.has(site)) groups.set(site, []);
      groups.get(site).push(new Option(name, hashname));
    }
    select.replaceChildren(new Option(say.choose, ""));
    for (const [site, members] of groups) {
      if (!site) select.append(...members);
      else {
        const group = document.createElement("optgroup");
        group.label = site;
        group.append(...members);
        select.append(group);
      }
    }
    select.value = shown.find(chosen[end])?.hashname ?? "";
  }
}

function choose(end, hashname) {
  chosen[end] = hashname ? shown.textOf(hashname) : "";
  find(end).value = hashname;
  remember();
  explain();
}

function select(id) {
  chosen.item = id;
  view.mark(id);
  table.mark(id);
  panel.showItem(shown, id);
  if (!id) return;
  find("side").scrollTop = find("item").offsetTop - find("side").offsetTop;
  if (matchMedia("(max-width: 64rem)").matches) find("item").scrollIntoView({ block: "nearest" });
}

async function explain() {
  const number = ++explained;
  const from = shown.find(chosen.from)?.hashname;
  const to = shown.find(chosen.to)?.hashname;
  let found = null;
  if (from && to && from !== to) found = timeline.at === null ? await asNow(from, to) : asThen(from, to);
  if (number !== explained) return;
  overlay = found;
  view.overlay(found?.ways ? found : null);
  panel.showPath(shown, found);
  find("clear").hidden = !(chosen.from || chosen.to);
}

async function asNow(from, to) {
  const answer = await fetch(`/api/v1/mesh/explain?from=${from}&to=${to}`);
  if (!answer.ok) return { from, to, problem: await problemOf(answer) };
  const found = await answer.json();
  return { ...found, from, to, command: `rookery explain ${shown.textOf(to)} --from ${shown.textOf(from)}` };
}

// The past keeps what links cost, not what each member decided: this is what follows from it.
function asThen(from, to) {
  const route = shown.cheapest(from, to);
  const ways = route ? [{ ...route, is_used: true, state: say.cheapest, why: say.byCosts }] : [];
  return { from, to, ways, lines: [] };
}

function showPast(graph) {
  shown = graph;
  draw();
  explain();
  remember();
}

function showLive() {
  shown = live;
  draw();
  explain();
  remember();
}

function remember() {
  const now = new URLSearchParams();
  for (const name of ["from", "to"]) if (chosen[name]) now.set(name, chosen[name]);
  if (timeline.at !== null) now.set("at", new Date(timeline.at * 1000).toISOString());
  if (chosen.by !== "rtt") now.set("by", chosen.by);
  const text = now.toString();
  history.replaceState(null, "", text ? `?${text}` : location.pathname);
}

function colourBy(by) {
  chosen.by = by;
  showLegend(find("legend"), by, say);
  view.show(shown, by);
  remember();
}

function listen() {
  for (const radio of root.querySelectorAll("input[name=by]")) {
    radio.checked = radio.value === chosen.by;
    radio.addEventListener("change", () => colourBy(radio.value));
  }
  for (const end of ["from", "to"]) find(end).addEventListener("change", (event) => choose(end, event.target.value));
  find("clear").addEventListener("click", () => {
    choose("from", "");
    choose("to", "");
    find("from").focus();
  });
  find("zoom-in").addEventListener("click", () => view.zoom(1.3));
  find("zoom-out").addEventListener("click", () => view.zoom(1 / 1.3));
  find("fit").addEventListener("click", () => view.fit());
  find("tidy").addEventListener("click", () => view.tidy(shown));
  onTheme(() => view.restyle());
}

function followLive() {
  let isFirst = true;
  let isChanged = false;
  follow({
    mesh: (change) => {
      live.apply(change);
      isChanged = true;
      if (timeline.at !== null) return;
      draw();
      if (isFirst) explain();
      isFirst = false;
    },
  });
  setInterval(() => timeline.at === null && !document.hidden && table.show(shown), AGES_MS);
  setInterval(() => {
    if (timeline.at !== null || document.hidden || !overlay || !isChanged) return;
    isChanged = false;
    explain();
  }, EXPLAINED_MS);
}

async function begin() {
  listen();
  showLegend(find("legend"), chosen.by, say);
  const isLive = Boolean(say.hasMesh);
  const hasHistory = await timeline.open();
  const at = Date.parse(query.get("at") ?? "") / 1000;
  if (hasHistory && Number.isFinite(at)) timeline.go(at);
  else if (hasHistory && !isLive) timeline.go(Number.MAX_SAFE_INTEGER);
  if (isLive) followLive();
}

begin();
