"""Images and their revisions."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from bancada_hub.store.models import ImageRow, RevisionRow

SHORT = 12
BUILT, PUBLISHED, RETIRED = "built", "published", "retired"


@dataclass(frozen=True)
class NewRevision:
    """What a build made of an image.

    Args:
        digest: The config digest (image id), `sha256:…`; with the process engine the environment's key.
        tag: The immutable local tag, compared with the digest before every use; empty with the process engine.
        lower: Name of the read-only tree of the work environment below `<data>/lowers`.
        server_environment: Name of the server environment's tree below `<data>/lowers`.
        spec_hash: sha256 of the spec, in hex.
        lock_hash: sha256 of the lock, in hex.
        python: Version of the work environment's interpreter.
        size_bytes: Size of the image, unpacked.
    """

    digest: str
    tag: str
    lower: str
    server_environment: str
    spec_hash: str
    lock_hash: str
    python: str
    size_bytes: int


@dataclass(frozen=True)
class Revision:
    """A built image that can be started once it is published."""

    id: int
    image_key: str
    image_title: str
    built: NewRevision
    state: str
    created_at: datetime

    @property
    def short(self) -> str:
        """The first digits of its name, as people are shown it."""
        return self.built.digest.removeprefix("sha256:").removeprefix("process-")[:SHORT]


def put_image(session: Session, key: str, title: str, purpose: str) -> None:
    """Add an image to the catalogue, or correct its words."""
    session.merge(ImageRow(key=key, title=title, purpose=purpose))
    session.flush()


def publish_revision(session: Session, image_key: str, new: NewRevision) -> Revision:
    """Record what was built and make it the revision that servers start from; earlier ones retire."""
    current = select(RevisionRow).where(RevisionRow.image_key == image_key, RevisionRow.state == PUBLISHED)
    for row in session.scalars(current):
        row.state = RETIRED
    same = select(RevisionRow).where(RevisionRow.image_key == image_key, RevisionRow.digest == new.digest)
    found = session.scalar(same)
    row = found or RevisionRow(image_key=image_key, created_at=datetime.now(UTC))
    for name in NewRevision.__dataclass_fields__:
        setattr(row, name, getattr(new, name))
    row.state = PUBLISHED
    session.add(row)
    session.flush()
    return _revision(row, session)


def published_revision(session: Session, image_key: str) -> Revision | None:
    """Return the revision of an image that servers start from, if there is one."""
    query = select(RevisionRow).where(RevisionRow.image_key == image_key, RevisionRow.state == PUBLISHED)
    row = session.scalar(query)
    return _revision(row, session) if row else None


def published_revisions(session: Session) -> list[Revision]:
    """Return what can be started, by image."""
    query = select(RevisionRow).where(RevisionRow.state == PUBLISHED).order_by(RevisionRow.image_key)
    return [_revision(row, session) for row in session.scalars(query)]


def _revision(row: RevisionRow, session: Session) -> Revision:
    built = NewRevision(**{name: getattr(row, name) for name in NewRevision.__dataclass_fields__})
    title = session.get_one(ImageRow, row.image_key).title
    return Revision(row.id, row.image_key, title, built, row.state, row.created_at)
