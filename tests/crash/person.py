"""Somebody with an open page, which outlives every crash."""

from dataclasses import dataclass

import requests

from tests.crash.site import CrashSite
from tests.hub.console.running import PASSWORD, Browser, hidden


@dataclass
class Person:
    """Somebody who signed in."""

    name: str
    browser: Browser
    token: str = ""

    @classmethod
    def at(cls, site: CrashSite, name: str) -> "Person":
        """Sign somebody in."""
        browser = Browser(site)  # type: ignore[arg-type] # it needs no more of a site than its url
        reply = browser.sign_in(name, PASSWORD)
        assert reply.status_code == 200, reply.text[:300]
        return cls(name, browser, hidden(browser.get("/services/bancada/").text, "data-xsrf"))

    def ask(self, method: str, path: str) -> requests.Response:
        """Call the REST."""
        headers = {"Accept": "application/json", "X-XSRFToken": self.token, "Sec-Fetch-Mode": "cors"}
        options = {"json": {}} if method == "POST" else {}
        return self.browser.request(method, f"/services/bancada/api/{path}", headers=headers, timeout=15, **options)
