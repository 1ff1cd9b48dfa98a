# SPDX-License-Identifier: Apache-2.0
"""The frame of every report: head, sections with their links, style and script. One file, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.report.markup import Child, Markup, clean, element, joined

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Section:
    """A part of a page; ``id`` is what links to it name."""

    id: str
    title: str
    children: Sequence[Child]

    def markup(self) -> Markup:
        return element(
            "section",
            *(element("h2", self.title, id=self.id), *self.children),
            aria_labelledby=self.id,
        )


def page(
    title: str, verdict: str, under: Sequence[Child], sections: Sequence[Section], skip_to: str | None = None
) -> str:
    """Return a whole HTML document.

    Parameters
    ----------
    title
        What was measured.
    verdict
        The sentence that stands at the top.
    under
        Paragraphs below it.
    skip_to
        The section that the first Tab offers to skip to; the first one where none is named.
    """
    style, script = _text("style.css"), _text("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    # Nothing is fetched, and no script runs but this one, whatever a name in the run holds.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    policy += "; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", " ".join(f"{title}: {verdict}".split())),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(style)),
    )
    links = [element("li", element("a", each.title, href=f"#{each.id}")) for each in sections]
    body = element(
        "body",
        element("a", "Skip to the numbers", class_="skip", href=f"#{skip_to or sections[0].id}"),
        element(
            "header",
            element("h1", title),
            element("p", verdict, class_="verdict", id="verdict"),
            *under,
            element("nav", element("ul", links), aria_label="Sections"),
        ),
        element("main", *(each.markup() for each in sections)),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def identity(*parts: object) -> str:
    """Return an id of letters, digits and dashes made of names that may hold anything."""
    return "-".join(filter(None, (re.sub(r"[^a-z0-9]+", "-", clean(each).lower()).strip("-") for each in parts)))


def numbers(caption: str, made: Child) -> Markup:
    """Return a table that stands beside charts: closed, for those who read numbers or cannot see charts."""
    return element("details", element("summary", caption), made, class_="numbers")


def key(*entries: tuple[str, str]) -> Markup:
    """Return the key of a section's charts: for each entry the classes of its patch and what it means."""
    items = [element("li", element("i", class_=classes, aria_hidden="true"), text) for classes, text in entries]
    return element("ul", items, class_="key")


def definitions(lines: Sequence[tuple[str, Child]]) -> Markup:
    """Return names and values."""
    return element("dl", [joined([element("dt", name), element("dd", value)]) for name, value in lines])
