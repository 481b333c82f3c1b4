// How the drawing looks: cytoscape's rules, with colours taken from the page's style sheet.

import { colour as token } from "/static/theme.js";
import { DOWN_LOOK, SCALES, UNKNOWN_LOOK } from "/static/map_figures.js";

const NARROW = 520; // pixels; on a phone the whole mesh is drawn smaller, its names are not
const SHARED = new Set(["text", "muted", "accent"]);
const colour = (name) => token(SHARED.has(name) ? `--${name}` : `--map-${name}`);

/** The rules in the colours that hold now, light or dark, and in the font of this element. */
export function mapStyle(container) {
  const family = getComputedStyle(container).fontFamily;
  const size = container.clientWidth < NARROW ? 18 : 12;
  return [...memberRules(family, size), ...linkRules(family, size - 2), ...overlayRules()];
}

// Each property of each element costs cytoscape some time: none is set that need not be.
function memberRules(family, size) {
  const text = { "font-family": family, "text-outline-color": colour("ground"), "text-outline-width": 2.5 };
  return [
    {
      selector: "node[kind = 'member']",
      style: {
        ...text,
        color: colour("text"),
        width: 22,
        height: 22,
        label: "data(label)",
        "font-size": size,
        "text-valign": "bottom",
        "text-margin-y": 5,
        "min-zoomed-font-size": 6,
        "background-color": colour("member"),
      },
    },
    {
      selector: "node.relay",
      style: { shape: "hexagon", width: 28, height: 26, "background-color": colour("relay") },
    },
    {
      selector: "node.down",
      style: {
        color: colour("muted"),
        "background-color": colour("ground"),
        "border-width": 2,
        "border-color": colour("muted"),
        "border-style": "dashed",
      },
    },
    {
      selector: "node.site",
      style: {
        ...text,
        color: colour("muted"),
        shape: "round-rectangle",
        "corner-radius": 16,
        padding: 26,
        label: "data(label)",
        "font-size": size,
        "font-weight": 600,
        "text-margin-y": -6,
        "background-color": colour("site"),
        "border-width": 1,
        "border-color": colour("site-edge"),
        events: "no",
      },
    },
  ];
}

function linkRules(family, size) {
  const rules = [
    { selector: "edge", style: { "curve-style": "straight", "line-color": colour("unknown"), ...look(UNKNOWN_LOOK) } },
    {
      selector: "edge.told, edge.near, edge.marked, edge.used, edge.alternate",
      style: {
        label: "data(figure)",
        "text-rotation": "autorotate",
        "font-family": family,
        "font-size": size,
        color: colour("text"),
        "text-background-color": colour("ground"),
        "text-background-opacity": 0.85,
        "text-background-padding": 2,
        "text-background-shape": "round-rectangle",
        "min-zoomed-font-size": 7,
      },
    },
    { selector: "edge.many", style: { "curve-style": "haystack", "haystack-radius": 0, opacity: 0.25 } },
    { selector: "edge.many.near, edge.many.used, edge.many.alternate, edge.many.marked", style: { "curve-style": "straight" } },
    { selector: "edge.down", style: look(DOWN_LOOK) },
  ];
  for (const [by, scale] of Object.entries(SCALES)) {
    scale.looks.forEach((each, step) => {
      const style = { "line-color": colour(`step-${step}`), "z-index": step, ...look(each) };
      rules.push({ selector: `edge.${by}.step-${step}`, style });
      if (step >= 3) rules.push({ selector: `edge.${by}.step-${step}.many`, style: { opacity: 0.7 } });
    });
  }
  return rules;
}

function overlayRules() {
  const lifted = (name, padding, opacity) => ({
    "underlay-color": colour(name),
    "underlay-padding": padding,
    "underlay-opacity": opacity,
    "underlay-shape": "ellipse",
    "z-index": 10,
  });
  const arrow = { "arrow-scale": 1.1 };
  return [
    { selector: ".aside", style: { opacity: 0.22 } },
    { selector: "edge.many.aside", style: { opacity: 0.06 } },
    { selector: "edge.near, edge.marked, edge.used, edge.alternate", style: { opacity: 1 } },
    { selector: "edge.alternate", style: lifted("path", 5, 0.3) },
    { selector: "edge.used", style: { ...lifted("path", 6, 0.55), "font-weight": 600 } },
    { selector: "edge.used.forth", style: { ...arrow, "target-arrow-shape": "triangle", "target-arrow-color": colour("path") } },
    { selector: "edge.used.back", style: { ...arrow, "source-arrow-shape": "triangle", "source-arrow-color": colour("path") } },
    { selector: "node:active, edge:active", style: { "overlay-opacity": 0 } },
    { selector: "node.used", style: { "border-color": colour("path"), "border-width": 3 } },
    { selector: "node.from, node.to", style: { ...lifted("path", 8, 0.35), "border-color": colour("path"), "border-width": 4, "font-weight": 700 } },
    { selector: "node.marked", style: { ...lifted("accent", 9, 0.3), "font-weight": 700 } },
    { selector: "edge.marked", style: lifted("accent", 6, 0.35) },
  ];
}

function look({ width, dash }) {
  if (!dash.length) return { width, "line-style": "solid" };
  return { width, "line-style": "dashed", "line-dash-pattern": dash };
}
