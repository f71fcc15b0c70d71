"""Why a server ended that nobody stopped: told once, and on the project's card until the next start or until dismissed.

On a whole site, with real containers.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.crash.person import Person
from tests.crash.site import CrashSite
from tests.hub.console.documented import check_answer
from tests.hub.console.running import wait_until


@pytest.fixture
def ana(answering: CrashSite) -> Iterator[Person]:
    person = Person.at(answering, "ana")
    yield person
    person.ask("POST", "projects/wheat/stop")
    wait_until(lambda: server(person)["state"] == "stopped", "the server is stopped")
    person.ask("POST", "projects/wheat/dismiss")


def server(person: Person) -> dict[str, Any]:
    reply = person.ask("GET", "projects/wheat/server")
    if reply.status_code == 503:
        return {"state": "unknown"}
    assert reply.status_code == 200, reply.text
    check_answer("GET", "projects/wheat/server", reply)
    return reply.json()


def notices(person: Person) -> list[str]:
    return [notice["text"] for notice in person.ask("GET", "notices").json()["notices"]]


def card(person: Person, language: str = "en") -> str:
    person.browser.headers["Accept-Language"] = language
    return person.browser.get("/services/bancada/").text.split('id="project-wheat"', 1)[1].split("</section>", 1)[0]


def start(person: Person) -> None:
    def asked() -> bool:
        return person.ask("POST", "projects/wheat/start").status_code == 202

    wait_until(asked, "a start is accepted")
    wait_until(lambda: server(person)["state"] == "running", "the server runs")


def test_out_of_memory_is_told_and_stands_on_the_card(answering: CrashSite, ana: Person) -> None:
    start(ana)
    told = len(notices(ana))
    assert server(ana)["ended"] is None
    with pytest.raises(requests.RequestException):
        requests.get(f"{answering.url}/user/ana/wheat/fill", timeout=20).raise_for_status()
    wait_until(lambda: server(ana)["state"] == "stopped", "the end is noticed")
    wait_until(lambda: server(ana)["ended"], "the card says why")
    ended = server(ana)["ended"]
    assert ended["cause"] == "memory"
    assert ended["message"].startswith("Stopped at ")
    assert ended["message"].endswith(" UTC: it used all of its 0.2 GiB of memory.")
    assert ended["fix"].startswith("Start it again with a larger size, or let it hold less at once.")
    listed = {item["slug"]: item["server"]["ended"] for item in ana.ask("GET", "projects").json()["projects"]}
    assert listed["wheat"] == ended
    assert notices(ana)[-1].startswith("Your server of Wheat used all of its 0.2 GiB of memory and was ended.")
    assert len(notices(ana)) == told + 1, "once"
    assert "it used all of its 0.2 GiB of memory." in card(ana)
    assert "usou todos os seus 0,2 GiB de memória." in card(ana, "pt-BR")
    assert ana.ask("POST", "projects/wheat/dismiss").json() == {"seen": 1}
    assert server(ana)["ended"] is None
    assert "it used all" not in card(ana)


def test_a_container_removed_behind_our_back_stands_on_the_card_until_the_next_start(
    answering: CrashSite, ana: Person
) -> None:
    start(ana)
    (container,) = answering.containers(running=True).values()
    answering.client.api.remove_container(container, force=True)
    wait_until(lambda: server(ana).get("ended"), "the card says why")
    assert server(ana)["ended"]["message"].endswith("its container was removed on this machine.")
    assert "its container was removed on this machine." in card(ana)
    assert notices(ana)[-1].startswith("Your server of Wheat is gone: its container was removed.")
    start(ana)
    assert server(ana)["ended"] is None
    assert ana.ask("POST", "projects/wheat/stop").status_code == 202
    wait_until(lambda: server(ana)["state"] == "stopped", "the server is stopped")
    assert server(ana)["ended"] is None, "who stops it knows"
