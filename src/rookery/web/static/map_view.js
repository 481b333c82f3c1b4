// The drawing: cytoscape holds what the graph holds, and moves nothing that stands already.

import cytoscape from "/static/vendor/cytoscape.js";
import { isRelay, keyBetween, keyOf, shortNameOf } from "/static/map_graph.js";
import { layout, settled } from "/static/map_layout.js";
import { SCALES } from "/static/map_figures.js";
import { mapStyle } from "/static/map_style.js";

const MEMORY = "rookery.map.positions";
const REMEMBERED_MAX = 2000;
const LABELLED_MAX = 16; // links; with more of them only those that matter bear figures
const MANY_FROM = 400; // links; from here on they are drawn the quick way, and the good ones pale
const SITE = "site ";

export class MapView {
  constructor(container, { select }) {
    this._container = container;
    this._ratio = container.clientWidth / container.clientHeight;
    this._isMoved = false;
    this._positions = remembered(this._ratio);
    this._cy = cytoscape({
      container,
      style: mapStyle(container),
      layout: { name: "preset" },
      minZoom: 0.1,
      maxZoom: 3,
      selectionType: "single",
      boxSelectionEnabled: false,
      hideEdgesOnViewport: false,
    });
    this._listen(select);
  }

  /** Draw this graph, with links by one of the scales. */
  show(graph, by) {
    const isFirst = this._cy.nodes().empty();
    this._cy.batch(() => {
      this._dropMissing(graph);
      this._place(graph);
      this._members(graph);
      this._links(graph, by);
    });
    if (isFirst || !this._isMoved) this.fit();
  }

  /** Highlight the routes from one member to another; null: none. */
  overlay(chosen) {
    const cy = this._cy;
    cy.batch(() => {
      cy.elements().removeClass("from to used alternate aside forth back");
      if (!chosen) return;
      for (const route of [...chosen.ways].sort((one, other) => one.is_used - other.is_used)) {
        this._lift(route.nodes, route.is_used ? "used" : "alternate");
      }
      cy.getElementById(chosen.from).addClass("from");
      cy.getElementById(chosen.to).addClass("to");
      if (chosen.ways.length) cy.elements().not(".used, .alternate, .from, .to, .site").addClass("aside");
    });
  }

  /** Mark what the panel is about: a member's hashname or a link's key; null: nothing. */
  mark(id) {
    this._cy.batch(() => {
      this._cy.elements().removeClass("marked near");
      if (id) this._cy.getElementById(id).addClass("marked").connectedEdges().addClass("near");
    });
  }

  fit() {
    this._cy.resize();
    this._cy.fit(undefined, 36);
    if (this._cy.zoom() > 1.4) {
      this._cy.zoom(1.4);
      this._cy.center();
    }
  }

  zoom(factor) {
    this._isMoved = true;
    const middle = { x: this._container.clientWidth / 2, y: this._container.clientHeight / 2 };
    this._cy.zoom({ level: this._cy.zoom() * factor, renderedPosition: middle });
  }

  /** Forget where members were dragged to. */
  tidy(graph) {
    this._positions = layout(graph, this._ratio);
    this._remember();
    this._cy.batch(() => {
      for (const [hashname, place] of this._positions) this._cy.getElementById(hashname).position(place);
    });
    this._isMoved = false;
    this.fit();
  }

  /** Colours anew, after the page went from light to dark or back. */
  restyle() {
    this._cy.style(mapStyle(this._container));
  }

  _listen(select) {
    const cy = this._cy;
    cy.on("tap", "node[kind = 'member'], edge", (event) => select(event.target.id()));
    cy.on("tap", (event) => event.target === cy && select(null));
    cy.on("dragfree", "node", () => this._keep());
    cy.on("dragpan pinchzoom scrollzoom", () => (this._isMoved = true));
    cy.on("mouseover", "node[kind = 'member'], edge", () => this._container.classList.add("is-pointing"));
    cy.on("mouseout", "node[kind = 'member'], edge", () => this._container.classList.remove("is-pointing"));
    // The wheel scrolls the page as everywhere; with Ctrl, as pinching does, it zooms.
    const passed = (event) => event.ctrlKey || event.metaKey || event.stopPropagation();
    this._container.parentElement.addEventListener("wheel", passed, { capture: true, passive: true });
    new ResizeObserver(() => (this._isMoved ? cy.resize() : this.fit())).observe(this._container);
  }

