// Buttons that connect: they lead to the console tab, where it then begins by itself.
//
// What was pressed is kept for the next page only, and only by our own pages: an address that
// somebody sends begins nothing.

const KEY = "rookery.connect";

/** Whether the page before this one asked to connect to this device; true once. */
export function isWanted(mac) {
  const wanted = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return wanted === mac;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-connect]");
  if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const mac = button.dataset.connect;
  const target = `/devices/${mac}/console`;
  if (decodeURIComponent(location.pathname) === target) return; // there, the console sees to it
  event.preventDefault();
  sessionStorage.setItem(KEY, mac);
  location.assign(target);
});
