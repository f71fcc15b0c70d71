"""The project that a person chose to look at on the common tabs: `?project=slug` in an address that can be shared."""

from dataclasses import dataclass
from urllib.parse import urlencode

from bancada_hub.console.projects import Records, own_project
from bancada_hub.store.projects import Project
from bancada_hub.ui.language import Words


@dataclass(frozen=True)
class Choice:
    """What can be chosen, and what is.

    Args:
        projects: All projects of the person.
        chosen: The one that the page shows; None shows all.
    """

    projects: tuple[Project, ...]
    chosen: Project | None = None

    @property
    def shown(self) -> tuple[Project, ...]:
        """The projects that the page shows."""
        return (self.chosen,) if self.chosen else self.projects

    @property
    def query(self) -> str:
        """What the links to the other tabs end in, so that they show the same project."""
        return query_of(self.chosen.slug if self.chosen else "")

    def name(self, words: Words) -> str:
        """Return what the chosen project is called; empty when none is."""
        if self.chosen is None:
            return ""
        return words.gettext("Personal") if self.chosen.personal else self.chosen.title


def choose(records: Records, slug: str) -> Choice:
    """Return what the address of a page chooses.

    Args:
        records: The person's.
        slug: The project in the address; empty for all.

    Raises:
        NotThereError: It is none of the person's projects, whether it exists or not.
    """
    return Choice(records.projects, own_project(records, slug) if slug else None)


def query_of(slug: str) -> str:
    """Return the end of an address that chooses a project; empty for all."""
    return f"?{urlencode({'project': slug})}" if slug else ""
