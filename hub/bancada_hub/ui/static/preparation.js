// On the sign-in page: how far the site's preparation is. It says nothing while the console cannot be asked.

const card = document.getElementById("preparation");
const WORKING_MS = 2000;
const AWAY_MS = 5000;

async function ask() {
  let wait = AWAY_MS;
  try {
    const reply = await fetch("/services/bancada/api/preparation", { cache: "no-store" });
    if (reply.ok) {
      const found = await reply.json();
      if (found.state === "ready") {
        card.hidden = true;
        return;
      }
      card.hidden = false;
      card.querySelector("[data-text]").textContent = found.text;
      card.querySelector("progress").value = found.done_ratio;
      card.querySelector("progress").hidden = found.state !== "working";
      wait = WORKING_MS;
    }
  } catch {
    card.hidden = true;
  }
  setTimeout(ask, wait);
}

if (card) {
  ask();
}
