# SPDX-License-Identifier: Apache-2.0
"""From what one worker told, and how its process ended, to the record of a sample: pure, and nothing is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from suite import classify, compile_counts, events, levels, proofs
from suite.launch import Outcome
from suite.records import (
    PASS_PHASES,
    PHASES,
    Caches,
    Cell,
    Compiles,
    DeviceClock,
    Interval,
    Kind,
    Pair,
    Planned,
    Reason,
    Sample,
    Status,
    Warm,
)
from suite.room import Room, needed_bytes, says_out_of_memory


def record(
    planned: Planned,
    cell: Cell | None,
    order: int,
    outcome: Outcome,
    told: events.Events,
    caches: Caches,
    *,
    raw_file: str,
    stderr: str,
    ceiling_flops: float,
    timeout_s: float,
    started_utc: str,
    load: dict[str, Any],
    compiles: dict[str, Compiles] | None = None,
    primed: Mapping[str, int] | None = None,
    session: int = 0,
    again: str = "",
    refused: classify.Ending | None = None,
    free_bytes: int | None = None,
) -> Sample:
    """Turn what a worker told and how it ended into a sample; a pure function.

    ``refused``: why the engine could not start the worker, where its words are known. ``free_bytes``: what was free
    of the device's memory before the start, where the host could see it.
    """
    ended = None
    try:
        compiles = compile_counts.recorded(told) if compiles is None else compiles
        room = _room(cell, told, free_bytes)
        ended = refused or classify.ending(outcome, told, stderr, raw_file, timeout_s, room)
        measured = _measured(
            planned.kind, cell, outcome, told, caches, ceiling_flops, compiles, primed, free_bytes
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # Whole events of the right version that do not hold what they must: as good as garbage.
        measured = {}
        text = f"what the worker told cannot be used: {type(error).__name__}: {error}"
        ended = ended or (Reason("bad_events", text, raw_file=raw_file), "crashed")
    failed = measured.pop("failed", None)
    if ended is None and failed is not None:
        name, proof, status = failed
        next_step = "docs/values.md says what each proof is."
        ended = (Reason(f"proof_{name}", proof.text, next_step, raw_file), status)
    return Sample(
        id=planned.id,
        kind=planned.kind,
        cell=planned.cell,
        block=planned.block,
        order=order,
        started_utc=started_utc,
        status=ended[1] if ended else "ok",
        reason=ended[0] if ended else None,
        process={"pid": outcome.pid, "exit_code": outcome.exit_code, "signal": outcome.signal},
        load=load,
        caches=caches,
        compiles=compiles,
        session=session,
        again=again,
        **measured,
    )


def _measured(
    kind: Kind,
    cell: Cell | None,
    outcome: Outcome,
    told: events.Events,
    caches: Caches,
    ceiling_flops: float,
    compiles: dict[str, Compiles] | None,
    primed: Mapping[str, int] | None,
    free_bytes: int | None,
) -> dict[str, Any]:
    """Return the record's fields that come from events, and under "failed" the worst proof."""
    out: dict[str, Any] = {"wall_s": outcome.ended_s - outcome.spawn_s}
    started, done = told.first("started"), told.first("done")
    # Where the worker's clock is not ours, its own first reading is where its times begin.
    shared = started is None or classify.same_clock(started)
    origin_s = outcome.spawn_s if shared or started is None else _moment(started["at_s"], None)
    out["engine_start"] = "measured" if shared else "not_measured"
    out["phases"] = phases = _phases(outcome, told, origin_s, shared)
    if done:
        out["worker_wall_s"] = _moment(done["at_s"], origin_s)
        out["cpu_s"] = _number(done["cpu_s"]) if "cpu_s" in done else None
    covered = out["wall_s"] if shared else out.get("worker_wall_s", 0.0)
    out["untimed_s"] = covered - sum(each.end_s - each.begin_s for each in phases)
    for name in ("devices", "facts"):
        event = told.first(name)
        if event:
            out[name] = event[name]
    out["pairs"] = [_pair(event, compiles, free_bytes) for event in told.every("pair")]
    first = told.first("first_result")
    if first is None or cell is None:
        return out
    length = dict.fromkeys(PHASES, 0.0)
    for each in phases:
        length[each.name] += each.end_s - each.begin_s
    cold_s = length["build"] + length["compile"] + length["first_execution"]
    out["first_result_s"] = _moment(first["at_s"], origin_s)
    out["cold_s"] = cold_s
    out["question_clock_s"] = length["device_init"] + length["library_init"] + length["inputs"] + cold_s
    out["scalar"] = _number(first["scalar"])
    out["warm"] = warm = _warm(told)
    out["device_clock"] = _device_clock(told)
    if done is None:
        return out
    placement, found = told.first("placement"), told.first("bytecode")
    reads = told.first("disk")
    out["evidence"] = {"placement": placement, "bytecode": found, "results": told.every("result")}
    if reads:
        out["evidence"]["disk"] = {name: reads[name] for name in ("read_bytes", "used_bytes")}
    rescaled = told.first("rescaled")
    if rescaled:
        out["evidence"]["rescaled"] = {name: _number(rescaled[name]) for name in ("scalar", "doubled")}
    results = told.every("result")
    out["facts"] = {**out["facts"], "effective_precision": proofs.effective_precision(results, cell.n)}
    judged = {
        "precision": proofs.precision(results, cell.precision, cell.n, str(out["facts"].get("precision") or "")),
        "result": proofs.result(results, ["cold"] if kind == "fresh" else ["cold", "warm"]),
        "device": proofs.device(placement, cell.n, compiles),
        "synchronised": proofs.synchronised(warm, rescaled),
        "plausible": proofs.plausible(cell.n, length["first_execution"], warm, ceiling_flops),
        "cold": levels.proof(cell.level, kind, caches, primed, reads),
        "bytecode": proofs.bytecode(found),
    }
    out["proofs"] = {name: proof for name, (proof, _) in judged.items()}
    failures = [(name, proof, status) for name, (proof, status) in judged.items() if status is not None]
    if failures:
        out["failed"] = min(failures, key=lambda each: classify.severity(each[2]))
    return out


