// The links once more as a table, for the keyboard, for screen readers and for sorting.

import { element } from "/static/map_element.js";
import { age, rate, roundTrip, roundTripText, share, worse } from "/static/map_figures.js";
import { ageOf, compareNames, keyOf } from "/static/map_graph.js";

const SHOWN_MAX = 200; // rows; the filter finds the others

const SORTED = {
  a: (link, graph) => graph.name(turned(link, graph).a),
  b: (link, graph) => graph.name(turned(link, graph).b),
  state: (link) => link.state,
  rtt: roundTrip,
  loss: (link) => worse(link.loss_ab, link.loss_ba),
  rate: (link) => link.rate_bytes_s,
  age: ageOf,
};

export class LinkTable {
  constructor(root, { say, select }) {
    this._body = root.querySelector("tbody");
    this._filter = root.querySelector("input[type=search]");
    this._count = root.querySelector("[data-count]");
    this._heads = [...root.querySelectorAll("th[data-sort]")];
    this._say = say;
    this._select = select;
    this._sort = { by: "a", isFalling: false };
    this._keys = "";
    this._rows = new Map();
    this._filter.addEventListener("input", () => this._arrange());
    for (const head of this._heads) head.querySelector("button").addEventListener("click", () => this._order(head));
  }

  show(graph) {
    this._graph = graph;
    const keys = [...graph.links.keys()].join();
    // Rows keep their places while only figures change: rows that jump cannot be read.
    if (keys !== this._keys) {
      this._keys = keys;
      this._arrange();
    }
    for (const [key, cells] of this._rows) this._write(cells, graph.links.get(key));
  }

  mark(id) {
    for (const [key, cells] of this._rows) cells.row.classList.toggle("is-marked", key === id);
  }

  _order(head) {
    const by = head.dataset.sort;
    this._sort = { by, isFalling: this._sort.by === by && !this._sort.isFalling };
    for (const each of this._heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", this._sort.isFalling ? "descending" : "ascending");
    this._arrange();
  }

  _arrange() {
    const graph = this._graph;
    if (!graph) return;
    const wanted = this._filter.value.trim().toLowerCase();
    const all = graph.drawn;
    const found = all.filter((link) => this._text(link).includes(wanted));
    found.sort((one, other) => this._compare(one, other));
    this._rows.clear();
    const rows = found.slice(0, SHOWN_MAX).map((link) => this._row(link));
    this._body.replaceChildren(...rows);
    this._count.textContent = `${rows.length} / ${all.length}`;
  }

  _text(link) {
    return `${this._graph.name(link.a)} ${this._graph.name(link.b)} ${link.state}`.toLowerCase();
  }

  _compare(one, other) {
    const read = SORTED[this._sort.by];
    const [first, second] = [read(one, this._graph), read(other, this._graph)];
    const sign = this._sort.isFalling ? -1 : 1;
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    if (typeof first === "number") return sign * (first - second);
    return sign * compareNames(first, second);
  }

  _row(link) {
    const key = keyOf(link);
    const name = element("button", { type: "button", className: "map-link", onclick: () => this._select(key) });
    const cells = { name, texts: Array.from({ length: 7 }, () => element("td")) };
    cells.row = element("tr", {}, element("th", { scope: "row" }, name), ...cells.texts);
    this._rows.set(key, cells);
    this._write(cells, link);
    return cells.row;
  }

  _write({ row, name, texts }, link) {
    const graph = this._graph;
    const ends = turned(link, graph);
    const states = { up: this._say.up, down: this._say.down, "one-way": this._say.oneWay };
    const values = [
      graph.name(ends.b),
      states[link.state] ?? link.state,
      roundTripText(link),
      share(ends.loss_ab),
      share(ends.loss_ba),
      rate(link.rate_bytes_s),
      age(ageOf(link)),
    ];
    set(name, graph.name(ends.a));
    values.forEach((value, index) => set(texts[index], value));
    row.dataset.state = link.state;
  }
}

// By name, as people look for them; hashnames are in an order that says nothing.
function turned(link, graph) {
  if (compareNames(graph.name(link.a), graph.name(link.b)) <= 0) return link;
  return { a: link.b, b: link.a, loss_ab: link.loss_ba, loss_ba: link.loss_ab };
}

function set(cell, text) {
  if (cell.textContent !== text) cell.textContent = text;
}
