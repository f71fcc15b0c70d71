// On the page of API tokens: ask the hub for a token, show it once, revoke one.

const page = document.getElementById("tokens");
const failed = document.getElementById("token-failed");

async function call(method, path, body) {
  failed.hidden = true;
  const reply = await fetch(`/hub/api/users/${page.dataset.person}/tokens${path}`, {
    method,
    headers: { "X-XSRFToken": page.dataset.xsrf, "Content-Type": "application/json" },
    body: body ? JSON.stringify(body) : undefined,
  }).catch(() => null);
  if (reply && reply.ok) {
    return reply.status === 204 ? {} : reply.json();
  }
  failed.hidden = false;
  return null;
}

document.getElementById("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const note = document.getElementById("token-note").value;
  const seconds = Number(document.getElementById("token-seconds").value);
  const made = await call("POST", "", { note, expires_in: seconds });
  if (made) {
    document.getElementById("token-value").textContent = made.token;
    document.getElementById("token-made").hidden = false;
    document.getElementById("token-made").focus();
  }
});

for (const button of document.querySelectorAll("button[data-token]")) {
  button.addEventListener("click", async () => {
    if (await call("DELETE", `/${button.dataset.token}`)) {
      button.closest("tr").remove();
    }
  });
}
