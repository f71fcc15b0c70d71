"""The settings page says what the code says."""

from pathlib import Path

from bancada_hub.site import Site
from bancada_hub.site_reference import markdown

PAGE = Path(__file__).parents[2] / "docs" / "admin" / "settings.md"


def test_page_is_what_the_model_generates():
    assert PAGE.read_text() == markdown(), "refresh it: python -m bancada_hub.site_reference > docs/admin/settings.md"


def test_every_key_is_described():
    for name, field in Site.model_fields.items():
        model = field.annotation
        if hasattr(model, "model_fields"):
            assert all(inner.description for inner in model.model_fields.values()), name
        else:
            assert field.description, name
