// After a code was made: the page waits until the device is there.

import { follow } from "/static/live.js";

const waiting = document.getElementById("waiting");

if (waiting) {
  follow({
    devices: ({ changed }) => {
      const since = Number(waiting.dataset.since);
      const found = Object.values(changed).find((device) => device.claimed_at >= since);
      if (!found || waiting.classList.contains("here")) return;
      const link = document.createElement("a");
      link.href = `/devices/${found.mac}`;
      link.textContent = found.name;
      waiting.classList.add("here");
      waiting.replaceChildren(document.createTextNode(`${waiting.dataset.here} `), link);
    },
  });
}
