// On Work: buttons act in place, and the parts that change are asked for again: each second while something starts or
// stops, else now and then, and not at all while nobody looks.

const live = document.getElementById("live");
const lost = document.getElementById("lost");
const shown = new Map();
let timer = 0;
let asking = false;

// As the browser writes it, without the page's token, which is another in each answer.
function bare(html) {
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  for (const token of parsed.content.querySelectorAll("input[name=_xsrf]")) {
    token.removeAttribute("value");
  }
  return parsed.innerHTML.trim();
}

// What a person opened, wrote, chose or stands on survives the swap, and nothing is touched that stays as it is.
function swap(id, html) {
  const element = document.getElementById(id);
  const wanted = bare(html);
  if (!element || shown.get(id) === wanted) {
    return;
  }
  const chosen = new Map(
    [...element.querySelectorAll("select[data-chosen]")].map((choice) => [choice.id, choice.value]),
  );
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const hadFocus = focused ? focused.id || "?" : "";
  const open = new Map([...element.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
  const answer = element.querySelector("[data-answer]:not([hidden])");
  element.innerHTML = html;
  shown.set(id, wanted);
  for (const choice of element.querySelectorAll("select")) {
    const same = [...choice.options].find((option) => option.value === chosen.get(choice.id));
    if (same && !same.disabled) {
      same.selected = true;
      choice.dataset.chosen = "";
    }
  }
  for (const fold of element.querySelectorAll("details[id]")) {
    fold.open = open.get(fold.id) ?? fold.open;
  }
  const place = element.querySelector("[data-answer]");
  if (answer && place) {
    place.replaceWith(answer);
  }
  if (hadFocus) {
    const same = document.getElementById(hadFocus);
    (same ?? element.querySelector(".buttons .button") ?? element).focus();
  }
}

// Notices come and go one by one, so that a screen reader says each once.
function swapNotices(html) {
  const place = document.getElementById("notices");
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const number = (notice) => notice.dataset.notice;
  const wanted = [...fresh.content.querySelectorAll("[data-notice]")];
  const there = [...place.querySelectorAll("[data-notice]")];
  if (wanted.map(number).join() === there.map(number).join()) {
    return;
  }
  if (!wanted.length || !there.length) {
    place.replaceChildren(fresh.content);
    return;
  }
  const list = there[0].parentElement;
  for (const notice of there.filter((one) => !wanted.some((other) => number(other) === number(one)))) {
    notice.remove();
  }
  for (const notice of wanted.filter((one) => !there.some((other) => number(other) === number(one)))) {
    list.append(notice);
  }
  place.querySelector("section > form")?.remove();
  list.after(...fresh.content.querySelectorAll("section > form"));
}

function plan(seconds) {
  clearTimeout(timer);
  if (!document.hidden) {
    timer = setTimeout(refresh, seconds * 1000);
  }
}

async function refresh() {
  if (asking) {
    return;
  }
  asking = true;
  clearTimeout(timer);
  let next = 5;
  try {
    const reply = await fetch(live.dataset.live, { headers: { "X-XSRFToken": live.dataset.xsrf } });
    if (reply.status === 401 || reply.status === 403) {
      location.reload();
      return;
    }
    if (reply.ok) {
      const found = await reply.json();
      const cards = Object.keys(found.parts).filter((id) => id.startsWith("project-"));
      swapNotices(found.notices);
      if (cards.length !== document.querySelectorAll(".cards > .card").length) {
        location.reload();
        return;
      }
      for (const [id, html] of Object.entries(found.parts)) {
        swap(id, html);
      }
      next = found.next_s;
    }
    lost.hidden = reply.ok;
  } catch {
    lost.hidden = false;
  } finally {
    asking = false;
  }
  lost.textContent = lost.hidden ? "" : live.dataset.lost;
  plan(next);
}

function tell(card, found) {
  const answer = card.querySelector("[data-answer]");
  answer.querySelector("[data-message]").textContent = found.message ?? live.dataset.lost;
  answer.querySelector("[data-fix]").textContent = found.fix ?? "";
  answer.hidden = false;
}

async function act(form) {
  const card = form.closest(".card");
  const button = form.querySelector("button");
  card.querySelector("[data-answer]").hidden = true;
  button.setAttribute("aria-busy", "true");
  const reply = await fetch(form.action, {
    method: "POST",
    headers: { Accept: "application/json", "X-XSRFToken": live.dataset.xsrf },
    body: new URLSearchParams(new FormData(form)),
  }).catch(() => null);
  button.removeAttribute("aria-busy");
  if (!reply || !reply.ok) {
    tell(card, reply ? await reply.json().catch(() => ({})) : {});
  } else if (form.closest("details")) {
    form.closest("details").open = false;
  }
  await refresh();
}

live.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-act]");
  if (form) {
    event.preventDefault();
    if (form.querySelector("button").getAttribute("aria-busy") !== "true") {
      act(form);
    }
  }
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
  } else {
    refresh();
  }
});

live.addEventListener("change", (event) => {
  if (event.target.matches("select")) {
    event.target.dataset.chosen = "";
  }
});

for (const part of live.querySelectorAll(".cards > .card, #preparation, #silence")) {
  shown.set(part.id, bare(part.innerHTML));
}
plan(Number(live.dataset.nextS));
