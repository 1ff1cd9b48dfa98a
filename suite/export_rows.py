# SPDX-License-Identifier: Apache-2.0
"""Stored runs as tidy tables: a row a sample, a row a warm call, a row a pair of reproduce. Pure functions.

A time of a cell (``cold_s``, ``warm_s``, ``first_result_s``) stands only where it is one of those that the cell's row
is made of: so the geometric mean over the rows of a cell is the number of the table. What the clocks of any other
sample read is in the columns ``raw_*_s`` and ``phase_*_s``, beside its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suite import gate, rows, steadiness
from suite.records import COLD_PHASES, PASS_PHASES, PHASES, Cell, Run, Sample
from suite.steadiness import Steadiness

#: What a column holds, and how a file keeps it.
Kind = type[str] | type[int] | type[float] | type[bool]
Value = str | int | float | bool | None
Row = dict[str, Value]

#: The run that a row belongs to, and what it was measured with.
_OF_RUN: dict[str, Kind] = {
    **dict.fromkeys(("run_id", "arm", "protocol", "profile", "created_utc"), str),
    **dict.fromkeys(("stack", "stack_sha256", "framework", "framework_version", "python_version", "wheels"), str),
    **dict.fromkeys(("engine", "cpu_model", "gpu_uuid", "driver_version", "worker_tree_sha256"), str),
}
_OF_CELL: dict[str, Kind] = {
    **dict.fromkeys(("cell", "target", "placement", "device", "adapter", "op"), str),
    **{"n": int, "dtype": str, "precision": str, "level": str, "python": str},
}
#: Of the cell that a sample belongs to, by all its samples of that kind.
_OF_COUNT: dict[str, Kind] = {"cell_status": str, "cell_ok": int, "cell_planned": int}
_OF_SAMPLE: dict[str, Kind] = {
    **{"sample": str, "kind": str, "block": int, "order": int, "session": int, "again": str, "started_utc": str},
    **{"status": str, "reason": str, "reason_text": str, "tags": str, "counted": bool},
}
_PROOFS = ("result", "device", "synchronised", "plausible", "cold", "bytecode")
_TIMES: dict[str, Kind] = dict.fromkeys(
    (
        *("cold_s", "warm_s", "first_result_s"),
        *("raw_cold_s", "raw_warm_s", "raw_first_result_s", "raw_question_clock_s"),
        *(f"phase_{name}_s" for name in (*PHASES, *PASS_PHASES)),
        *("wall_s", "worker_wall_s", "untimed_s", "cpu_s"),
        *("warm_outer_s", "late_drain_s", "idle_drain_s", "to_steady_s"),
    ),
    float,
)
_FURTHER: dict[str, Kind] = {
    **{"warm_calls": int, "steadiness": str, "steady_from": int, "throttlings": int},
    **{"compiles_cold": int, "compiles_warm": int},
    **dict.fromkeys((f"proof_{name}" for name in _PROOFS), str),
    **{"effective_precision": str, "effective_cpus": float, "threads": str, "onednn": str, "load_1": float},
}

SAMPLES: Mapping[str, Kind] = {**_OF_RUN, **_OF_SAMPLE, **_OF_CELL, **_OF_COUNT, **_TIMES, **_FURTHER}
CALLS: Mapping[str, Kind] = {
    **dict.fromkeys(("run_id", "arm", "stack", "sample", "kind", "cell", "target", "placement"), str),
    **{"n": int, "block": int, "status": str, "tags": str, "counted": bool},
    **{"call": int, "call_s": float, "steady": bool},
}
PAIRS: Mapping[str, Kind] = {
    **dict.fromkeys(("run_id", "stack", "sample"), str),
    **{"block": int, "sample_status": str, "pass": str, "device": str, "n": int, "status": str, "reason": str},
    **{"taken_s": float, "compiles": int},
}
#: Every table, by the name of its file.
TABLES: Mapping[str, Mapping[str, Kind]] = {"samples": SAMPLES, "calls": CALLS, "pairs": PAIRS}


def of_run(run: Run, samples: Sequence[Sample]) -> dict[str, list[Row]]:
    """Return the rows of one run by the name of their table, in the order in which its samples are stored.

    A column that a row lacks is empty there.
    """
    cells = {cell.id: cell for cell in run.plan.cells}
    counts = _counts(run, samples)
    shared = _shared(run, samples)
    of_samples: list[Row] = []
    calls: list[Row] = []
    pairs: list[Row] = []
    for sample in samples:
        cell = cells.get(sample.cell)
        count = counts.get((sample.kind, sample.cell))
        counted = bool(count and count.shows_times and sample.status == "ok" and not sample.again)
        found = steadiness.assess(sample.warm.calls_s) if sample.warm and sample.warm.calls_s else None
        of_samples.append(
            {
                **shared,
                **_identity(sample, cell),
                "counted": counted,
                **(
                    {"cell_status": count.status, "cell_ok": count.ok, "cell_planned": count.planned}
                    if count
                    else {}
                ),
                **_times(sample, found, counted),
                **_further(sample, found),
            }
        )
        calls += _calls(run, sample, cell, found, counted)
        pairs += _pairs(run, sample)
    return {"samples": of_samples, "calls": calls, "pairs": pairs}


def _counts(run: Run, samples: Sequence[Sample]) -> dict[tuple[str, str], rows.Count]:
    """Return the status of every cell by its prepared samples and, where there are any, by its fresh ones."""
    out = {("prepared", row.cell.id): row.count for row in rows.cell_rows(run, samples) if row.count.planned}
    out.update({("fresh", row.cell.id): row.count for row in rows.target_rows(run, samples)})
    return out


def _shared(run: Run, samples: Sequence[Sample]) -> Row:
    framework = run.stack.get("definition", {}).get("framework", {})
    told = sorted({str(each.facts["framework_version"]) for each in samples if "framework_version" in each.facts})
    gpu = {name: read(run) for name, read in gate.OF_GPU.items()}
    return {
        "run_id": run.run_id,
        "arm": run.arm,
        "protocol": run.protocol,
        "profile": run.plan.profile,
        "created_utc": run.created_utc,
        "stack": _text(run.stack.get("name")),
        "stack_sha256": _text(run.stack.get("sha256")),
        "framework": _text(framework.get("import_name")),
        "framework_version": " or ".join(told) or _text(framework.get("version")),
        "python_version": _text(run.environment.get("python_version")),
        "wheels": _text(run.environment.get("wheels")),
        "engine": _text(run.engine.get("name")),
        "cpu_model": _text(run.host.get("cpu_model")),
        "gpu_uuid": _text(gpu["gpu"]),
        "driver_version": _text(gpu["driver"]),
        "worker_tree_sha256": _text(run.coldwarm.get("worker_tree_sha256")),
    }


def _identity(sample: Sample, cell: Cell | None) -> Row:
    out: Row = {
        "sample": sample.id,
        "kind": sample.kind,
        "block": sample.block,
        "order": sample.order,
        "session": sample.session,
        "again": sample.again,
        "started_utc": sample.started_utc,
        "status": sample.status,
        "reason": sample.reason.code if sample.reason else None,
        "reason_text": sample.reason.text if sample.reason else None,
        "tags": _tags(sample),
        "cell": sample.cell,
    }
    if cell is not None:
        names = ("target", "placement", "device", "adapter", "op", "n", "dtype", "precision", "level", "python")
        out.update({name: getattr(cell, name) for name in names})
    return out


def _times(sample: Sample, found: Steadiness | None, counted: bool) -> Row:
    out: Row = {
        "raw_cold_s": sample.cold_s,
        "raw_warm_s": found.warm_s if found else None,
        "raw_first_result_s": sample.first_result_s,
        "raw_question_clock_s": sample.question_clock_s,
        "wall_s": sample.wall_s,
        "worker_wall_s": sample.worker_wall_s,
        "untimed_s": sample.untimed_s,
        "cpu_s": sample.cpu_s,
    }
    if counted and sample.kind == "prepared":
        out.update(cold_s=out["raw_cold_s"], warm_s=out["raw_warm_s"])
    if counted and sample.kind == "fresh":
        out["first_result_s"] = sample.first_result_s
    lengths: dict[str, float] = {}
    for each in sample.phases:
        lengths[each.name] = lengths.get(each.name, 0.0) + each.end_s - each.begin_s
    out.update({f"phase_{name}_s": value for name, value in lengths.items()})
    if sample.warm is not None:
        out["warm_outer_s"] = sample.warm.outer_s
        out["late_drain_s"], out["idle_drain_s"] = sample.warm.late_drain_s, sample.warm.idle_drain_s
        out["to_steady_s"] = steadiness.time_to_steady_s(sample.warm.calls_s, found) if found else None
    return out


def _further(sample: Sample, found: Steadiness | None) -> Row:
    facts = sample.facts
    out: Row = {f"proof_{name}": proof.state for name, proof in sample.proofs.items()}
    if sample.warm is not None and found is not None:
        out.update(warm_calls=len(sample.warm.calls_s), throttlings=sample.warm.throttlings)
        out.update(steadiness=found.state, steady_from=found.steady_from)
    if sample.compiles is not None:
        told = sample.compiles
        out["compiles_cold"] = sum(told[name].count for name in COLD_PHASES if name in told)
        out["compiles_warm"] = told["warm"].count if "warm" in told else 0
    cpus = facts.get("cpus")
    effective = cpus.get("effective") if isinstance(cpus, dict) else None
    out["effective_cpus"] = float(effective) if isinstance(effective, (int, float)) else None
    out["effective_precision"] = _text(facts.get("precision"))
    out["threads"], out["onednn"] = _text(facts.get("intra_op_threads")), _text(facts.get("onednn"))
    load = sample.load.get("loadavg_1")
    out["load_1"] = float(load) if isinstance(load, (int, float)) else None
    return out


def _calls(run: Run, sample: Sample, cell: Cell | None, found: Steadiness | None, counted: bool) -> Iterator[Row]:
    if sample.warm is None or found is None:
        return
    shared: Row = {
        **{"run_id": run.run_id, "arm": run.arm, "stack": _text(run.stack.get("name"))},
        **{"sample": sample.id, "kind": sample.kind, "cell": sample.cell, "block": sample.block},
        **{"status": sample.status, "tags": _tags(sample), "counted": counted},
    }
    if cell is not None:
        shared.update(target=cell.target, placement=cell.placement, n=cell.n)
    for place, call_s in enumerate(sample.warm.calls_s):
        yield {**shared, "call": place, "call_s": call_s, "steady": place >= found.steady_from}


def _pairs(run: Run, sample: Sample) -> Iterator[Row]:
    for each in sample.pairs:
        yield {
            **{"run_id": run.run_id, "stack": _text(run.stack.get("name")), "sample": sample.id},
            **{"block": sample.block, "sample_status": sample.status},
            **{"pass": each.which, "device": each.device, "n": each.n, "status": each.status},
            **{"reason": each.reason or None, "taken_s": each.taken_s, "compiles": each.compiles},
        }


def _tags(sample: Sample) -> str | None:
    return "; ".join(sample.tags) or None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
