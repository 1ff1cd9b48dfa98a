# SPDX-License-Identifier: Apache-2.0
"""``selftest``: a stack against itself, interleaved. What finds a difference there is no instrument."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from suite import bounded, comparison, comparison_tables, decode, journal, ready, together
from suite.collect import COMPARISON
from suite.comparison import Row, Side
from suite.engines import WORKER
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.journal import Unreadable
from suite.records import Comparison, Run
from suite.words import Words

#: Samples a cell and side where SAMPLES= says nothing: with the 3 of profile quick only a factor could be seen.
SAMPLES = 5
TABLE_MD = "comparison.md"
TABLE_CSV = "comparison.csv"


def run(
    words: Words,
    environ: Mapping[str, str],
    command: Sequence[str],
    report: Callable[[str], None],
    *,
    worker: Path = WORKER,
    recording: Path | None = None,
    style: str = "simple",
) -> tuple[Exit, Path]:
    """Measure one stack twice, as a and as b, interleaved, and print what differs: nothing should.

    Returns the exit code (1 where a difference was found) and the comparison's folder.
    """
    made = ready.make_ready(words, environ, worker=worker, recording=recording)
    measured = together.measure({"a": made, "b": made}, "selftest", environ, command)
    text, rows = derive(measured.folder, style)
    report(text)
    return first_that_applies([*together.ended(measured), comparison_tables.verdict(rows)]), measured.folder


def derive(folder: Path, style: str = "simple") -> tuple[str, list[Row]]:
    """Write the tables of one selftest's folder again; return its text and its rows.

    Raises
    ------
    journal.Unreadable
        comparison.json or the run.json of a side cannot be used.
    SuiteError
        CELLS_FAILED where the tables cannot be written.
    """
    compared = read(folder)
    sides, notes = [], []
    runs: list[Run] = []
    for arm in compared.arms:
        run_of_arm = journal.read_run(folder / arm.folder)
        samples, said = journal.read_samples(folder / arm.folder)
        runs.append(run_of_arm)
        sides.append(Side(run_of_arm, samples))
        notes += [f"{arm.name}: {line}" for line in said]
    rows = comparison.compare(sides[0], sides[1], paired=True)
    try:
        as_markdown = comparison_tables.text(compared, runs, rows, notes, "github")
        journal.write_derived(folder / TABLE_MD, as_markdown)
        journal.write_derived(folder / TABLE_CSV, comparison_tables.as_csv(compared, rows))
    except OSError as error:
        what = f"{folder}: the tables cannot be written: {error.strerror or error}"
        raise SuiteError(
            Exit.CELLS_FAILED, what, "The samples are kept: make collect derives the tables."
        ) from error
    return comparison_tables.text(compared, runs, rows, notes, style), rows


def read(folder: Path) -> Comparison:
    """Read comparison.json. Raises :class:`suite.journal.Unreadable`."""
    path = folder / COMPARISON
    try:
        return decode.comparison(bounded.whole(path))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error
