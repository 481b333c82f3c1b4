// Colours of the theme as scripts need them: resolved, and again when the theme changes.

const probe = document.createElement("span");
probe.hidden = true;

/** The value of a token, such as `--accent`, as `rgb(…)`. */
export function colour(token) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

/** Call `changed` whenever light becomes dark or the other way round. */
export function onTheme(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
