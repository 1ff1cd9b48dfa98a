# SPDX-License-Identifier: Apache-2.0
"""HTML that is escaped unless it was made here: text from a run is never markup."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence

#: Marks and overrides of writing direction: they would show the text around them in another order.
DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Iterable["Child"] | None


def clean(text: object) -> str:
    """Return text that a page can hold: what no reader sees, or no file can hold, becomes U+FFFD."""
    return "".join(
        "\ufffd"
        if unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" or each in DIRECTION
        else each
        for each in str(text)
    )


def escaped(text: object) -> Markup:
    """Return ``text`` as HTML that shows it, whatever it holds; :class:`Markup` as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(clean(text), quote=True))


def element(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Return an element; text in it is escaped, lists are joined, None is left out.

    Attributes: ``_`` stands for ``-`` and one at the end is dropped (``class_``); True is a bare attribute, None and
    False are none.
    """
    opened = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        opened.append(key if value is True else f'{key}="{escaped(value)}"')
    start = f"<{' '.join(opened)}>"
    return Markup(start if name in VOID else f"{start}{joined(children)}</{name}>")


#: Elements that have no end.
VOID = frozenset(("meta", "link", "br"))


def joined(children: Iterable[Child]) -> Markup:
    """Return children one after the other, escaped as :func:`element` does."""
    out = []
    for child in children:
        if child is None:
            continue
        out.append(escaped(child) if isinstance(child, str) else joined(child))
    return Markup("".join(out))


def table(
    caption: str, header: Sequence[str], body: Sequence[Sequence[Child]], *, class_: str | None = None
) -> Markup:
    """Return a plain table whose first column names its rows, in a region that can be scrolled by keyboard."""
    head = element("tr", [element("th", each, scope="col") for each in header])
    lines = [
        element("tr", element("th", line[0], scope="row"), [element("td", each) for each in line[1:]])
        for line in body
    ]
    made = element(
        "table",
        *(element("caption", element("span", caption)), element("thead", head), element("tbody", lines)),
        class_=class_,
    )
    return scrolled(made, caption)


def scrolled(made: Markup, name: str) -> Markup:
    """Return a table in a region of its own: wider than a phone, it is scrolled without moving the page."""
    return element("div", made, class_="scroll", role="region", tabindex=0, aria_label=name)
