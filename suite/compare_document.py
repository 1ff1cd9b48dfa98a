# SPDX-License-Identifier: Apache-2.0
"""Titles, paragraphs, lists and tables, written in any of the formats that FORMAT= names. Same input, same bytes."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from suite.layout import WIDTH, items, table

#: What FORMAT= may be, and the format of tabulate behind it. csv is no document: see :mod:`suite.compare_csv`.
FORMATS = ("simple", "github", "grid", "plain", "html", "latex", "csv")


@dataclass(frozen=True)
class Title:
    """A heading; level 1 is the document's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of text; ``align`` has one letter a column: l or r."""

    header: Sequence[str]
    body: Sequence[Sequence[object]]
    align: str


@dataclass(frozen=True)
class Code:
    """A line that somebody pastes: never wrapped."""

    line: str


Part = Title | Paragraph | Items | Table | Code


def render(parts: Sequence[Part], style: str) -> str:
    """Return the parts as text that ends with a line feed; ``style`` is one of ``FORMATS`` without csv."""
    out: list[str] = []
    after_title = False
    for part in parts:
        text = _part(part, style)
        # In a terminal a title stands right above what it heads.
        tight = after_title and style in ("simple", "grid", "plain")
        out.append(("\n" if tight else "\n\n") + text if out else text)
        after_title = isinstance(part, Title) and part.level > 1
    return "".join(out) + "\n"


def _part(part: Part, style: str) -> str:
    if isinstance(part, Table):
        return table(part.body, list(part.header), style, part.align)
    if style == "html":
        return _html(part)
    if style == "latex":
        return _latex(part)
    return _plain(part, markdown=style == "github")


def _plain(part: Title | Paragraph | Items | Code, *, markdown: bool) -> str:
    if isinstance(part, Code):
        return f"```sh\n{part.line}\n```" if markdown else part.line
    if isinstance(part, Title):
        return f"{'#' * part.level} {part.text}" if markdown else part.text
    if isinstance(part, Paragraph):
        return part.text if markdown else textwrap.fill(part.text, WIDTH, break_on_hyphens=False)
    return items(part.lines, markdown)


def _html(part: Title | Paragraph | Items | Code) -> str:
    if isinstance(part, Code):
        return f"<pre><code>{html.escape(part.line)}</code></pre>"
    if isinstance(part, Title):
        return f"<h{part.level}>{html.escape(part.text)}</h{part.level}>"
    if isinstance(part, Paragraph):
        return f"<p>{html.escape(part.text)}</p>"
    return "\n".join(["<ul>", *(f"<li>{html.escape(line)}</li>" for line in part.lines), "</ul>"])


def _latex(part: Title | Paragraph | Items | Code) -> str:
    if isinstance(part, Code):
        return f"\\begin{{verbatim}}\n{part.line}\n\\end{{verbatim}}"
    if isinstance(part, Title):
        return f"\\{'sub' * (part.level - 1)}section*{{{_escaped(part.text)}}}"
    if isinstance(part, Paragraph):
        return _escaped(part.text)
    return "\n".join(["\\begin{itemize}", *(f"\\item {_escaped(each)}" for each in part.lines), "\\end{itemize}"])


#: As tabulate writes them in a table's cells.
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}", "<": r"\ensuremath{<}"},
    ">": r"\ensuremath{>}",
}


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
