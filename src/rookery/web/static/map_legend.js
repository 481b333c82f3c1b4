// The key to the map: what colour, width and dash of a link mean, and the shapes of members.

import { element, lineSample, memberSample } from "/static/map_element.js";
import { DOWN_LOOK, SCALES, UNKNOWN_LOOK } from "/static/map_figures.js";

const HEXAGON = "1,8 4.5,2 11.5,2 15,8 11.5,14 4.5,14";

/** Fill the list for one of the scales; `say` has the words. */
export function showLegend(list, by, say) {
  const scale = SCALES[by];
  const steps = scale.labels.map((label, step) => entry(lineSample(scale.looks[step], `step-${step}`), label));
  list.replaceChildren(
    ...steps,
    entry(lineSample(UNKNOWN_LOOK, "unknown"), say.unknown),
    entry(lineSample(DOWN_LOOK, "gone"), say.down),
    entry(memberSample(HEXAGON, "relay"), say.relay),
    entry(memberSample(null, "member"), say.member),
    entry(memberSample(null, "away"), say.away),
  );
}

function entry(sample, label) {
  return element("li", {}, sample, element("span", {}, label));
}
