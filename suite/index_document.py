# SPDX-License-Identifier: Apache-2.0
"""The index of trees in the format that FORMAT= names; a terminal's own form is :mod:`suite.index`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suite import index
from suite.document import Items, Part, Table, Title, render
from suite.index import Index, plain


def text(indexes: Sequence[Index], stack: str | None, style: str) -> str:
    """Return the index of one or more trees; ``stack``: only its runs. CSV has every run and every unusable file."""
    if style == "simple":
        return index.text(indexes, stack)
    if style == "csv":
        return "\n".join(index.as_csv(each) for each in indexes)
    return render([part for each in indexes for part in _parts(each, stack)], style)


def _parts(each: Index, stack: str | None) -> Iterator[Part]:
    yield Title(f"Runs below {plain(str(each.top))}", 1)
    entries = index.in_order([entry for entry in each.entries if stack in (None, entry.stack)])
    if entries:
        body = [
            [
                *(plain(entry.stack), entry.machine.id, plain(entry.run_id), plain(entry.kind)),
                *(f"{entry.cells_ok}/{entry.cells}", entry.remark, each.below(entry.folder)),
            ]
            for entry in entries
        ]
        yield Table(["stack", "machine", "run", "profile", "ok", "remark", "folder"], body, "llllrll")
        yield Title("Machines")
        yield Items([f"{machine.id}: {plain(machine.text())}" for machine in index.machines(entries)])
    compared = index.of_compared(each)
    if compared and stack is None:
        yield Title("Comparisons and explanations")
        yield Items(compared)
    refused = [f"{path}: {why}" for path, why in each.unusable()]
    for head, lines in (("Not used", refused), ("Left out", sorted(each.notes))):
        if lines:
            yield Title(f"{head} ({len(lines)})")
            yield Items(lines)
