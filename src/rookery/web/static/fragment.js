// A part of a page that the server renders anew when something in it changed.

const PAUSE_MS = 1000;

/** Answers a function that fetches `url` into `element`, once at a time and once a second at most. */
export function fragment(element, url, done = () => {}) {
  let isBusy = false, isWanted = false;

  async function load() {
    const answer = await fetch(url, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const text = await answer.text();
    // Nothing is awaited from here on: whoever moves meanwhile would be thrown out.
    const held = element.contains(document.activeElement) ? keyOf(document.activeElement) : null;
    element.innerHTML = text;
    if (held) [...element.querySelectorAll("a, button, select, input, [tabindex]")].find((each) => keyOf(each) === held)?.focus();
    done();
  }

  return async function refresh() {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    while (isWanted) {
      isWanted = false;
      try {
        await load();
      } catch {
        // The stream tells when the hub is back, and then this is called again.
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    isBusy = false;
  };
}

// What makes an element the same one after it was rendered again.
function keyOf(element) {
  return [element.tagName, element.getAttribute("href"), element.getAttribute("name"), element.getAttribute("value"), element.id].join(" ");
}
