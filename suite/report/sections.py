# SPDX-License-Identifier: Apache-2.0
"""Sections that reports of every kind have: charts side by side, what is withheld, notes, the command, the machine."""

from __future__ import annotations

from collections.abc import Sequence

from suite.layout import heading
from suite.records import Run, Sample
from suite.report import machine
from suite.report.figures import Drawn
from suite.report.markup import Child, Markup, element
from suite.report.page import Section, definitions
from suite.report.svg import inlined


def which(run: Run) -> Markup:
    """Return the line that says which run it was."""
    return element("p", f"{run.stack.get('title', '')}. Run {run.run_id}.", class_="under")


#: How lines of a table's heading begin that nobody may miss.
MARKS = ("ADOPTED", "LIMITED", "PARTIAL", "base=", "measured in ")


def marked(run: Run, samples: Sequence[Sample]) -> list[str]:
    """Return a line for each thing that sets this run apart: parts missing, another base, another interpreter."""
    return [line for line in heading(run, samples).lines if line.startswith(MARKS)]


def marks(run: Run, samples: Sequence[Sample]) -> list[Child]:
    """Return the lines of :func:`marked` as paragraphs."""
    return [element("p", line, class_="under partial") for line in marked(run, samples)]


def charted(drawn: Sequence[Drawn]) -> Markup:
    """Return figures side by side, each with its caption; a screen reader gets its numbers in words."""
    made = []
    for each in drawn:
        caption = element("figcaption", each.caption, " ", element("small", each.small), id=f"{each.name}-caption")
        made.append(element("figure", caption, inlined(each.draw(), each.name, each.description), id=each.name))
    return element("div", made, class_="charts")


def withheld(lines: Sequence[tuple[str, str, str, str]]) -> Section | None:
    """Return the section of what has no time: for each where, its status, why, and the file with the raw words."""
    if not lines:
        return None
    items = []
    for where, status, why, raw_file in lines:
        raw = element("small", f"Raw words: {raw_file}") if raw_file else None
        said = element("span", status, class_="status bad")
        items.append(element("li", element("strong", where), ": ", said, element("p", why, raw)))
    return Section(
        "withheld",
        "Withheld",
        [
            element("p", "No time is shown of these, and they are in no chart.", class_="under"),
            element("ul", items, class_="withheld"),
        ],
    )


def notes(lines: Sequence[str]) -> Section | None:
    """Return the notes, one sentence each."""
    if not lines:
        return None
    return Section("notes", "Notes", [element("ul", [element("li", each) for each in lines], class_="notes")])


def again(run: Run) -> Section:
    """Return the commands that make the run, and this page, again."""
    return commands("The command that made this run:", machine.shell(run.command), [run])


def commands(said: str, command: str, runs: Sequence[Run]) -> Section:
    """Return the command that makes what is shown again, the commits it was made at, and what makes the page."""
    lines: list[Child] = [element("p", said), _code(command, "Command")]
    commits = dict.fromkeys(
        f"{commit}{', with changes that are in no commit' if run.coldwarm.get('git_dirty') else ''}"
        for run in runs
        if (commit := run.coldwarm.get("git_commit"))
    )
    if commits:
        lines.append(element("p", f"It was run at commit {'; '.join(commits)}."))
    lines += [
        element("p", "This page again, from its folder, the same bytes:"),
        _code("make report RUN=<folder>", "Report"),
    ]
    return Section("again", "The same again", lines)


def _code(line: str, name: str) -> Markup:
    return element("pre", element("code", line), tabindex=0, role="region", aria_label=name)


def environment(run: Run, samples: Sequence[Sample]) -> Section:
    """Return what was measured with, and on."""
    parts = [
        element("div", element("h3", title), definitions(lines))
        for title, lines in machine.facts(run, samples)
        if lines
    ]
    return Section("environment", "Environment", [element("div", parts, class_="facts")])
