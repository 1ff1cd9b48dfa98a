# SPDX-License-Identifier: Apache-2.0
"""Titles, paragraphs, lists and tables, written in any of the formats that FORMAT= names. Same input, same bytes."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.errors import SuiteError
from suite.exits import Exit

WIDTH = 80
#: What FORMAT= may be, and the format of tabulate behind it. csv is no document: a table's rows, for machines.
FORMATS = ("simple", "github", "grid", "plain", "html", "latex", "csv")
LAYOUTS = ("wide", "long")
#: Those of a terminal, where a title stands right above what it heads and lines end at WIDTH.
OF_TERMINAL = ("simple", "grid", "plain")


@dataclass(frozen=True)
class View:
    """How a table is printed, not what is in it: FORMAT= and LAYOUT=."""

    style: str = FORMATS[0]
    layout: str = LAYOUTS[0]


def view(given: Mapping[str, str | None]) -> View:
    """Check FORMAT= and LAYOUT= of a command. Raises SuiteError (USAGE) for one that there is not."""
    found = {}
    for word, known in (("format", FORMATS), ("layout", LAYOUTS)):
        found[word] = given.get(word) or known[0]
        if found[word] not in known:
            what = f"{word.upper()}={found[word]}: {found[word]!r} is none of {', '.join(known)}"
            raise SuiteError(Exit.USAGE, what)
    return View(found["format"], found["layout"])


@dataclass(frozen=True)
class Head:
    """What a document begins with: a name, and a sentence a line on what it is of."""

    name: str
    lines: Sequence[str]


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
    """Lines that somebody pastes or a program printed: never wrapped."""

    line: str
    language: str = "sh"


Part = Head | Title | Paragraph | Items | Table | Code


def render(parts: Sequence[Part], style: str) -> str:
    """Return the parts as text that ends with a line feed; ``style`` is one of ``FORMATS`` without csv."""
    out: list[str] = []
    after_title = False
    for part in parts:
        text = one(part, style)
        # In a terminal a title stands right above what it heads.
        tight = after_title and style in OF_TERMINAL
        out.append(("\n" if tight else "\n\n") + text if out else text)
        after_title = isinstance(part, Title) and part.level > 1
    return "".join(out) + "\n"


def one(part: Part, style: str) -> str:
    """Return a single part as text, without a line feed at its end."""
    if isinstance(part, Table):
        return _table(part, style)
    if style == "html":
        return _html(part)
    if style == "latex":
        return _latex(part)
    return _plain(part, markdown=style == "github")


def _table(part: Table, style: str) -> str:
    from tabulate import tabulate

    names = {"l": "left", "r": "right"}
    header = list(part.header)
    body = part.body
    if style not in OF_TERMINAL:  # two lines in a head or a cell are for a narrow screen
        header = [each.replace("\n", " ") for each in header]
        body = [[each.replace("\n", " ") if isinstance(each, str) else each for each in row] for row in body]
    align = [names[letter] for letter in part.align]
    return tabulate(body, header, tablefmt=style, colalign=align, disable_numparse=True)


def _plain(part: Head | Title | Paragraph | Items | Code, *, markdown: bool) -> str:
    if isinstance(part, Head):
        if markdown:
            return "\n".join([f"# {part.name}", "", *(f"- {line}" for line in part.lines)])
        return "\n".join([part.name, *(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in part.lines)])
    if isinstance(part, Code):
        language = part.language
        return f"```{language}\n{part.line}\n```" if markdown else part.line
    if isinstance(part, Title):
        return f"{'#' * part.level} {part.text}" if markdown else part.text
    if isinstance(part, Paragraph):
        return part.text if markdown else textwrap.fill(part.text, WIDTH, break_on_hyphens=False)
    if markdown:
        return "\n".join(f"- {line}" for line in part.lines)
    return "\n".join(
        textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ") for line in part.lines
    )


def _html(part: Head | Title | Paragraph | Items | Code) -> str:
    if isinstance(part, Head):
        return f"{_html(Title(part.name, 1))}\n{_html(Items(part.lines))}"
    if isinstance(part, Code):
        return f"<pre><code>{html.escape(part.line)}</code></pre>"
    if isinstance(part, Title):
        return f"<h{part.level}>{html.escape(part.text)}</h{part.level}>"
    if isinstance(part, Paragraph):
        return f"<p>{html.escape(part.text)}</p>"
    return "\n".join(["<ul>", *(f"<li>{html.escape(line)}</li>" for line in part.lines), "</ul>"])


def _latex(part: Head | Title | Paragraph | Items | Code) -> str:
    if isinstance(part, Head):
        return f"{_latex(Title(part.name, 1))}\n{_latex(Items(part.lines))}"
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
