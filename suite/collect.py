# SPDX-License-Identifier: Apache-2.0
"""Derive a run's tables from its raw files, now or at any later time: always the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import journal, pair_tables, rows, tables, tree
from suite.document import View
from suite.records import Run, Sample
from suite.rows import Rows

TABLE_MD = "table.md"
TABLE_CSV = "table.csv"
COMPARISON = journal.COMPARISON


@dataclass(frozen=True)
class Derived:
    """One run's raw files, and what follows from them."""

    run: Run
    samples: Sequence[Sample]
    notes: Sequence[str]
    """A note for each line that was skipped."""
    rows: Rows | None
    """None for the question's snippet, which has rows of its own."""

    def text(self, view: View | None = None) -> str:
        """Return the run's tables, whatever its protocol."""
        if self.rows is None:
            return pair_tables.text(self.run, self.samples, self.notes, view)
        return tables.text(self.run, self.samples, self.notes, view, self.rows)

    def as_csv(self) -> str:
        if self.rows is None:
            return pair_tables.as_csv(self.run, self.samples)
        return tables.as_csv(self.run, self.samples, self.rows)


def read(folder: Path) -> Derived:
    """Read a run's folder; nothing is written.

    Raises
    ------
    journal.Unreadable
        run.json cannot be used. Lines of samples.jsonl that cannot are skipped and noted.
    """
    run = journal.read_run(folder)
    samples, notes = journal.read_samples(folder)
    return Derived(run, samples, notes, None if run.protocol == "reproduce" else rows.both(run, samples))


def write(folder: Path, derived: Derived, *, durable: bool = True) -> None:
    """Write a run's table.md and table.csv, where they are not there as they must be.

    ``durable``: wait until the disk has them; of many runs that would be most of the time.

    Raises
    ------
    OSError
        They cannot be written.
    """
    journal.write_derived(folder / TABLE_MD, derived.text(View("github")), durable=durable)
    journal.write_derived(folder / TABLE_CSV, derived.as_csv(), durable=durable)


def derive(folder: Path) -> tuple[Run, Sequence[Sample], Sequence[str]]:
    """Write table.md and table.csv of one run's folder again; return what they were derived from.

    Raises as :func:`read` and :func:`write` do.
    """
    derived = read(folder)
    write(folder, derived)
    return derived.run, derived.samples, derived.notes


def text(run: Run, samples: Sequence[Sample], notes: Sequence[str], view: View | None = None) -> str:
    """Return a run's tables, whatever its protocol."""
    of = pair_tables.text if run.protocol == "reproduce" else tables.text
    return of(run, samples, notes, view)


def comparison_folders(path: Path) -> list[Path]:
    """Return the folders of all comparisons at or below ``path``, sorted: those that hold a comparison.json."""
    return list(tree.walk(path).comparisons)


def run_folders(path: Path) -> list[Path]:
    """Return the folders of all runs at or below ``path``, sorted: those that hold a run.json."""
    return list(tree.walk(path).runs)
