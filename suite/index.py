# SPDX-License-Identifier: Apache-2.0
"""The index of a tree of results: its runs by stack, machine and date, its comparisons, and what cannot be used."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from suite.document import WIDTH
from suite.entries import MADE_OF, Entry
from suite.layout import items, table, title
from suite.machines import Machine
from suite.records import Comparison
from suite.tree import Refused

INDEX_MD = "index.md"
INDEX_CSV = "index.csv"
#: A terminal gets each run of so many; of more, a row for each stack and machine.
MOST_ROWS = 100
#: Heads the column with the tree's letter; every column that a terminal has counts.
TREE = " "
#: Nobody reads more reasons than this on a terminal; the files have them all.
MOST_REFUSED = 50

COLUMNS = (
    *(
        "folder",
        "usable",
        "reason",
        "run_id",
        "created_utc",
        "stack",
        "arm",
        "protocol",
        "profile",
        "samples",
        "state",
    ),
    *("machine", "cpu_model", "architecture", "logical_cpus", "gpus"),
    *("cells", "cells_ok", "planned", "missing", "lines_skipped"),
    *(name if name != "stack" else "stack_sha256" for name in MADE_OF),
)


@dataclass(frozen=True)
class Compared:
    """A comparison or selftest that can be used."""

    folder: Path
    comparison: Comparison


@dataclass
class Index:
    """What one tree holds. Paths are shown as they lie below ``top``."""

    top: Path
    entries: list[Entry] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    explanations: list[Path] = field(default_factory=list)
    """Folders of explanations that can be used."""
    refused: list[Refused] = field(default_factory=list)
    """Whatever cannot be used, each with its reason."""
    notes: list[str] = field(default_factory=list)
    """What was left out and is no fault: links, copies."""

    def below(self, path: Path) -> str:
        return plain(os.path.relpath(path, self.top))

    def unusable(self) -> Iterator[tuple[str, str]]:
        """Yield each file or line that cannot be used, and why."""
        for each in sorted(self.refused, key=lambda each: each.path):
            yield self.below(each.path), plain(each.why)
        for entry in in_order(self.entries):
            for note in entry.skipped:
                yield self.below(entry.folder), plain(note)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return runs by stack, machine and date: never two machines' runs among each other."""
    return sorted(entries, key=_order)


def _order(entry: Entry) -> tuple[str, str, str, str, str, str]:
    machine = entry.machine
    return entry.stack, machine.text(), machine.id, entry.created_utc, entry.run_id, str(entry.folder)


def plain(text: str) -> str:
    """Return text that does nothing to a terminal: what does not print is shown as its code."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def machines(entries: Sequence[Entry]) -> list[Machine]:
    """Return the machines of runs, sorted by what they are."""
    found = {entry.machine.id: entry.machine for entry in entries}
    return sorted(found.values(), key=lambda each: (each.text(), each.id))


def text(indexes: Sequence[Index], stack: str | None = None) -> str:
    """Return the index of one or more trees for a terminal of 80 columns; of several, each run names its tree."""
    letters = {id(each): chr(ord("a") + place % 26) * (1 + place // 26) for place, each in enumerate(indexes)}
    shown = [
        (letters[id(index)], entry)
        for index in indexes
        for entry in index.entries
        if stack is None or entry.stack == stack
    ]
    shown.sort(key=lambda each: _order(each[1]))
    several = len(indexes) > 1
    parts = []
    if several:
        lines = [
            f"{letters[id(each)]}: {plain(str(each.top))}, {_many(len(each.entries), 'run')}" for each in indexes
        ]
        parts.append(title("Trees", False) + items(lines, False))
    if shown:
        body = _each(shown) if len(shown) <= MOST_ROWS else _grouped(shown)
        parts.append(title(_heading(shown), False) + _fitted(body, several))
        lines = [f"{each.id}: {plain(each.text())}" for each in machines([entry for _, entry in shown])]
        parts.append(title("Machines", False) + items(lines, False))
    compared = [
        f"{letters[id(index)]}: {each}" if several else each for index in indexes for each in of_compared(index)
    ]
    if compared and stack is None:
        parts.append(title("Comparisons and explanations", False) + items(compared, False))
    parts += _unused(indexes, False)
    return "\n\n".join(parts) + "\n"


def _heading(shown: Sequence[tuple[str, Entry]]) -> str:
    many = _many(len(shown), "run")
    return many if len(shown) <= MOST_ROWS else f"{many}, each in {INDEX_MD} and {INDEX_CSV}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class _Table:
    head: list[str]
    align: str
    body: list[list[str]]


def _each(shown: Sequence[tuple[str, Entry]]) -> _Table:
    """Return a row for each run. Its first column may be cut, its last goes where there is one tree."""
    body = [
        [
            *(plain(entry.stack), entry.machine.id, plain(entry.run_id), plain(entry.kind)),
            *(f"{entry.cells_ok}/{entry.cells}", entry.remark, tree),
        ]
        for tree, entry in shown
    ]
    return _Table(["stack", "on", "run", "profile", "ok", "", TREE], "llllrll", body)


def _grouped(shown: Sequence[tuple[str, Entry]]) -> _Table:
    """Return a row for each stack and machine of each tree."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for tree, entry in shown:
        groups.setdefault((entry.stack, entry.machine.id, tree), []).append(entry)
    body = [
        [
            *(plain(stack), machine, str(len(found)), plain(found[0].created_utc[:10])),
            *(plain(found[-1].run_id), tree),
        ]
        for (stack, machine, tree), found in groups.items()
    ]
    return _Table(["stack", "on", "runs", "first", "last run", TREE], "llrlll", body)


