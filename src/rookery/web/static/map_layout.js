// Where members stand on the map: sites apart from each other as far as links need, the members of
// a site on a ring. Nothing is left to chance, so the same mesh is drawn the same way everywhere.

const SPACE = 84; // between members of a site
const GAP = 120; // between sites
const RING_MAX = 12; // members on one ring; more of them fill a disc
const ROUNDS = 120;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** A position for each member, in an area that is so many times as wide as high. */
export function layout(graph, ratio = 1.6) {
  const isTall = ratio < 1;
  const groups = groupsOf(graph);
  const centres = spread(groups, distances(groups, graph));
  turn(centres, isTall);
  if (isTall) stretch(groups, centres, "y", "x", 1 / ratio);
  else stretch(groups, centres, "x", "y", ratio);
  separate(groups, centres);
  const found = new Map();
  groups.forEach((group, index) => {
    const slots = slotsOf(group, centres[index]);
    assign(group, slots, centres, groups, graph).forEach((slot, hashname) => found.set(hashname, slot));
  });
  return found;
}

/** The remembered positions where there are, and new members beside the rest of their site. */
export function settled(computed, remembered, graph) {
  const found = new Map();
  const shifts = new Map();
  for (const member of graph.sorted) {
    const was = remembered.get(member.hashname);
    if (!was) continue;
    const now = computed.get(member.hashname);
    found.set(member.hashname, was);
    if (member.site) shifts.set(member.site, { x: was.x - now.x, y: was.y - now.y });
  }
  for (const [hashname, { x, y }] of computed) {
    if (found.has(hashname)) continue;
    const shift = shifts.get(graph.members.get(hashname).site) ?? { x: 0, y: 0 };
    found.set(hashname, { x: x + shift.x, y: y + shift.y });
  }
  return found;
}

function groupsOf(graph) {
  const sites = new Map();
  for (const member of graph.sorted) {
    const key = member.site || `\n${member.hashname}`; // without a site, each is alone
    if (!sites.has(key)) sites.set(key, []);
    sites.get(key).push(member.hashname);
  }
  return [...sites.values()].map((members) => ({ members, radius: radiusOf(members.length) }));
}

function radiusOf(count) {
  if (count === 1) return 40;
  return ringRadius(count) + 50;
}

function ringRadius(count) {
  if (count > RING_MAX) return 0.62 * SPACE * Math.sqrt(count);
  return Math.max(SPACE / 2, SPACE / 2 / Math.sin(Math.PI / count));
}

// How far apart two groups should be: along the shortest chain of links, each as long as the two
// circles need; where there is no chain, beyond all that are linked.
function distances(groups, graph) {
  const count = groups.length;
  const home = new Map();
  groups.forEach((group, index) => group.members.forEach((member) => home.set(member, index)));
  const near = (one, other) => groups[one].radius + groups[other].radius + GAP;
  const found = groups.map((_, one) => groups.map((_, other) => (one === other ? 0 : Infinity)));
  for (const link of graph.drawn) {
    const [one, other] = [home.get(link.a), home.get(link.b)];
    if (one !== other) found[one][other] = found[other][one] = near(one, other);
  }
  for (let via = 0; via < count; via += 1) {
    for (let one = 0; one < count; one += 1) {
      const first = found[one][via];
      if (first === Infinity) continue;
      for (let other = 0; other < count; other += 1) {
        const whole = first + found[via][other];
        if (whole < found[one][other]) found[one][other] = whole;
      }
    }
  }
  const furthest = Math.max(2 * GAP, ...found.flat().filter(Number.isFinite));
  return found.map((row) => row.map((distance) => (distance === Infinity ? furthest : distance)));
}

