# SPDX-License-Identifier: Apache-2.0
"""What tests of disturbed runs share: what must be left of a run, and that it can be finished."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from suite import collect, journal, rows
from suite.exits import Exit
from tests.resuming import STACK, go_on

#: The samples of a replayed run of tests.resuming.
ALL = 11


def the_run(out: Path) -> Path:
    [found] = (out / STACK).iterdir()
    return found


def check_kept(folder: Path, count: int, wanted: Path) -> None:
    """Check that so many samples were kept whole, that the tables show them, and that the run can be finished."""
    samples, notes = journal.read_samples(folder)
    assert notes == [] and len(samples) == count
    assert (folder / journal.SAMPLES).read_bytes()[-1:] in (b"", b"\n")
    table = (folder / collect.TABLE_MD).read_text()
    assert f"PARTIAL: the run ended before {ALL - count} of {ALL} samples were taken" in " ".join(table.split())
    assert go_on(folder).code is Exit.DONE
    run, samples, notes = collect.derive(folder)
    assert notes == [] and rows.missing(run, samples) == 0
    assert Counter(s.id for s in samples if ".session-" not in s.id) == Counter(p.id for p in run.plan.planned)
    assert {row.count.status for row in rows.cell_rows(run, samples)} == {"ok"}
