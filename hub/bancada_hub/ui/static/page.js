// On every page: the language and appearance switches, and menus that close.

const YEAR_S = 31536000;

function keep(pair) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  const age = pair.endsWith("=") ? 0 : YEAR_S;
  document.cookie = `${pair}; path=/; max-age=${age}; samesite=lax${secure}`;
}

function show(name, value) {
  if (value) {
    document.documentElement.dataset[name] = value;
  } else {
    delete document.documentElement.dataset[name];
  }
}

// On the console's pages of somebody signed in, a choice is kept in their profile too, so that it follows them.
async function keepInProfile(choice) {
  const token = document.documentElement.dataset.keep;
  if (token) {
    await fetch("/services/bancada/api/profile", {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json", "X-XSRFToken": token },
      body: JSON.stringify(choice),
    }).catch(() => null);
  }
}

for (const button of document.querySelectorAll("button[data-cookie]")) {
  button.addEventListener("click", async () => {
    keep(button.dataset.cookie);
    const [name, value] = button.dataset.cookie.replace("bancada-", "").split("=");
    const kept = keepInProfile({ [name]: value.replace("_", "-") });
    if ("reload" in button.dataset) {
      await kept;
      location.reload();
      return;
    }
    show(button.dataset.look, button.dataset.cookie.split("=")[1]);
    for (const other of button.parentElement.querySelectorAll("button")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  });
}

for (const box of document.querySelectorAll("input[data-look=contrast]")) {
  box.addEventListener("change", () => {
    keep(`bancada-contrast=${box.checked ? "more" : ""}`);
    show("contrast", box.checked ? "more" : "");
  });
}

// Notices are dismissed in place; the keyboard goes on at the next one.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-dismiss]");
  if (!form) {
    return;
  }
  event.preventDefault();
  const reply = await fetch(form.action, {
    method: "POST",
    headers: { Accept: "application/json" },
    body: new URLSearchParams(new FormData(form)),
  }).catch(() => null);
  if (!reply || (!reply.ok && reply.status !== 404)) {
    location.reload();
    return;
  }
  const notices = document.getElementById("notices");
  const own = form.closest("[data-notice]");
  const next = own?.nextElementSibling ?? own?.previousElementSibling;
  if (next) {
    own.remove();
    next.querySelector("form[data-dismiss] button").focus();
  } else {
    notices.replaceChildren();
    document.getElementById("main").focus();
  }
});

// Who goes where a notice leads has seen it.
document.addEventListener("click", (event) => {
  const form = event.target.closest?.("a[data-way]")?.parentElement.querySelector("form[data-dismiss]");
  if (form) {
    fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(new FormData(form)),
      keepalive: true,
    }).catch(() => null);
  }
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) {
      menu.open = false;
    }
  }
});

document.addEventListener("keydown", (event) => {
  const menu = document.querySelector("details.menu[open]");
  if (event.key === "Escape" && menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