// Stress majorization: each step moves every group to where its distances, weighed by nearness,
// would have it. It never makes the drawing worse, and needs no tuning.
function spread(groups, wanted) {
  const count = groups.length;
  const ring = (GAP * count) / 2;
  let places = groups.map((_, index) => {
    // Alternating radii: a perfect circle would be a balance that some meshes never leave.
    const radius = ring * (1 + 0.1 * (index % 3));
    const angle = (2 * Math.PI * index) / count;
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  if (count < 2) return [{ x: 0, y: 0 }];
  for (let round = 0; round < ROUNDS; round += 1) {
    places = places.map((here, one) => {
      let [x, y, total] = [0, 0, 0];
      places.forEach((there, other) => {
        if (one === other) return;
        const want = wanted[one][other];
        const weight = 1 / (want * want);
        const [dx, dy] = [here.x - there.x, here.y - there.y];
        const pull = want / (Math.hypot(dx, dy) || 1);
        x += weight * (there.x + dx * pull);
        y += weight * (there.y + dy * pull);
        total += weight;
      });
      return { x: x / total, y: y / total };
    });
  }
  return places;
}

// Lay the longest extent along the longer side of the screen.
function turn(places, isTall) {
  const middle = mean(places);
  let [xx, xy, yy] = [0, 0, 0];
  for (const { x, y } of places) {
    xx += (x - middle.x) ** 2;
    yy += (y - middle.y) ** 2;
    xy += (x - middle.x) * (y - middle.y);
  }
  const angle = Math.atan2(2 * xy, xx - yy) / 2 + (isTall ? Math.PI / 2 : 0);
  const [cos, sin] = [Math.cos(-angle), Math.sin(-angle)];
  for (const place of places) {
    const [x, y] = [place.x - middle.x, place.y - middle.y];
    place.x = x * cos - y * sin;
    place.y = x * sin + y * cos;
  }
  // A drawing and its mirror image are as good: let the first group be on the upper left.
  if (places[0].x > 0) places.forEach((place) => (place.x = -place.x));
  if (places[0].y > 0) places.forEach((place) => (place.y = -place.y));
}

// What is as wide as high leaves half of a screen empty.
function stretch(groups, places, long, short, ratio) {
  const extent = (axis) => {
    const ends = places.map((place, index) => [place[axis] - groups[index].radius, place[axis] + groups[index].radius]);
    return Math.max(...ends.map((each) => each[1])) - Math.min(...ends.map((each) => each[0]));
  };
  const factor = Math.min(ratio, (ratio * extent(short)) / extent(long));
  if (factor > 1) for (const place of places) place[long] *= factor;
}

// Sites are drawn as boxes, so they are pushed apart along the side where they overlap least.
function separate(groups, places) {
  for (let round = 0; round < ROUNDS; round += 1) {
    let isClear = true;
    for (let one = 0; one < places.length; one += 1) {
      for (let other = one + 1; other < places.length; other += 1) {
        const needed = groups[one].radius + groups[other].radius + GAP / 3;
        const [dx, dy] = [places[other].x - places[one].x, places[other].y - places[one].y];
        const [lackX, lackY] = [needed - Math.abs(dx), needed - Math.abs(dy)];
        if (lackX < 0.5 || lackY < 0.5) continue;
        isClear = false;
        const axis = lackX < lackY ? "x" : "y";
        const push = (Math.sign(axis === "x" ? dx : dy) || 1) * (Math.min(lackX, lackY) / 2);
        places[one][axis] -= push;
        places[other][axis] += push;
      }
    }
    if (isClear) return;
  }
}

function slotsOf(group, centre) {
  const count = group.members.length;
  if (count === 1) return [{ ...centre }];
  const radius = ringRadius(count);
  return group.members.map((_, index) => {
    const isRing = count <= RING_MAX;
    const first = count === 2 ? 0 : -Math.PI / 2; // two stand side by side, so that names do not hide their link
    const angle = isRing ? (2 * Math.PI * index) / count + first : index * GOLDEN;
    const reach = isRing ? radius : radius * Math.sqrt((index + 0.5) / count);
    return { x: centre.x + reach * Math.cos(angle), y: centre.y + reach * Math.sin(angle) };
  });
}

// Who has links to other sites stands on that side of its own; the slots are taken one by one,
// those first that have the most to gain.
function assign(group, slots, centres, groups, graph) {
  const place = new Map();
  groups.forEach((each, index) => each.members.forEach((member) => place.set(member, centres[index])));
  const inside = new Set(group.members);
  const pulls = group.members.map((member) => {
    const pull = { member, x: 0, y: 0 };
    for (const link of graph.linksOf(member)) {
      const other = link.a === member ? link.b : link.a;
      if (inside.has(other)) continue;
      const from = place.get(member);
      const to = place.get(other);
      const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
      pull.x += (to.x - from.x) / length;
      pull.y += (to.y - from.y) / length;
    }
    return pull;
  });
  pulls.sort((one, other) => Math.hypot(other.x, other.y) - Math.hypot(one.x, one.y));
  const free = [...slots];
  const taken = new Map();
  for (const pull of pulls) {
    const gains = free.map((slot) => slot.x * pull.x + slot.y * pull.y);
    const [slot] = free.splice(gains.indexOf(Math.max(...gains)), 1);
    taken.set(pull.member, slot);
  }
  return taken;
}

function mean(places) {
  const sum = places.reduce((one, other) => ({ x: one.x + other.x, y: one.y + other.y }), { x: 0, y: 0 });
  return { x: sum.x / places.length, y: sum.y / places.length };
}