  _dropMissing(graph) {
    const links = graph.links;
    const sites = new Set(graph.sorted.map((member) => SITE + member.site));
    const missing = this._cy.elements().filter((item) => {
      const id = item.id();
      if (item.isEdge()) return !links.has(id);
      return item.data("kind") === "site" ? !sites.has(id) : !graph.members.has(id);
    });
    const orphans = missing.children();
    orphans.move({ parent: null });
    missing.remove();
  }

  _place(graph) {
    if ([...graph.members.keys()].every((hashname) => this._positions.has(hashname))) return;
    const computed = layout(graph, this._ratio);
    const before = this._positions;
    this._positions = settled(computed, before, graph);
    // Who is away now comes back to its place.
    for (const [hashname, place] of before) if (!this._positions.has(hashname)) this._positions.set(hashname, place);
    this._remember();
  }

  _members(graph) {
    const missing = [];
    const sites = new Set();
    for (const member of graph.sorted) {
      const parent = member.site ? SITE + member.site : undefined;
      if (parent && !sites.has(parent) && this._cy.getElementById(parent).empty()) {
        const data = { id: parent, kind: "site", label: member.site };
        missing.push({ group: "nodes", data, classes: "site", selectable: false });
      }
      sites.add(parent);
      const data = { id: member.hashname, kind: "member", label: shortNameOf(member), parent };
      const classes = [isRelay(member) ? "relay" : "", member.is_up ? "" : "down"].join(" ").trim();
      const node = this._cy.getElementById(member.hashname);
      if (node.empty()) {
        const position = { ...this._positions.get(member.hashname) };
        missing.push({ group: "nodes", data: { ...data, drawn: classes }, classes, position });
        continue;
      }
      if (node.data("label") !== data.label) node.data("label", data.label);
      if (node.parent().id() !== parent) {
        this._cy.add(missing.splice(0));
        node.move({ parent: parent ?? null });
      }
      redrawn(node, classes);
    }
    this._cy.add(missing);
  }

  _links(graph, by) {
    const scale = SCALES[by];
    const drawn = graph.drawn;
    const size = drawn.length <= LABELLED_MAX ? "told" : drawn.length >= MANY_FROM ? "many" : "some";
    const missing = [];
    for (const link of drawn) {
      const id = keyOf(link);
      const step = scale.step(scale.read(link));
      const isFigured = link.state !== "down" && step !== null;
      const kind = link.state === "down" ? "down" : step === null ? "unknown" : `${by} step-${step}`;
      const figure = isFigured ? scale.tell(link) : "";
      const classes = `${kind} ${size}`;
      const edge = this._cy.getElementById(id);
      if (edge.empty()) {
        const data = { id, source: link.a, target: link.b, figure, drawn: classes };
        missing.push({ group: "edges", data, classes });
        continue;
      }
      if (edge.data("figure") !== figure) edge.data("figure", figure);
      redrawn(edge, classes);
    }
    this._cy.add(missing);
  }

  _lift(nodes, className) {
    for (const [index, hashname] of nodes.entries()) {
      this._cy.getElementById(hashname).addClass(className);
      if (index === 0) continue;
      const before = nodes[index - 1];
      const edge = this._cy.getElementById(keyBetween(before, hashname));
      edge.removeClass("used alternate forth back");
      edge.addClass(className).addClass(before < hashname ? "forth" : "back");
    }
  }

  _keep() {
    this._cy.nodes("[kind = 'member']").forEach((node) => this._positions.set(node.id(), { ...node.position() }));
    this._isMoved = true;
    this._remember();
  }

  _remember() {
    const rounded = [...this._positions]
      .slice(-REMEMBERED_MAX)
      .map(([hashname, { x, y }]) => [hashname, Math.round(x), Math.round(y)]);
    try {
      sessionStorage.setItem(memory(this._ratio), JSON.stringify(rounded));
    } catch {
      // A full or forbidden storage costs the memory, not the map.
    }
  }
}

const OVERLAID = new Set(["used", "alternate", "aside", "forth", "back", "from", "to", "marked", "near"]);

/** Give an element other classes, but leave those by which it is lifted or marked. */
function redrawn(item, classes) {
  if (item.data("drawn") === classes) return;
  const kept = item.classes().filter((name) => OVERLAID.has(name));
  item.classes([...classes.split(" ").filter(Boolean), ...kept]).data("drawn", classes);
}

function memory(ratio) {
  return `${MEMORY}.${ratio < 1 ? "tall" : "wide"}`;
}

function remembered(ratio) {
  try {
    const rows = JSON.parse(sessionStorage.getItem(memory(ratio)) ?? "[]");
    return new Map(rows.map(([hashname, x, y]) => [hashname, { x, y }]));
  } catch {
    return new Map();
  }
}
