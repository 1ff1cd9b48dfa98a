# SPDX-License-Identifier: Apache-2.0
"""Derive a run's tables from its raw files, now or at any later time: always the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from suite import journal, pair_tables, tables
from suite.document import View
from suite.records import Run, Sample

TABLE_MD = "table.md"
TABLE_CSV = "table.csv"
COMPARISON = "comparison.json"


def derive(folder: Path) -> tuple[Run, list[Sample], list[str]]:
    """Write table.md and table.csv of one run's folder again; return what they were derived from.

    Raises
    ------
    journal.Unreadable
        run.json cannot be used. Lines of samples.jsonl that cannot are skipped and noted.
    OSError
        The tables cannot be written.
    """
    run = journal.read_run(folder)
    samples, notes = journal.read_samples(folder)
    journal.write_atomically(folder / TABLE_MD, text(run, samples, notes, View("github")))
    as_csv = pair_tables.as_csv if run.protocol == "reproduce" else tables.as_csv
    journal.write_atomically(folder / TABLE_CSV, as_csv(run, samples))
    return run, samples, notes


def text(run: Run, samples: Sequence[Sample], notes: Sequence[str], view: View | None = None) -> str:
    """Return a run's tables, whatever its protocol."""
    of = pair_tables.text if run.protocol == "reproduce" else tables.text
    return of(run, samples, notes, view)


def comparison_folders(path: Path) -> list[Path]:
    """Return the folders of all comparisons at or below ``path``, sorted: those that hold a comparison.json."""
    if (path / COMPARISON).is_file():
        return [path]
    return sorted(found.parent for found in path.rglob(COMPARISON) if not found.is_symlink())


def run_folders(path: Path) -> list[Path]:
    """Return the folders of all runs at or below ``path``, sorted: those that hold a run.json."""
    if (path / journal.RUN).is_file():
        return [path]
    return sorted(found.parent for found in path.rglob(journal.RUN) if not found.is_symlink())
