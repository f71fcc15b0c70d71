"""The reference page of bancada.toml, written from the model: `python -m bancada_hub.site_reference > PAGE`."""

import sys
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bancada_hub.site import Site

HEAD = """\
# Settings: bancada.toml

The file `bancada.toml` in the data directory describes a site. `./bancada up` writes it the first time and applies
every change. An unknown key is refused, with its line and the nearest right one.

This page is generated from the code: `python -m bancada_hub.site_reference > docs/admin/settings.md`.
"""


def markdown() -> str:
    """Return the page: one table for the top level, one for each table of the file."""
    tables = [(name, field) for name, field in Site.model_fields.items() if _is_table(field)]
    parts = [HEAD, "## Top level\n", _rows(Site)]
    for name, field in tables:
        model: Any = field.annotation
        parts += [f"## [{name}]\n", f"{(model.__doc__ or '').strip()}\n", _rows(model)]
    return "\n".join(parts)


def _rows(model: type[BaseModel]) -> str:
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        if not _is_table(field):
            default = "none" if field.default in (None, "", ()) else f"`{field.default}`"
            rows.append(f"| `{name}` | {_type(field.annotation)} | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def _is_table(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _type(annotation: Any) -> str:  # noqa: ANN401 - any annotation of a field
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) is UnionType:
        return " or ".join(_type(each) for each in get_args(annotation) if each is not NoneType)
    if get_origin(annotation) is tuple:
        return "list of text"
    return {"str": "text", "Path": "path", "int": "whole number", "float": "number"}[annotation.__name__]


if __name__ == "__main__":
    sys.stdout.write(markdown())
