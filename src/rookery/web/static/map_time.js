// The time slider: the mesh as the lake remembers it, next to the mesh as it is.

import { Graph } from "/static/map_graph.js";
import { local, utc } from "/static/map_figures.js";

const SETTLED_MS = 150; // how long the slider must rest before the past is fetched
const FRAME_MS = 500;
const FRAMES = 240; // of a whole play

export class Timeline {
  /** `show(graph, at)`: the past at that time; `showLive()`: the present again. */
  constructor(root, { say, show, showLive }) {
    const find = (name) => root.querySelector(`[data-time="${name}"]`);
    this._root = root;
    this._live = find("live");
    this._slider = find("slider");
    this._play = find("play");
    this._earlier = find("earlier");
    this._later = find("later");
    this._exact = find("exact");
    this._now = find("now");
    this._note = find("note");
    Object.assign(this, { _say: say, _show: show, _showLive: showLive, _span: null, _timer: null });
    this._requests = 0;
    this._isPlaying = false;
    this._listen();
  }

  /** Ask how far back the lake goes; without one there is only the present. */
  async open() {
    if (!this._say.hasLake) return this._without(this._say.noLake);
    const answer = await fetch("/api/v1/history/span");
    if (!answer.ok) return this._without(await problemOf(answer));
    const span = await answer.json();
    if (span.from === null || span.to === null) return this._without(this._say.noHistory);
    this._span = span;
    Object.assign(this._slider, { min: span.from, max: span.to, step: span.step_s, value: span.to });
    for (const each of [this._slider, this._play, this._earlier, this._later, this._exact]) each.disabled = false;
    this._note.textContent = "";
    this._tell();
    return true;
  }

  get at() {
    return this._live.getAttribute("aria-checked") === "true" ? null : Number(this._slider.value);
  }

  get isOpen() {
    return this._span !== null;
  }

  /** Go to a time, as if the slider had been moved there. */
  go(at) {
    if (!this._span) return;
    this._slider.value = at;
    this._leaveLive();
    this._tell();
    this._load();
  }

  live() {
    this._stop();
    this._requests += 1;
    clearTimeout(this._timer);
    this._live.setAttribute("aria-checked", "true");
    if (this._span) this._slider.value = this._span.to;
    this._tell();
    this._showLive();
  }

  _without(text) {
    this._note.textContent = text;
    return false;
  }

  _listen() {
    this._live.addEventListener("click", () => (this.at === null ? this.go(this._span?.to) : this.live()));
    this._slider.addEventListener("input", () => {
      this._stop();
      this._leaveLive();
      this._tell();
      clearTimeout(this._timer);
      this._timer = setTimeout(() => this._load(), SETTLED_MS);
    });
    this._earlier.addEventListener("click", () => this._step(-1));
    this._later.addEventListener("click", () => this._step(1));
    this._play.addEventListener("click", () => (this._isPlaying ? this._stop() : this._run()));
    this._exact.addEventListener("change", () => {
      const at = Date.parse(`${this._exact.value}Z`) / 1000;
      if (Number.isFinite(at)) this.go(at);
    });
  }

  _step(sign) {
    this._stop();
    this.go(Number(this._slider.value) + sign * this._span.step_s);
  }

  async _run() {
    const { from, to, step_s } = this._span;
    const frame_s = Math.max(step_s, (to - from) / FRAMES);
    if (this.at === null || this.at >= to - step_s) this._slider.value = from;
    this._isPlaying = true;
    this._play.setAttribute("aria-pressed", "true");
    this._leaveLive();
    while (this._isPlaying) {
      const next = Number(this._slider.value) + frame_s;
      if (next > to) break;
      this._slider.value = next;
      this._tell();
      await Promise.all([this._load(), new Promise((resolve) => setTimeout(resolve, FRAME_MS))]);
    }
    this._stop();
  }

  _stop() {
    this._isPlaying = false;
    this._play.setAttribute("aria-pressed", "false");
  }

  _leaveLive() {
    this._live.setAttribute("aria-checked", "false");
  }

  _tell() {
    const at = this.at;
    if (!this._span) return;
    this._root.classList.toggle("is-past", at !== null);
    this._slider.setAttribute("aria-valuetext", at === null ? this._say.live : utc(at));
    this._now.textContent = at === null ? `${this._say.since} ${utc(this._span.from)}` : `${utc(at)} · ${local(at)}`;
    if (at !== null) this._exact.value = new Date(at * 1000).toISOString().slice(0, 16);
  }

  async _load() {
    const number = ++this._requests;
    const at = this.at;
    if (at === null) return;
    const when = new Date(at * 1000).toISOString();
    const answer = await fetch(`/api/v1/history/graph?at=${encodeURIComponent(when)}`);
    if (number !== this._requests) return; // the slider moved on meanwhile
    if (answer.ok) this._show(Graph.of(await answer.json()), at);
    this._note.textContent = answer.ok ? "" : await problemOf(answer);
  }
}

/** What went wrong, in the words of the answer. */
export async function problemOf(answer) {
  try {
    const problem = await answer.json();
    return problem.detail ?? problem.title ?? String(answer.status);
  } catch {
    return String(answer.status);
  }
}
