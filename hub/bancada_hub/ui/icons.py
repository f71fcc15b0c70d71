"""Icons, drawn on a 16 by 16 grid in the colour of the text beside them.

They only repeat that text, so screen readers skip them. Functions, not a template: the hub's templates can be given
functions, and every page needs these.
"""

from markupsafe import Markup

_SHAPES = {
    "play": '<path d="M5 3.2v9.6l7.6-4.8z" fill="currentColor"/>',
    "stop": '<rect x="4" y="4" width="8" height="8" rx="1.4" fill="currentColor"/>',
    "good": '<circle cx="8" cy="8" r="6.2"/><path d="m5.2 8.2 2 2 3.7-4.1"/>',
    "idle": '<circle cx="8" cy="8" r="6.2"/><path d="M5.3 8h5.4"/>',
    "work": '<path d="M14.2 8A6.2 6.2 0 1 1 8 1.8"/>',
    "warn": '<path d="M8 2.2 14.4 13.4H1.6z"/><path d="M8 6.6v3.1M8 11.4v.1"/>',
    "bad": '<circle cx="8" cy="8" r="6.2"/><path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4"/>',
    "unknown": '<circle cx="8" cy="8" r="6.2"/><path d="M6.2 6.4a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.7.5-.7 1v.1M8 11.2v.1"/>',
    "waiting": '<circle cx="8" cy="8" r="6.2" stroke-dasharray="2.2 2.2"/>',
    "next": '<path d="m6 3.5 4.5 4.5L6 12.5"/>',
    "look": '<circle cx="8" cy="8" r="6.2"/><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor"/>',
    "open": '<path d="M6.5 3H3v10h10V9.5M9.5 3H13v3.5M13 3 7.8 8.2"/>',
    "bell": '<path d="M4.2 11.2V7a3.8 3.8 0 0 1 7.6 0v4.2l1 1H3.2zM6.8 14.2h2.4"/>',
    "again": '<path d="M13.2 6A5.6 5.6 0 1 0 13.6 9M13.4 2.6V6H10"/>',
}

_OPEN = Markup(
    '<svg class="icon {}" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" '
    'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">'
)

_LOGO = Markup(
    '<svg class="logo" viewBox="0 0 28 28" aria-hidden="true" focusable="false">'
    '<rect class="logo-plate" width="28" height="28" rx="7"/>'
    '<path class="logo-lines" d="M6 11.5h16M8.8 11.5v9.5M19.2 11.5v9.5M8.8 16.5h10.4"/></svg>'
)


def icon(name: str, css_class: str = "") -> Markup:
    """Return an icon as inline SVG.

    Raises:
        KeyError: There is no such icon.
    """
    return _OPEN.format(css_class) + Markup(_SHAPES[name]) + Markup("</svg>")  # noqa: S704 - fixed shapes of this file


def logo() -> Markup:
    """Return Bancada's sign, a workbench, as inline SVG."""
    return _LOGO


def state(kind: str, word: str) -> Markup:
    """Return a state as pages show it: a colour, an icon and a word.

    Args:
        kind: "good", "work", "warn", "bad", "idle" or "unknown".
        word: The state in the reader's language; escaped here.
    """
    colour = "idle" if kind == "unknown" else kind
    sign = icon(kind, "turning" if kind == "work" else "")
    return Markup('<span class="state {}">{}{}</span>').format(colour, sign, word)
