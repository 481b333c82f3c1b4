// The queue of a device: a request that waits may be taken back.

const mac = document.getElementById("device").dataset.mac;
const problem = document.getElementById("queue-problem");

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-cancel]");
  if (!button) return;
  button.disabled = true;
  const { cancel, node } = button.dataset;
  const url = node ? `/api/v1/mesh/queues/${node}/${cancel}` : `/api/v1/devices/${mac}/queue/${cancel}`;
  const answer = await fetch(url, { method: "DELETE" });
  if (answer.ok) {
    button.closest("tr").remove();
    return;
  }
  problem.textContent = (await answer.json()).detail;
  problem.hidden = false;
  button.disabled = false;
});
