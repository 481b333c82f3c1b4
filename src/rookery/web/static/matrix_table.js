// The matrix as a table: one stop for the Tab key, arrows within, each figure a link to the map.

import { element } from "/static/map_element.js";
import { age } from "/static/map_figures.js";
import { nameOf, shortNameOf } from "/static/map_graph.js";
import { fadeOf, MEASURES, stepOf, routeText } from "/static/matrix_figures.js";

const COMPACT_FROM = 17; // members; from here on cells are small
const DENSE_FROM = 41; // from here on a figure's age is told by its fading, and in words when pointed at

export class MatrixTable {
  /** `tell(text)`: shows the route that is pointed at. */
  constructor(table, { say, tell }) {
    this._table = table;
    this._head = table.tHead;
    this._body = table.tBodies[0];
    this._say = say;
    this._tell = tell;
    this._cells = new Map(); // "from to": { link, value, seconds, cell }
    this._rows = []; // of links, null on the diagonal
    this._shape = "";
    table.addEventListener("pointerover", (event) => this._point(event.target.closest("a")));
    table.addEventListener("focusin", (event) => this._point(event.target.closest("a")));
    table.addEventListener("keydown", (event) => this._move(event));
  }

  show(matrix, by, receivedAt) {
    const shape = JSON.stringify(matrix.members.map((each) => [each.hashname, each.name, each.is_up]));
    if (shape !== this._shape) this._build(matrix.members);
    this._shape = shape;
    this._receivedAt = receivedAt;
    this._by = by;
    for (const cell of matrix.cells) this._cells.get(`${cell.from} ${cell.to}`).cell = cell;
    this.refresh();
  }

  /** Write everything anew: figures, and ages as they are by now. */
  refresh() {
    const measure = MEASURES[this._by];
    const passed_s = this._passed_s;
    for (const shown of this._cells.values()) this._write(shown, measure, passed_s);
    if (this._pointed) this._point(this._pointed);
  }

  _build(members) {
    this._names = new Map(members.map((each) => [each.hashname, nameOf(each)]));
    this._cells.clear();
    this._isDense = members.length >= DENSE_FROM;
    this._table.classList.toggle("is-compact", members.length >= COMPACT_FROM);
    this._table.classList.toggle("is-dense", this._isDense);
    this._table.querySelector("colgroup").replaceChildren(element("col"), ...members.map(() => element("col")));
    this._head.replaceChildren(...this._siteRow(members), this._nameRow(members));
    this._rows = [];
    this._body.replaceChildren(...members.map((member, index) => this._row(member, index, members)));
    const first = this._rows.flat().find(Boolean);
    if (first) first.tabIndex = 0;
    this._pointed = null;
  }

  _siteRow(members) {
    if (members.every((member) => !member.site)) return [];
    const sites = [];
    for (const member of members) {
      if (sites.at(-1)?.site === member.site) sites.at(-1).count += 1;
      else sites.push({ site: member.site, count: 1 });
    }
    const cells = sites.map(({ site, count }) =>
      site
        ? element("th", { scope: "colgroup", colSpan: count, className: "is-first" }, element("span", { title: site }, site))
        : element("td", { colSpan: count, className: "is-first" }),
    );
    return [element("tr", { className: "matrix-sites" }, element("td"), ...cells)];
  }

  _nameRow(members) {
    const names = members.map((member, index) =>
      element(
        "th",
        { scope: "col", className: classOf(member, members[index - 1]), title: nameOf(member) },
        element("span", {}, shortNameOf(member)),
      ),
    );
    const corner = element("td", {}, `${this._say.from} ↓ ${this._say.to} →`);
    return element("tr", { className: "matrix-names" }, corner, ...names);
  }

  _row(member, index, members) {
    const links = [];
    const cells = members.map((other, column) => {
      const className = classOf(other, members[column - 1]).replace("is-down", "");
      if (other === member) {
        links.push(null);
        return element("td", { className: `${className} is-self` });
      }
      const value = document.createTextNode("");
      const seconds = this._isDense ? null : element("small");
      const query = new URLSearchParams({ from: this._text(member, members), to: this._text(other, members) });
      const link = element("a", { href: `/fleet/map?${query}`, tabIndex: -1 }, value, seconds);
      link.dataset.pair = `${member.hashname} ${other.hashname}`;
      links.push(link);
      this._cells.set(link.dataset.pair, { link, value, seconds, cell: null });
      return element("td", { className }, link);
    });
    this._rows.push(links);
    const name = element("th", { scope: "row", className: classOf(member, members[index - 1]) }, nameOf(member));
    return element("tr", { className: classOf(member, members[index - 1]) }, name, ...cells);
  }

  // By name where that is enough, as people would write it.
  _text(member, members) {
    const isOnly = members.filter((each) => each.name === member.name).length === 1;
    return member.name && isOnly ? member.name : member.hashname;
  }

  _write({ link, value, seconds, cell }, measure, passed_s) {
    if (!cell) return;
    const figure = measure.read(cell);
    const old_s = cell.age_s === null ? null : cell.age_s + passed_s;
    const isKnown = figure !== null;
    set(value, isKnown ? measure.short(figure) : "✕");
    if (seconds) set(seconds, isKnown && old_s !== null ? age(old_s) : "");
    const look = isKnown ? `step-${stepOf(measure, figure)} fade-${fadeOf(old_s ?? 0)}` : "is-none";
    const className = cell.is_direct || !isKnown ? look : `${look} is-relayed`;
    if (link.className !== className) link.className = className;
  }

  // Written on demand: ten thousand titles would take longer than the rest.
  _words({ cell }) {
    const old_s = cell.age_s === null ? null : cell.age_s + this._passed_s;
    return routeText(cell, (hashname) => this._names.get(hashname) ?? hashname.slice(0, 12), this._say, old_s);
  }

  get _passed_s() {
    return (Date.now() - this._receivedAt) / 1000;
  }

  _point(link) {
    if (!link || !this._cells.get(link.dataset.pair)?.cell) return;
    const words = this._words(this._cells.get(link.dataset.pair));
    if (link.title !== words) link.title = words;
    this._tell(words);
    if (this._pointed === link) return;
    this._pointed = link;
    for (const marked of this._table.querySelectorAll(".is-pointed")) marked.classList.remove("is-pointed");
    const cell = link.parentElement;
    cell.parentElement.cells[0].classList.add("is-pointed");
    this._head.rows[this._head.rows.length - 1].cells[cell.cellIndex].classList.add("is-pointed");
  }

  _move(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const here = event.target.closest("a");
    if (!here || (!step && event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    const row = this._rows.findIndex((links) => links.includes(here));
    const column = this._rows[row].indexOf(here);
    const next = step ? this._after(row, column, step) : this._end(row, event.key);
    if (!next) return;
    here.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // One step on, and over the diagonal, on which there is nothing to see.
  _after(row, column, [down, right]) {
    const at = (times) => this._rows[row + times * down]?.[column + times * right];
    return at(1) ?? at(2);
  }

  _end(row, key) {
    const links = this._rows[row].filter(Boolean);
    return key === "Home" ? links[0] : links.at(-1);
  }
}

function classOf(member, before) {
  const isFirst = before !== undefined && before.site !== member.site;
  return [isFirst ? "is-first" : "", member.is_up ? "" : "is-down"].join(" ").trim();
}

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
