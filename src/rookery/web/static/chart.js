// Charts: a sparkline as SVG, and lines over time by uPlot, in the theme's colours.

import { colour, onTheme } from "/static/theme.js";

const SVG = "http://www.w3.org/2000/svg";
const SERIES = ["--accent", "--ok", "--warn", "--series-4", "--series-5", "--bad", "--series-7", "--muted"];

/** Draw values (null: a gap) into an element as a small line; `label` is for who cannot see it. */
export function sparkline(element, values, { label = "", width = 96, height = 24 } = {}) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const least = Math.min(...known), most = Math.max(...known);
  const step = width / Math.max(1, values.length - 1), pad = 2;
  const y = (value) => most === least
    ? height / 2
    : pad + (height - 2 * pad) * (1 - (value - least) / (most - least));
  let path = "", isDrawn = false;
  values.forEach((value, index) => {
    const isGap = value === null || value === undefined;
    if (!isGap) path += `${isDrawn ? "L" : "M"}${(index * step).toFixed(1)} ${y(value).toFixed(1)}`;
    isDrawn = !isGap;
  });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "sparkline");
  svg.setAttribute("preserveAspectRatio", "none");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  if (known.length) {
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", path);
    svg.append(line);
  }
  element.replaceChildren(svg);
  return svg;
}

let loading = null;
function library() {
  loading ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = "/static/vendor/uplot.css";
    const script = document.createElement("script");
    script.src = "/static/vendor/uplot.js";
    script.addEventListener("load", () => resolve(window.uPlot));
    script.addEventListener("error", () => reject(new Error("uPlot did not load")));
    document.head.append(style, script);
  });
  return loading;
}

const BYTES = ["B", "kB", "MB", "GB", "TB"];

/** A value with its unit, short: `12.3 ms`, `1.2 MB/s`, `4 %`; a ratio's unit is `ratio`. */
export function shown(value, unit = "") {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "ratio" || unit === "%") return `${digits(unit === "ratio" ? value * 100 : value)} %`;
  if (unit === "bytes" || unit === "bytes/s") {
    let size = value, at = 0;
    while (Math.abs(size) >= 1000 && at < BYTES.length - 1) {
      size /= 1000;
      at += 1;
    }
    return `${digits(size)} ${BYTES[at]}${unit === "bytes/s" ? "/s" : ""}`;
  }
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

function digits(value) {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: 0 });
  return value.toLocaleString(document.documentElement.lang, { maximumFractionDigits: size < 1 ? 3 : 1 });
}

/**
 * Lines over time. `times`: wall seconds; `series`: [{ label, values, token?, fill?, dash? }]; `unit` as in
 * `shown`. Answers an object with `set({ times, series })` and `destroy()`.
 */
export async function lines(element, { times, series, unit = "", height = 200, onSelect = null }) {
  const uPlot = await library();
  let plot = null, isOver = false, data = [times, ...series.map((one) => one.values)], described = series;

  function draw() {
    if (isOver) return;
    if (plot) plot.destroy();
    element.classList.add("chart");
    plot = new uPlot(options(), data, element);
  }

  function options() {
    const line = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--muted"), grid: line, ticks: line, font: "11px system-ui, sans-serif" };
    return {
      width: Math.max(160, element.clientWidth),
      height,
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 6 }, drag: { x: Boolean(onSelect), y: false } },
      hooks: onSelect ? { setSelect: [(u) => {
        if (u.select.width > 4) onSelect(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
      }] } : {},
      legend: { live: true },
      axes: [
        { ...axis, size: 36, space: 72, values: timeLabels(uPlot) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => shown(tick, unit)) },
      ],
      series: [
        { label: document.documentElement.dataset.time, value: (_, at) => at === null ? "–" : uPlot.fmtDate("{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}")(new Date(at * 1000)) },
        ...described.map((one, index) => {
          const ink = colour(one.token ?? SERIES[index % SERIES.length]);
          return {
            label: one.label,
            stroke: ink,
            width: 1.5,
            dash: one.dash,
            fill: one.fill ? ink.replace("rgb(", "rgba(").replace(")", ", 0.12)") : undefined,
            points: { show: false },
            value: (_, value) => shown(value, unit),
          };
        }),
      ],
    };
  }

  draw();
  const watch = new ResizeObserver(() => {
    if (plot && element.clientWidth) plot.setSize({ width: Math.max(160, element.clientWidth), height });
  });
  watch.observe(element);
  onTheme(draw);
  return {
    set(changed) {
      data = [changed.times, ...changed.series.map((one) => one.values)];
      if (changed.series.length !== described.length) {
        described = changed.series;
        draw();
      } else {
        plot.setData(data);
      }
    },
    destroy() {
      isOver = true;
      watch.disconnect();
      plot.destroy();
      plot = null;
    },
  };
}

// 24 hours, and days where they change.
function timeLabels(uPlot) {
  const day = uPlot.fmtDate("{MM}-{DD}"), clock = uPlot.fmtDate("{HH}:{mm}"), exact = uPlot.fmtDate("{HH}:{mm}:{ss}");
  return (_, ticks) => {
    const span = ticks.length > 1 ? ticks[1] - ticks[0] : 60;
    return ticks.map((tick) => {
      const at = new Date(tick * 1000);
      if (span >= 86400 || (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0)) return day(at);
      return span >= 60 ? clock(at) : exact(at);
    });
  };
}
