# SPDX-License-Identifier: Apache-2.0
"""A comparison as one long CSV, ready for a chart: a row for each stack, target, placement and shape."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from suite.compare_arms import Arm
from suite.compare_rows import Compared, Judged
from suite.comparison import QUANTITIES
from suite.rows import CellRow
from suite.stats import Estimate

CSV_COLUMNS = (
    *("arm", "stack", "framework", "framework_version", "python", "engine", "state", "run_id", "stack_sha256"),
    *("target", "placement", "op", "n", "dtype", "precision", "effective_precision", "level"),
    *("status", "reason", "ok", "planned", "fresh_status", "fresh_ok", "fresh_planned"),
    *("start_up_s", "start_up_low_s", "start_up_high_s"),
    *("first_result_s", "first_result_low_s", "first_result_high_s"),
    *("cold_s", "cold_low_s", "cold_high_s", "warm_s", "warm_low_s", "warm_high_s"),
    *("ratio", "ratio_low", "ratio_high", "not_steady", "tagged", "tags", "baseline"),
    *(
        f"{quantity}_{name}"
        for quantity in QUANTITIES
        for name in ("verdict", "reason", "by_baseline", "by_baseline_low", "by_baseline_high", "p_adjusted")
    ),
    "allowed",
)


def lines(compared: Compared) -> Iterator[dict[str, object]]:
    """Return a line for each cell of each arm, in the arms' order and each plan's: what is missing is absent."""
    judged = {(each.key, each.quantity): each for each in compared.judged}
    for arm in compared.arms:
        for row in arm.cells:
            line = _line(arm, row)
            line["baseline"] = compared.baseline.name
            for quantity in QUANTITIES:
                found = judged.get(((arm.name, row.cell.id), quantity))
                if found is not None:
                    line.update(_verdict(found))
            yield line


def as_csv(compared: Compared) -> str:
    """Return the lines as CSV: times in seconds by repr, nothing where there is no number."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for line in lines(compared):
        writer.writerow({name: repr(value) if isinstance(value, float) else value for name, value in line.items()})
    return file.getvalue()


def _line(arm: Arm, row: CellRow) -> dict[str, object]:
    cell, count = row.cell, row.count
    line: dict[str, object] = {
        "arm": arm.name,
        "stack": arm.run.stack["name"],
        "framework": arm.run.stack["definition"]["framework"]["import_name"],
        "framework_version": arm.version,
        "python": arm.python,
        "engine": arm.run.engine["name"],
        "state": arm.state,
        "run_id": arm.run.run_id,
        "stack_sha256": arm.run.stack["sha256"],
        "effective_precision": arm.identity[cell.id]["precision"],
        "status": count.status,
        "reason": count.reason.code if count.reason else "",
        "ok": count.ok,
        "planned": count.planned,
        "not_steady": " ".join(f"{state}:{many}" for state, many in row.not_steady.items()),
        "tagged": row.tagged,
        "tags": " ".join(f"{tag.replace(' ', '')}:{many}" for tag, many in row.tags.items()),
    }
    for name in ("target", "placement", "op", "n", "dtype", "precision", "level"):
        line[name] = getattr(cell, name)
    once = arm.fresh.get(cell.id)
    if once is not None:
        line.update(fresh_status=once.count.status, fresh_ok=once.count.ok, fresh_planned=once.count.planned)
        line.update(_spread("start_up", once.start_up, "_s"))
        line.update(_spread("first_result", once.first_result, "_s"))
    for name, estimate, unit in (("cold", row.cold, "_s"), ("warm", row.warm, "_s"), ("ratio", row.ratio, "")):
        line.update(_spread(name, estimate, unit))
    return line


def _verdict(judged: Judged) -> dict[str, object]:
    found = judged.verdict
    line: dict[str, object] = {"verdict": found.word, "reason": found.reason}
    line.update(_spread("by_baseline", found.ratio, ""))
    if found.p_adjusted is not None:
        line["p_adjusted"] = found.p_adjusted
    out: dict[str, object] = {f"{judged.quantity}_{name}": value for name, value in line.items()}
    return {**out, "allowed": " ".join(judged.allowed)}


def _spread(name: str, estimate: Estimate | None, unit: str) -> dict[str, object]:
    if estimate is None:
        return {}
    values = (("", estimate.centre), ("_low", estimate.low), ("_high", estimate.high))
    return {f"{name}{suffix}{unit}": value for suffix, value in values if value is not None}
