"""What people wrote: words that servers put down in home, project and environment, and every file, looked at again.

A server answers once the disk has a word in all three places. What was answered must stay, whatever dies next.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import requests

from bancada_hub.store import people, projects
from tests.crash.site import BASE, PEOPLE, PROJECTS, CrashSite

Server = tuple[str, str]
"""A person's name and a project's slug."""


@dataclass(frozen=True)
class File:
    """A file as it stands; the same owner, group and mode are expected of it for ever, and nothing is taken from it."""

    content: bytes
    owner: tuple[int, int, int]


@dataclass
class Kept:
    """The words of all servers, and the files of everybody."""

    site: CrashSite
    words: dict[Server, list[str]] = field(default_factory=lambda: defaultdict(list))
    unanswered: set[str] = field(default_factory=set)
    files: dict[Path, File] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        with self.site.store.read() as session:
            self.uids = {person.name: person.uid for person in people.people(session)}
            self.projects = {project.slug: project.id for project in projects.all_projects(session)}

    def put(self, server: Server) -> None:
        """Have a server put down a word; it may die meanwhile."""
        name, slug = server
        self.count += 1
        word = f"w{self.count}"
        self.unanswered.add(word)
        with suppress(requests.RequestException):
            address = f"{self.site.url}/user/{name}/{slug}/keep?{name}-{slug}={word}"
            reply = requests.get(address, timeout=5, allow_redirects=False)
            assert reply.status_code != 500, f"{server} could not write"
            if reply.status_code == 200 and "memory" in reply.text:
                self.words[server].append(word)
                self.unanswered.discard(word)

    def check(self) -> None:
        """Find every word that was answered, and every file of the look before with all that was in it."""
        for server, words in self.words.items():
            for place in self.places(server):
                found = place.read_text().splitlines()
                assert [word for word in found if word not in self.unanswered] == words, f"{place} has {found[-5:]}"
        now = dict(self.look())
        for path, before in self.files.items():
            assert path in now, f"{path} is gone"
            assert now[path].owner == before.owner, f"{path} belongs to another, or has another mode"
            assert now[path].content.startswith(before.content), f"{path} lost something"
        self.files = now

    def places(self, server: Server) -> list[Path]:
        """Return where a server's words are on this machine."""
        name, slug = server
        places, file = self.site.installation.places, f"kept-{name}-{slug}"
        uid, project = self.uids[name], self.projects[slug]
        overlay = places.overlay(project, uid, BASE) / "upper"
        return [folder / file for folder in (places.home(uid), places.project_files(project), overlay)]

    def look(self) -> Iterator[tuple[Path, File]]:
        """Return every file of homes, projects and environments."""
        folders = {place.parent for name in PEOPLE for slug in PROJECTS for place in self.places((name, slug))}
        for folder in folders:
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    status = path.stat()
                    yield path, File(path.read_bytes(), (status.st_uid, status.st_gid, status.st_mode))
