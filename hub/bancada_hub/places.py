"""Where everything of a site lies on disk: pure path arithmetic below one data directory."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The paths of a site.

    Args:
        data: The site's data directory, absolute.
    """

    data: Path

    @property
    def settings_file(self) -> Path:
        """bancada.toml, which describes the site."""
        return self.data / "bancada.toml"

    @property
    def site(self) -> Path:
        """Databases, secrets, logs: what only root (or the site's owner) reads."""
        return self.data / "site"

    @property
    def database_file(self) -> Path:
        """Bancada's own SQLite database."""
        return self.site / "bancada.sqlite"

    @property
    def hub_database_file(self) -> Path:
        """JupyterHub's SQLite database; it expects to be alone in it."""
        return self.site / "hub.sqlite"

    @property
    def secrets(self) -> Path:
        """The secret store: one file a secret, mode 0600."""
        return self.site / "secrets"

    @property
    def logs(self) -> Path:
        """One log a program."""
        return self.site / "logs"

    @property
    def run(self) -> Path:
        """Sockets and pid files of the site's own programs."""
        return self.site / "run"

    @property
    def backups(self) -> Path:
        """Copies of the databases made before a migration."""
        return self.site / "backups"

    @property
    def identities(self) -> Path:
        """Generated passwd and group files, bound read-only into servers."""
        return self.site / "identities"

    @property
    def fs(self) -> Path:
        """The file system that carries quotas."""
        return self.data / "fs"

    @property
    def datasets(self) -> Path:
        """Read-only data sets, seen as /data in every server."""
        return self.data / "datasets"

    @property
    def examples(self) -> Path:
        """Example notebooks, seen as /examples in every server."""
        return self.data / "examples"

    @property
    def lowers(self) -> Path:
        """Read-only trees: work environments of revisions, and server environments."""
        return self.data / "lowers"

    @property
    def cache(self) -> Path:
        """What can be made again: downloads, scratch of builds."""
        return self.data / "cache"

    def home(self, uid: int) -> Path:
        """The home of a person."""
        return self.fs / "homes" / str(uid)

    def state(self, uid: int) -> Path:
        """Notebook trust, history and workspaces of a person: kept, and off every quota."""
        return self.data / "state" / str(uid)

    def project(self, project_id: int) -> Path:
        """All that is a project's."""
        return self.fs / "projects" / str(project_id)

    def project_files(self, project_id: int) -> Path:
        """The files that a project's members share."""
        return self.project(project_id) / "files"

    def overlay(self, project_id: int, uid: int, base: str) -> Path:
        """What one person changed in one base: holds `upper` and `work`."""
        return self.project(project_id) / "overlays" / str(uid) / base