def _fitted(made: _Table, several: bool) -> str:
    """Return a table of at most 80 columns: where it would be wider, the stack's name is cut."""
    # The tree's letter where there are several, remarks where there are any.
    kept = [
        place
        for place, name in enumerate(made.head)
        if (several if name == TREE else name or any(row[place] for row in made.body))
    ]
    head = [made.head[place] for place in kept]
    body = [[row[place] for place in kept] for row in made.body]
    align = "".join(made.align[place] for place in kept)
    widths = [max(len(row[place]) for row in [head, *body]) for place in range(1, len(head))]
    # tabulate gives a left-aligned heading two columns more than it needs where the heading is the widest.
    left = max(
        8,
        WIDTH
        - sum(max(width, len(name) + 2) for width, name in zip(widths, head[1:], strict=True))
        - 2 * len(widths),
    )
    body = [[row[0] if len(row[0]) <= left else row[0][: left - 1] + "~", *row[1:]] for row in body]
    return "\n".join(line.rstrip() for line in table(body, head, "simple", align).splitlines())


def of_compared(index: Index) -> list[str]:
    """Return a line for each comparison, selftest and explanation of a tree."""
    return [
        f"{index.below(each.folder)}: {each.comparison.kind} of "
        + plain(", ".join(arm.name for arm in each.comparison.arms[:9]))
        + (f" and {len(each.comparison.arms) - 9} more" if len(each.comparison.arms) > 9 else "")
        for each in sorted(index.compared, key=lambda each: each.folder)
    ] + [f"{index.below(each)}: explain" for each in sorted(index.explanations)]


def _unused(indexes: Sequence[Index], markdown: bool) -> list[str]:
    """Return the sections on what cannot be used and on what was left out."""
    several = len(indexes) > 1
    refused, notes = [], []
    for index in indexes:
        before = f"{plain(str(index.top))}/" if several else ""
        refused += [f"{before}{path}: {why}" for path, why in index.unusable()]
        notes += [before + note for note in sorted(index.notes)]
    parts = []
    for head, lines in (("Not used", refused), ("Left out", notes)):
        if not lines:
            continue
        hidden = 0 if markdown else max(0, len(lines) - MOST_REFUSED)
        shown = lines[: len(lines) - hidden] + ([f"{hidden} more: {INDEX_MD}"] if hidden else [])
        if markdown:
            shown = [escaped(line) for line in shown]
        parts.append(title(f"{head} ({len(lines)})", markdown) + items(shown, markdown))
    return parts


def as_markdown(index: Index) -> str:
    """Return the index of one tree as Markdown: every run, with a link to its tables."""
    parts = ["# Runs"]
    entries = in_order(index.entries)
    if entries:
        body = []
        for each in entries:
            link = f"[{escaped(each.run_id)}]({quote(index.below(each.folder))}/table.md)"
            body.append(
                [
                    escaped(each.stack),
                    each.machine.id,
                    link,
                    escaped(each.kind),
                    f"{each.cells_ok}/{each.cells}",
                    each.remark,
                ]
            )
        parts.append(_rows(["stack", "machine", "run", "profile", "ok", "remark"], body))
        parts.append(
            title("Machines", True)
            + items([f"{each.id}: {escaped(plain(each.text()))}" for each in machines(entries)], True)
        )
    compared = of_compared(index)
    if compared:
        parts.append(
            title("Comparisons and explanations", True) + items([escaped(each) for each in compared], True)
        )
    parts += _unused([index], True)
    return "\n\n".join(parts) + "\n"


def _rows(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table without padding: of thousands of rows that would be most of the file."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return text in which Markdown sees neither markup nor the end of a cell."""
    return "".join(f"\\{each}" if each in "\\`*[]<>|" else each for each in plain(text))


def as_csv(index: Index) -> str:
    """Return a line for each run of one tree, then one for each file that cannot be used."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in in_order(index.entries):
        writer.writerow(_line(index, entry))
    for each in sorted(index.refused, key=lambda each: each.path):
        writer.writerow({"folder": index.below(each.path), "usable": "no", "reason": plain(each.why)})
    return file.getvalue()


def _line(index: Index, entry: Entry) -> Mapping[str, object]:
    line: dict[str, object] = {name: getattr(entry, name) for name in COLUMNS if hasattr(entry, name)}
    line.update((name, getattr(entry.machine, name)) for name in ("cpu_model", "architecture", "logical_cpus"))
    line.update((name if name != "stack" else "stack_sha256", entry.made_of[name]) for name in MADE_OF)
    line.update(
        folder=index.below(entry.folder),
        usable="yes",
        machine=entry.machine.id,
        gpus=" ".join(f"{name} {uuid}" for uuid, name in entry.machine.gpus),
        lines_skipped=len(entry.skipped),
    )
    return {name: plain(value) if isinstance(value, str) else value for name, value in line.items()}
