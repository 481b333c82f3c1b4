// Elements made from values: text is always text, whatever a member is called.

/** An element with properties (`data-…`, `aria-…` and `role` as attributes) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A sample of how a line is drawn. */
export function lineSample(look, className) {
  const svg = drawing("svg", { width: 34, height: 10, viewBox: "0 0 34 10", "aria-hidden": "true" });
  const line = drawing("line", { x1: 1, y1: 5, x2: 33, y2: 5, class: className });
  line.setAttribute("stroke-width", look.width);
  if (look.dash.length) line.setAttribute("stroke-dasharray", look.dash.join(" "));
  svg.append(line);
  return svg;
}

/** A sample of how a member is drawn. */
export function memberSample(points, className) {
  const svg = drawing("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" });
  const shape = points
    ? drawing("polygon", { points, class: className })
    : drawing("circle", { cx: 8, cy: 8, r: 6, class: className });
  svg.append(shape);
  return svg;
}

function drawing(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
