# SPDX-License-Identifier: Apache-2.0
"""A whole run of ``bench`` on a synthetic worker, and what it told."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite import collect, measure, rows, words
from suite.exits import Exit
from suite.records import Run, Sample
from suite.rows import CellRow
from suite.stack import STACKS
from tests.synthetic import RECORDING, STACK, Synthetic, in_place

CPU = "CPU.device.50"


@dataclasses.dataclass
class Told:
    """A finished run: its exit code, folder, table, and what was derived from its files."""

    code: Exit
    folder: Path
    table: str
    run: Run
    samples: list[Sample]

    @property
    def words(self) -> str:
        return " ".join(self.table.split())

    def rows(self) -> dict[str, CellRow]:
        return {row.cell.id: row for row in rows.cell_rows(self.run, self.samples)}

    def line(self, *begin: object) -> str:
        """Return the cell's line in the first table."""
        wanted = [str(each) for each in begin]
        table = self.table.partition("What a process pays once")[0]
        return next(line for line in table.splitlines() if line.split()[: len(wanted)] == wanted)


def told(
    out: Path, synthetic: Synthetic, *, stacks: Path = STACKS, setting: Mapping[str, Any] | None = None, **given
):
    """Run ``bench`` on a synthetic worker. Its table fits a terminal whatever was planted."""
    asked = {"stack": STACK, "targets": "CPU", "shapes": "50", "samples": "10", "out": str(out), **given}
    tables: list[str] = []
    with in_place(synthetic, **(setting or {})):
        code, folder = measure.run(
            words.parse(asked), {}, ["bench"], tables.append, recording=RECORDING, stacks=stacks
        )
    run, samples, notes = collect.derive(folder)
    assert notes == [] and all(len(line) <= 80 for line in tables[0].splitlines())
    return Told(code, folder, tables[0], run, samples)