def _warm(told: events.Events) -> Warm | None:
    """Return the warm series, None where the worker told of none."""
    series, drains = told.first("warm"), told.first("drains")
    if not series:
        return None
    return Warm(
        calls_s=[_positive(value) for value in series["calls_s"]],
        outer_s=_positive(series["outer_s"]),
        late_drain_s=float(drains["late_drain_s"]) if drains else None,
        idle_drain_s=float(drains["idle_drain_s"]) if drains else None,
        throttlings=int(series.get("throttlings", 0)),
        pending=int(drains["pending"]) if drains and "pending" in drains else None,
        probed=int(drains["probed"]) if drains and "probed" in drains else None,
    )


def _device_clock(told: events.Events) -> DeviceClock | None:
    """Return the calls on two clocks, None where the worker told of none; ValueError where they do not pair up."""
    clocked = told.first("device_clock")
    if not clocked:
        return None
    wall_s, device_s = ([_positive(value) for value in clocked[name]] for name in ("wall_s", "device_s"))
    if len(wall_s) != len(device_s) or not wall_s:
        raise ValueError(f"{len(wall_s)} calls on one clock, {len(device_s)} on the other")
    return DeviceClock(wall_s, device_s)


def _room(cell: Cell | None, told: events.Events, free_bytes: int | None) -> Room | None:
    """Return what the cell needs of its device's memory, beside what was free: the least that anyone told.

    The worker's figure is its allocator's, which may be a share of the whole memory whatever other processes hold
    (JAX without preallocation); the host's is the driver's, before the start.
    """
    if cell is None:
        return None
    memory = told.first("memory")
    free = [
        each for each in (int(_number(memory["free_bytes"])) if memory else None, free_bytes) if each is not None
    ]
    return Room(needed_bytes(cell.n, cell.dtype), min(free, default=None))


def _phases(outcome: Outcome, told: events.Events, origin_s: float, shared: bool) -> list[Interval]:
    """Return all intervals relative to ``origin_s``; ``shared``: do worker and parent share a clock?"""
    started, ready, done = told.first("started"), told.first("ready"), told.first("done")
    out = []
    if started and ready:
        begin = _moment(started["at_s"], origin_s)
        if shared:
            # A worker can be quicker than the return of the call that started it. In a container that call starts
            # a client; there the worker tells when its own program was executed.
            told_s = started.get("exec_at_s")
            executing_s = outcome.executing_s if told_s is None else _number(told_s)
            begin = min(_moment(executing_s, origin_s), begin)
            out.append(Interval("engine_start", 0.0, begin))
        out.append(Interval("interpreter", begin, _moment(ready["at_s"], origin_s)))
    for event in told.every("phase"):
        if event["name"] not in PHASES + PASS_PHASES:
            raise ValueError(f"phase {event['name']!r}")
        begin_s, end_s = float(event["begin_s"]) - origin_s, float(event["end_s"]) - origin_s
        if not 0 <= begin_s <= end_s:
            raise ValueError(f"phase {event['name']} from {begin_s} to {end_s} s")
        out.append(Interval(event["name"], begin_s, end_s))
    if done and shared:
        # What the process itself takes to end: the kernel lets go of its memory.
        out.append(Interval("teardown", _moment(done["at_s"], origin_s), outcome.ended_s - outcome.spawn_s))
    return out


def _pair(event: Mapping[str, Any], compiles: Mapping[str, Compiles] | None, free_bytes: int | None) -> Pair:
    if event["status"] != "ok":
        status, reason = event["status"], str(event.get("reason", ""))
        if status in ("oom", "crashed") and "GPU" in event["device"]:
            room = Room(needed_bytes(int(event["n"]), "float32"), free_bytes)
            if status == "oom" or says_out_of_memory(reason, room):
                status, reason = "oom", f"{room.text()}: {reason}"
        return Pair(event["pass"], event["device"], int(event["n"]), status, reason=reason)
    counted = None
    if compiles is not None:
        counted = compiles[event["name"]].count if event["name"] in compiles else 0
    return Pair(
        event["pass"],
        event["device"],
        int(event["n"]),
        "ok",
        taken_s=_positive(_number(event["end_s"]) - _number(event["begin_s"])),
        scalar=_number(event["scalar"]),
        compiles=counted,
    )


def _moment(value: Any, origin_s: float | None) -> float:
    """Return a clock reading, relative to ``origin_s`` where there is one; ValueError before it or not finite."""
    at_s = _number(value) - (origin_s or 0.0)
    if origin_s is not None and at_s < 0:
        raise ValueError(f"a moment {-at_s:g} s before the start")
    return at_s


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} where a number is expected")
    return float(value)


def _positive(value: Any) -> float:
    number = _number(value)
    if number <= 0:
        raise ValueError(f"a time of {value!r} s")
    return number


def not_run(planned: Planned, order: int, status: Status, reason: Reason, devices: list[str]) -> Sample:
    """Return the record of a sample that was planned and could not be run."""
    return Sample(
        id=planned.id,
        kind=planned.kind,
        cell=planned.cell,
        block=planned.block,
        order=order,
        started_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        status=status,
        reason=reason,
        devices=devices,
    )
