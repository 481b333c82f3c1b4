// The mesh as a graph: members by hashname and links by the pair of them, now or at a time past.

const MEMBER = "member ";
const LINK = "link ";
const DIRECT_RATIO = 0.8;

export class Graph {
  constructor(at = null) {
    this.at = at;
    this.members = new Map();
    this.links = new Map();
    this._byMember = null;
  }

  /** Of the JSON that both the live and the history's address answer with. */
  static of(json) {
    const graph = new Graph(json.at);
    for (const member of json.members) graph.members.set(member.hashname, member);
    for (const link of json.links) graph.links.set(keyOf(link), link);
    return graph;
  }

  /** What the live stream sends: values by key, and keys that are no more; or first, all there is. */
  apply({ changed, gone, first }) {
    if (first) {
      this.members.clear();
      this.links.clear();
    }
    for (const [key, value] of Object.entries(changed)) {
      if (key.startsWith(MEMBER)) this.members.set(value.hashname, value);
      else if (key.startsWith(LINK)) this.links.set(keyOf(value), value);
    }
    for (const key of gone) {
      if (key.startsWith(MEMBER)) this.members.delete(key.slice(MEMBER.length));
      else if (key.startsWith(LINK)) this.links.delete(key.slice(LINK.length));
    }
    this.at = Date.now() / 1000;
    this._byMember = null;
  }

  get sorted() {
    return [...this.members.values()].sort(bySiteAndName);
  }

  /** Links of which both ends are known. */
  get drawn() {
    return [...this.links.values()].filter((link) => this.members.has(link.a) && this.members.has(link.b));
  }

  linksOf(hashname) {
    if (!this._byMember) {
      this._byMember = new Map([...this.members.keys()].map((member) => [member, []]));
      for (const link of this.drawn) {
        this._byMember.get(link.a).push(link);
        this._byMember.get(link.b).push(link);
      }
    }
    return this._byMember.get(hashname) ?? [];
  }

  name(hashname) {
    return nameOf(this.members.get(hashname)) || hashname.slice(0, 12);
  }

  /** Whom a text of an address bar means: a hashname, or a name that only one member has. */
  find(text) {
    if (!text || this.members.has(text)) return text ? this.members.get(text) : undefined;
    const named = this.sorted.filter((member) => member.name === text);
    return named.length === 1 ? named[0] : undefined;
  }

  /** The shortest text by which `find` finds this member again. */
  textOf(hashname) {
    const name = this.members.get(hashname)?.name;
    return name && this.find(name)?.hashname === hashname ? name : hashname;
  }

  /**
   * The route that routing's rules prefer by the costs in this graph, or null: only relays pass on, and
   * a direct link counts less than it costs.
   */
  cheapest(from, to) {
    const costs = this._costs();
    const direct = costs.get(from)?.get(to);
    const around = this._around(from, to, costs);
    if (direct !== undefined && (!around || direct * DIRECT_RATIO <= around.cost_us)) {
      return { nodes: [from, to], cost_us: direct };
    }
    return around;
  }

  _around(from, to, costs) {
    const hasRelays = [...this.members.values()].some(isRelay); // a lake may not know who is one
    const best = new Map([[from, 0]]);
    const before = new Map();
    const open = new Set([from]);
    while (open.size) {
      const here = [...open].reduce((one, other) => (best.get(other) < best.get(one) ? other : one));
      if (here === to) return { nodes: backFrom(to, before), cost_us: best.get(to) };
      open.delete(here);
      if (here !== from && hasRelays && !isRelay(this.members.get(here))) continue;
      for (const [next, cost] of costs.get(here)) {
        const total = best.get(here) + cost;
        if (total < (best.get(next) ?? Infinity)) {
          best.set(next, total);
          before.set(next, here);
          open.add(next);
        }
      }
    }
    return null;
  }

  // As both ends claim, the worse of them: what one end alone claims carries nothing.
  _costs() {
    const costs = new Map([...this.members.keys()].map((hashname) => [hashname, new Map()]));
    for (const link of this.drawn) {
      const claims = [link.cost_ab_us, link.cost_ba_us].filter((us) => us !== null);
      if (link.state !== "up" || !claims.length) continue;
      costs.get(link.a).set(link.b, Math.max(...claims));
      costs.get(link.b).set(link.a, Math.max(...claims));
    }
    return costs;
  }
}

/** How old a member's or link's figures are, in seconds; null: not known. */
export function ageOf(value) {
  // What is followed live tells when it was claimed: an age would change all the time.
  if (value.claimed_at === undefined) return value.age_s;
  return value.claimed_at === null ? null : Math.max(0, Date.now() / 1000 - value.claimed_at);
}

export function keyOf(link) {
  return `${link.a} ${link.b}`;
}

/** The key of the link between two, whichever comes first. */
export function keyBetween(one, other) {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

export function nameOf(member) {
  return member ? member.name || member.hashname.slice(0, 12) : "";
}

/** A member's name without its site, which is shown next to it. */
export function shortNameOf(member) {
  const name = nameOf(member);
  const isTold = member.site && name.startsWith(member.site) && name.length > member.site.length + 1;
  return isTold ? name.slice(member.site.length).replace(/^[-.]/, "") : name;
}

export function isRelay(member) {
  return member.roles.includes("relay");
}

export function bySiteAndName(one, other) {
  return (
    Number(!one.site) - Number(!other.site) ||
    compareNames(one.site ?? "", other.site ?? "") ||
    compareNames(nameOf(one), nameOf(other)) ||
    compareNames(one.hashname, other.hashname)
  );
}

const collator = new Intl.Collator("en", { numeric: true });
/** `gw2` before `gw10`. */
export function compareNames(one, other) {
  return collator.compare(one, other);
}

function backFrom(last, before) {
  const nodes = [last];
  while (before.has(nodes[0])) nodes.unshift(before.get(nodes[0]));
  return nodes;
}
