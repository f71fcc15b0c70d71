// Forms that act in place: what came of one is said at the top, and the page below is asked for again; a refusal is
// said beside its form, with what was typed still there.

const said = document.getElementById("said");
const refusal = document.getElementById("refusal");

function tell(form, found) {
  form.parentElement.querySelector(":scope > [data-answer]")?.remove();
  const note = refusal.content.firstElementChild.cloneNode(true);
  note.querySelector("[data-message]").textContent = found.message ?? said.dataset.lost;
  note.querySelector("[data-fix]").textContent = found.fix ?? "";
  form.insertAdjacentElement("afterend", note);
}

async function renew() {
  const token = document.documentElement.dataset.keep;
  const reply = await fetch(location.href, { headers: { Accept: "text/html", "X-XSRFToken": token } });
  if (!reply.ok || reply.redirected) {
    location.reload();
    return;
  }
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("page");
  const page = document.getElementById("page");
  const open = new Map([...page.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
  for (const fold of fresh.querySelectorAll("details[id]")) {
    fold.open = open.get(fold.id) ?? fold.open;
  }
  page.replaceChildren(...fresh.childNodes);
}

async function act(form, button) {
  const typed = new FormData(form);
  if (button.name) {
    typed.append(button.name, button.value);
  }
  button.setAttribute("aria-busy", "true");
  said.hidden = true;
  const reply = await fetch(form.action, {
    method: "POST",
    headers: { Accept: "application/json" },
    body: new URLSearchParams(typed),
  }).catch(() => null);
  button.removeAttribute("aria-busy");
  const found = reply ? await reply.json().catch(() => ({})) : {};
  if (!reply || !reply.ok) {
    tell(form, found);
    return;
  }
  form.parentElement.querySelector(":scope > [data-answer]")?.remove();
  const outcome = "outcome" in button.dataset ? form.querySelector("output") : null;
  if (outcome) {
    outcome.textContent = found.message ?? "";
    return;
  }
  const fold = form.closest("details[id]");
  if (fold) {
    fold.open = false;
  }
  await renew().catch(() => location.reload());
  said.querySelector("[data-message]").textContent = found.message ?? "";
  said.querySelector("[data-password]").textContent = found.password ?? "";
  said.querySelector("[data-secret]").hidden = !found.password;
  said.hidden = false;
  said.focus();
  said.scrollIntoView({ block: "nearest" });
  if ("reload" in form.dataset) {
    location.reload();
  }
}

document.getElementById("main").addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-act]");
  if (form) {
    event.preventDefault();
    const button = event.submitter ?? form.querySelector("button");
    if (button.getAttribute("aria-busy") !== "true") {
      act(form, button);
    }
  }
});
