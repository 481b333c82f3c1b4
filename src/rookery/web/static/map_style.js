// How the drawing looks: cytoscape's rules, with colours taken from the page's style sheet.

import { colour as token } from "/static/theme.js";
import { DOWN_LOOK, SCALES, UNKNOWN_LOOK } from "/static/map_figures.js";

const SHARED = new Set(["text", "muted", "accent"]);
const colour = (name) => token(SHARED.has(name) ? `--${name}` : `--map-${name}`);

/** The rules in the colours that hold now, light or dark, and in the font of this element. */
export function mapStyle(container) {
  const family = getComputedStyle(container).fontFamily;
  return [...memberRules(family), ...linkRules(family), ...overlayRules()];
}

function memberRules(family) {
  const text = { "font-family": family, color: colour("text"), "text-outline-color": colour("ground") };
  return [
    {
      selector: "node",
      style: {
        ...text,
        width: 22,
        height: 22,
        label: "data(label)",
        "font-size": 12,
        "font-weight": 500,
        "text-valign": "bottom",
        "text-margin-y": 5,
        "text-outline-width": 2.5,
        "text-max-width": 130,
        "text-wrap": "ellipsis",
        "min-zoomed-font-size": 6,
        "background-color": colour("member"),
        "border-width": 2,
        "border-color": colour("ground"),
        "overlay-opacity": 0,
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
        "font-size": 12,
        "font-weight": 600,
        "text-valign": "top",
        "text-margin-y": -6,
        "background-color": colour("site"),
        "background-opacity": 1,
        "border-width": 1,
        "border-color": colour("site-edge"),
        "min-zoomed-font-size": 5,
        events: "no",
      },
    },
  ];
}

function linkRules(family) {
  const rules = [
    {
      selector: "edge",
      style: {
        "curve-style": "straight",
        "line-color": colour("unknown"),
        "font-family": family,
        "font-size": 10,
        color: colour("text"),
        "text-background-color": colour("ground"),
        "text-background-opacity": 0.85,
        "text-background-padding": 2,
        "text-background-shape": "round-rectangle",
        "min-zoomed-font-size": 7,
        "overlay-opacity": 0,
        ...look(UNKNOWN_LOOK),
      },
    },
    {
      selector: "edge.told, edge.near, edge.marked, edge.used, edge.alternate",
      style: { label: "data(figure)", "text-rotation": "autorotate" },
    },
    { selector: "edge.plain", style: { "curve-style": "haystack", "haystack-radius": 0, opacity: 0.5 } },
    { selector: "edge.down", style: { "line-color": colour("muted"), ...look(DOWN_LOOK) } },
  ];
  for (const [by, scale] of Object.entries(SCALES)) {
    scale.looks.forEach((each, step) => {
      const style = { "line-color": colour(`step-${step}`), ...look(each) };
      rules.push({ selector: `edge.${by}.step-${step}`, style });
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
    { selector: "edge.alternate", style: lifted("path", 5, 0.3) },
    { selector: "edge.used", style: { ...lifted("path", 6, 0.55), "font-weight": 600 } },
    { selector: "edge.used.forth", style: { ...arrow, "target-arrow-shape": "triangle", "target-arrow-color": colour("path") } },
    { selector: "edge.used.back", style: { ...arrow, "source-arrow-shape": "triangle", "source-arrow-color": colour("path") } },
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
