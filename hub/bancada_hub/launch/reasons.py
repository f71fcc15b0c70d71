"""The fixed words for why a server did not start: for metrics, tests and the hub's records."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a start was refused, or failed."""

    BAD_OPTIONS = "bad-options"
    UNKNOWN_PERSON = "unknown-person"
    DISABLED = "disabled"
    PASSWORD_TO_CHANGE = "password-to-change"  # noqa: S105 - a reason
    UNNAMED_SERVER = "unnamed-server"
    UNKNOWN_PROJECT = "unknown-project"
    NOT_A_MEMBER = "not-a-member"
    ARCHIVED = "archived"
    NO_IMAGE_YET = "no-image-yet"
    IMAGE_MISSING = "image-missing"
    IMAGE_TAMPERED = "image-tampered-with"
    ENVIRONMENT_MISSING = "environment-missing"
    NO_ROOM = "no-room"
    PROJECT_CEILING = "project-ceiling"
    LAB_CEILING = "lab-ceiling"
    NO_WALLS = "no-walls"
    NO_ADDRESS = "no-address"
    EGRESS = "egress"
    GPU_GONE = "gpu-gone"
    NAME_TAKEN = "name-taken"
    OVERLAY_HELD = "overlay-held"
    OVERLAY_BROKEN = "overlay-broken"
    FOLDERS = "folders"
    ENGINE = "engine"
    DATABASE = "database"
    ENDED = "ended"
