"""A real site for the console's tests: JupyterHub, its proxy and the console as processes on free ports."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import requests

from bancada_hub.host.proxy import ensure_proxy
from bancada_hub.installation import Facts, Installation, keep_facts, new_site_id, read_installation
from bancada_hub.people.accounts import NewAccount, add_account, disable_account
from bancada_hub.places import Places
from bancada_hub.projects.labs import add_lab_lead, create_lab
from bancada_hub.projects.projects import NewProject, add_member, create_project
from bancada_hub.roles import Actor
from bancada_hub.secrets import secret
from bancada_hub.site import load_site
from bancada_hub.store import catalog, steps
from bancada_hub.store.database import Store, migrate, open_store
from tests.hub.console.documented import check_answer

ROOT = Path(__file__).parents[3]
PASSWORD = "correct-horse-battery"
DIGEST = "sha256:" + "0123456789abcdef" * 4
DEADLINE_S = 60.0
WHY = "The disk of the site is full: 0.0 GiB are free."
"""Why a server of the project “broken” does not start."""


def wait_until(done: Callable[[], object], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Poll until a condition holds; fail with its name after the deadline."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if done():
            return
        time.sleep(0.1)
    raise AssertionError(f"not within {deadline_s:.0f} s: {what}")


@dataclass
class RunningSite:
    """A site with its programs.

    People: admin; ana in three projects of the lab light; bia who leads one of them, optics; leo who leads that lab;
    rui in secret, a project of the lab dark; off (disabled); iris, in nothing yet.
    """

    installation: Installation
    store: Store
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.installation.site.url.rstrip("/")

    def log(self, name: str) -> str:
        return (self.installation.places.logs / f"{name}.log").read_text(errors="replace")

    def start(self, name: str) -> None:
        site, places = self.installation.site, self.installation.places
        hub_url = f"http://127.0.0.1:{site.port + 3}"
        commands = {
            "proxy": [
                *ensure_proxy(dict(os.environ), lambda _text: None),
                *("--ip", "127.0.0.1", "--port", str(site.port)),
                *("--api-ip", "127.0.0.1", "--api-port", str(site.port + 1)),
                *("--default-target", hub_url, "--error-target", f"{hub_url}/hub/error"),
            ],
            "hub": [sys.executable, "-m", "jupyterhub", "-f", str(Path(__file__).with_name("hub_config.py"))],
            "console": [sys.executable, "-m", "bancada_hub.console"],
        }
        inherited = filter(None, [os.environ.get("PYTHONPATH")])
        environment = os.environ | {
            "BANCADA_DATA": str(places.data),
            "BANCADA_TEST_FAILURE": WHY,
            "JUPYTERHUB_API_URL": f"{hub_url}/hub/api",
            "CONFIGPROXY_AUTH_TOKEN": secret(places.secrets, "proxy-token"),
            "PYTHONPATH": os.pathsep.join(
                [*(str(ROOT / part) for part in ("hub", "images", "extensions")), *inherited]
            ),
        }
        with (places.logs / f"{name}.log").open("ab") as log:
            self.programs[name] = subprocess.Popen(
                commands[name], env=environment, cwd=places.site, stdout=log, stderr=log, start_new_session=True
            )
        path = {"proxy": "/", "hub": "/hub/health", "console": "/services/bancada/api/preparation"}[name]
        wait_until(lambda: self._answers(name, path), f"{name} answers; its log:\n{self.log(name)[-3000:]}")

    def _answers(self, name: str, path: str) -> bool:
        if self.programs[name].poll() is not None:
            raise AssertionError(f"{name} ended:\n{self.log(name)[-3000:]}")
        try:
            reply = requests.get(self.url + path, timeout=5, allow_redirects=False)
        except requests.ConnectionError:
            return False
        return name == "proxy" or reply.status_code == 200

    def end(self, name: str, number: int = signal.SIGTERM) -> None:
        program = self.programs.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, number)
        program.wait(timeout=20)

    def end_all(self) -> None:
        for name in reversed(list(self.programs)):
            self.end(name, signal.SIGTERM if name != "hub" else signal.SIGKILL)


def make_site(data: Path, port: int) -> RunningSite:
    """Make the data directory of a small site that is ready to be used."""
    places = Places(data)
    for folder in (places.site, places.logs, places.run):
        folder.mkdir(parents=True)
    places.settings_file.write_text(f'name = "Grupo de Ótica"\nengine = "process"\nport = {port}\n')
    migrate(load_site(places), places)
    keep_facts(places, Facts(site_id=new_site_id()))
    installation = read_installation(data)
    store = open_store(installation.site, places)
    fill(store, installation)
    return RunningSite(installation, store)


def fill(store: Store, installation: Installation) -> None:
    """Add people, projects and a published image."""
    line, site = Actor.command_line(), installation.site
    create_lab(store, line, "light", "Light lab")
    create_lab(store, line, "dark", "Dark lab")
    for slug, title in (("optics", "Optics"), ("slow", "Slow light"), ("broken", "Broken mirror")):
        create_project(store, site, line, NewProject(slug, title, "light"))
    create_project(store, site, line, NewProject("secret", "Secret", "dark"))
    mine = ("optics", "slow", "broken")
    people_of = {"admin": (), "ana": mine, "rui": ("secret",), "off": (), "bia": (), "leo": (), "iris": ()}
    for name, slugs in people_of.items():
        account = NewAccount(name, name == "admin", PASSWORD, slugs, must_change=False)
        add_account(store, site, line, account)
    add_member(store, line, "optics", "bia", lead=True)
    add_lab_lead(store, line, "light", "leo")
    publish(store)


def publish(store: Store) -> None:
    """Publish a revision of the image that all projects start from."""
    new = catalog.NewRevision(
        digest=DIGEST,
        tag="bancada/minimal:test",
        lower="0123456789ab",
        server_environment="server-0123456789ab",
        spec_hash="1" * 64,
        lock_hash="2" * 64,
        python="3.11.2",
        size_bytes=745_000_000,
    )
    with store.write() as session:
        catalog.put_image(session, "minimal", "Minimal", "Python with ipykernel and widgets.")
        catalog.publish_revision(session, "minimal", new)


def set_steps(store: Store, *, running: str = "", failed: str = "", error: str = "") -> None:
    """Put the preparation into a state: the steps before the named one are done."""
    plan = [
        steps.NewStep("base", "Base system", 30),
        steps.NewStep("server", "Server environment", 45),
        steps.NewStep("minimal", "Building minimal", 60),
        steps.NewStep("publish", "Publishing minimal", 5),
    ]
    with store.write() as session:
        steps.plan_steps(session, plan)
        for step in plan:
            if step.key == running:
                steps.begin_step(session, step.key)
                break
            steps.begin_step(session, step.key)
            steps.end_step(session, step.key, error=error if step.key == failed else "")
            if step.key == failed:
                break


def clear_steps(store: Store) -> None:
    with store.write() as session:
        steps.plan_steps(session, [])


def disable(store: Store, name: str) -> None:
    """Switch an account off."""
    disable_account(store, Actor.command_line(), name)


class Browser(requests.Session):
    """A person with cookies, as a browser without scripts has them."""

    def __init__(self, site: RunningSite) -> None:
        super().__init__()
        self.site = site
        self.headers["Accept"] = "text/html"

    def request(self, method: str, url: str, *args: object, **kwargs: object) -> requests.Response:  # type: ignore[override]
        kwargs.setdefault("timeout", 30)
        return super().request(method, url if url.startswith("http") else self.site.url + url, *args, **kwargs)

    def sign_in(self, name: str, password: str = PASSWORD) -> requests.Response:
        page = self.get("/services/bancada/")
        form = {"username": name, "password": password, "_xsrf": hidden(page.text, "_xsrf")}
        target = page.text.split('action="', 1)[1].split('"', 1)[0].replace("&amp;", "&")
        return self.post(target, data=form)

    def api(self, method: str, path: str, **kwargs: object) -> requests.Response:
        """Call the REST as a page's script does, with the page's token in a header; the answer is as documented."""
        token = hidden(self.get("/services/bancada/").text, "data-xsrf")
        headers = {"Accept": "application/json", "X-XSRFToken": token, "Sec-Fetch-Mode": "cors"}
        reply = self.request(method, f"/services/bancada/api/{path}", headers=headers, **kwargs)
        check_answer(method, path, reply)
        return reply


def hidden(html: str, name: str) -> str:
    """Return the value of a page's hidden field or data attribute."""
    mark = f'name="{name}" value="' if f'name="{name}" value="' in html else f'{name}="'
    return html.split(mark, 1)[1].split('"', 1)[0]
