"""What a person may choose when they start a server: checked here, whatever way it came in.

The form, the REST API and the defaults that JupyterHub kept from an earlier start all end in `parse_choices`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from bancada.contract import LANGUAGES
from bancada_hub.errors import LaunchRefused, Told, told
from bancada_hub.launch.reasons import Reason
from bancada_hub.launch.sizes import SIZES, Size

Kind: TypeAlias = Literal["work", "rescue"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WITHOUT_GPU: Literal["no"] = "no"


@dataclass(frozen=True)
class Choices:
    """What a person chose.

    Args:
        kind: `work`, or `rescue` for a server that starts without the person's own changes to the environment.
        language: Of the page that it was started from; empty when it was started from none.
        size: Of the server; empty for the size of the start before.
        gpu: `no` starts without the cards that wait for this person here; empty takes them.
    """

    kind: Kind = "work"
    language: str = ""
    size: Size | Literal[""] = ""
    gpu: Literal["", "no"] = ""


def parse_choices(raw: object) -> Choices:
    """Check the options of a start; no options at all are the defaults.

    Args:
        raw: What came in: untrusted, of any type.

    Raises:
        LaunchRefused: It is not a table of known keys with values of the right type.
    """
    if not isinstance(raw, Mapping):
        raise _refusal(told("The options must be a table of names and values, not %(kind)s.", kind=_type(raw)))
    unknown = [key for key in raw if key not in {"kind", "language", "size", "gpu"}]
    if unknown:
        names = ", ".join(sorted(_quoted(key) for key in unknown))
        raise _refusal(told("There is no option %(names)s.", names=names))
    kind = raw.get("kind", "work")
    if type(kind) is not str or kind not in KINDS:
        raise _wrong("kind", kind, KINDS)
    language = raw.get("language", "")
    if type(language) is not str or language not in ("", *LANGUAGES):
        raise _wrong("language", language, LANGUAGES)
    gpu = raw.get("gpu", "")
    if type(gpu) is not str or gpu not in ("", WITHOUT_GPU):
        raise _wrong("gpu", gpu, (WITHOUT_GPU,))
    return Choices(
        kind="rescue" if kind == "rescue" else "work",
        language=language,
        size=_size(raw.get("size", "")),
        gpu=WITHOUT_GPU if gpu else "",
    )


def _size(value: object) -> Size | Literal[""]:
    if type(value) is not str or value not in ("", *SIZES):
        raise _wrong("size", value, SIZES)
    return next((size for size in SIZES if size == value), "")


def options_of_form(form: Mapping[str, list[object]]) -> dict[str, object]:
    """Turn a form's fields, each a list of values, into options; a field given twice stays a list and is refused."""
    return {name: values[0] if len(values) == 1 else values for name, values in form.items() if name != "_xsrf"}


def _wrong(name: str, value: object, known: Sequence[str]) -> LaunchRefused:
    words = {"name": name, "value": _quoted(value), "known": ", ".join(known)}
    return _refusal(told("The option “%(name)s” is %(value)s; it can be one of these: %(known)s.", **words))


def _refusal(what: Told) -> LaunchRefused:
    return LaunchRefused(what, fix=told("Start it from the page Work."), reason=Reason.BAD_OPTIONS)


def _quoted(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return f"“{text[:40]}”"


def _type(value: object) -> str:
    return type(value).__name__
