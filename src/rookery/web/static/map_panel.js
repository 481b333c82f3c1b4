// Beside the map: the route between two members and why, or details of one member or link.

import { element } from "/static/map_element.js";
import { age, milliseconds, rate, roundTripText, share, UNKNOWN } from "/static/map_figures.js";
import { ageOf, compareNames, nameOf } from "/static/map_graph.js";

export class Panel {
  constructor({ path, item, say, choose }) {
    Object.assign(this, { _path: path, _item: item, _say: say, _choose: choose });
  }

  /** One member with its links, or one link; null: nothing is chosen. */
  showItem(graph, id) {
    const member = graph.members.get(id);
    const link = graph.links.get(id);
    this._item.hidden = !(member || link);
    if (member) fill(this._item, this._member(graph, member));
    else if (link) fill(this._item, this._link(graph, link));
  }

  /** The routes from A to B; `found` as the address `explain` answers, or its problem. */
  showPath(graph, found) {
    this._path.hidden = !found;
    if (!found) return;
    const title = element("h2", {}, `${graph.name(found.from)} → ${graph.name(found.to)}`);
    if (found.problem) {
      fill(this._path, [title, element("p", { className: "problem" }, found.problem)]);
      return;
    }
    const routes = found.ways.map((route) => this._route(graph, route));
    const list = routes.length
      ? element("ol", { className: "map-ways" }, ...routes)
      : element("p", { className: "problem" }, this._say.noRoute);
    const lines = found.lines.map((line) => element("li", {}, line));
    const why = lines.length
      ? [element("h3", {}, this._say.why), element("ul", { className: "map-lines" }, ...lines)]
      : [];
    fill(this._path, [title, list, ...why, found.command ? this._command(found.command) : null]);
  }

  _route(graph, route) {
    const chain = route.nodes.map((hashname) => graph.name(hashname)).join(" → ");
    const state = route.state ?? (route.is_used ? this._say.used : this._say.alternate);
    return element(
      "li",
      { className: route.is_used ? "is-used" : "" },
      element("p", { className: "map-chain" }, chain),
      element(
        "p",
        { className: "map-note" },
        element("strong", {}, state),
        ` · ${this._say.cost} ${milliseconds(route.cost_us / 1000)}`,
        route.why ? ` · ${route.why}` : "",
      ),
    );
  }

  _member(graph, member) {
    const links = graph.linksOf(member.hashname);
    const facts = [
      [this._say.state, member.is_up ? this._say.up : this._say.away],
      [this._say.site, member.site || UNKNOWN],
      [this._say.roles, member.roles.join(", ") || UNKNOWN],
      [this._say.told, age(ageOf(member))],
      [this._say.hashname, element("code", { title: member.hashname }, member.hashname.slice(0, 16) + "…")],
    ];
    return [
      element("h2", {}, nameOf(member)),
      factList(facts),
      this._buttons(member),
      element("h3", {}, `${this._say.links} (${links.length})`),
      this._neighbours(graph, member, links),
      this._command(`rookery explain ${graph.textOf(member.hashname)}`),
    ];
  }

  _buttons(member) {
    const button = (label, end) =>
      element("button", { type: "button", className: "quiet small", onclick: () => this._choose(end, member.hashname) }, label);
    return element(
      "p",
      { className: "map-buttons" },
      button(this._say.fromHere, "from"),
      button(this._say.toHere, "to"),
    );
  }

  _neighbours(graph, member, links) {
    const head = [this._say.with, "RTT", this._say.loss, this._say.age];
    const other = (link) => (link.a === member.hashname ? link.b : link.a);
    const sorted = [...links].sort((one, two) => compareNames(graph.name(other(one)), graph.name(other(two))));
    const rows = sorted.map((link) => {
      const isFirst = link.a === member.hashname;
      const losses = isFirst ? [link.loss_ab, link.loss_ba] : [link.loss_ba, link.loss_ab];
      return element(
        "tr",
        { className: link.state },
        element("th", { scope: "row" }, graph.name(other(link))),
        element("td", {}, link.state === "down" ? this._say.down : roundTripText(link)),
        element("td", {}, losses.map(share).join(" / ")),
        element("td", {}, age(ageOf(link))),
      );
    });
    return element(
      "table",
      { className: "map-neighbours" },
      element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows),
    );
  }

  _link(graph, link) {
    const [a, b] = [graph.name(link.a), graph.name(link.b)];
    const states = { up: this._say.up, down: this._say.down, "one-way": this._say.oneWay };
    const cost = (us) => milliseconds(us === null ? null : us / 1000);
    return [
      element("h2", {}, `${a} ↔ ${b}`),
      factList([
        [this._say.state, states[link.state] ?? link.state],
        ["RTT", roundTripText(link)],
        [`${this._say.loss} →`, share(link.loss_ab)],
        [`${this._say.loss} ←`, share(link.loss_ba)],
        [this._say.rate, rate(link.rate_bytes_s)],
        [`${this._say.cost} →`, cost(link.cost_ab_us)],
        [`${this._say.cost} ←`, cost(link.cost_ba_us)],
        [this._say.age, age(ageOf(link))],
      ]),
    ];
  }

  _command(command) {
    const copy = element("button", { type: "button", className: "tool", "data-copy": command });
    copy.append(element("span", {}, this._say.copyText));
    return element("div", { className: "command" }, element("code", {}, command), copy);
  }
}

function factList(facts) {
  const rows = facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  return element("dl", { className: "facts" }, ...rows);
}

// Live parts are rewritten while keyboard focus may be in them: it is kept.
function fill(section, children) {
  const held = [...section.querySelectorAll("button")].indexOf(document.activeElement);
  section.replaceChildren(...children.filter(Boolean));
  if (held >= 0) section.querySelectorAll("button")[held]?.focus();
}
