# SPDX-License-Identifier: Apache-2.0
"""One sample from request to record: start a worker, read what it told, judge it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from suite import classify, compile_counts, events, journal, levels, proofs
from suite.engines import Command, Engine
from suite.errors import SuiteError
from suite.exits import Exit
from suite.launch import Launcher, Outcome, launch
from suite.records import (
    PASS_PHASES,
    PHASES,
    Caches,
    Cell,
    Compiles,
    Interval,
    Kind,
    Pair,
    Planned,
    Reason,
    Sample,
    Status,
    Warm,
    to_json,
)
from suite.stack import CompileLog
from suite.telemetry.machine import Watched
from suite.telemetry.summary import summarise
from suite.telemetry.tags import tags
from suite.watch import Watch

#: Beside a sample's request and events: how its process went, so that the sample can be replayed.
OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Setting:
    """What all samples of a run share."""

    engine: Engine
    environment: Callable[[Path, Mapping[str, str]], dict[str, str]]
    """Makes a worker's environment from its private HOME and what else it needs."""
    probe_adapter: str
    placement_environment: Callable[[Cell | None], Mapping[str, str]]
    """What a cell's placement adds to it; for the probe (None), what all placements of the run add."""
    compile_log: CompileLog | None
    ceiling_flops: float
    timeout_s: float
    operand_seed: int
    raw: Path
    """Folder that holds one folder of raw files a sample."""
    load: Callable[[], dict[str, Any]]
    watch: Watch
    caches: levels.Folders
    watched: Watched | None = None
    """What records the machine around each sample; None where nothing is timed."""
    launch: Launcher = launch
    session: int = 0
    """How often the run has been resumed."""
    settled: Mapping[str, classify.Ending] = dataclasses.field(default_factory=dict)
    """Cells that are known not to run before anything starts, with why."""


def take(
    setting: Setting,
    planned: Planned,
    cell: Cell | None,
    order: int,
    *,
    warm_calls: int | None = None,
    warm_s: float = 0.0,
    more: Mapping[str, Any] = MappingProxyType({}),
    primed: Mapping[str, int] | None = None,
    again: str = "",
) -> Sample:
    """Run one sample and return its record.

    ``primed`` is what the cell's priming sample left in the caches that it keeps.

    ``cell`` is None where the sample is not of one cell: a probe, which only lists devices, and the snippet of
    the reproduce protocol. ``more`` is what else such a worker is asked.

    Raises
    ------
    SuiteError
        CELLS_FAILED where its files cannot be made (a full disk) or its process not be started: no sample is to
        blame for that, and the next would fare no better.
    """
    try:
        return _take(
            setting,
            planned,
            cell,
            order,
            warm_calls=warm_calls,
            warm_s=warm_s,
            more=more,
            primed=primed,
            again=again,
        )
    except OSError as error:
        where = error.filename or setting.raw / planned.id
        what = f"{where}: sample {planned.id} cannot be taken: {error.strerror or error}"
        raise SuiteError(Exit.CELLS_FAILED, what, journal.KEPT) from error


def _take(
    setting: Setting,
    planned: Planned,
    cell: Cell | None,
    order: int,
    *,
    warm_calls: int | None,
    warm_s: float,
    more: Mapping[str, Any],
    primed: Mapping[str, int] | None,
    again: str,
) -> Sample:
    folder = setting.raw / planned.id
    _set_aside(folder, setting.session)
    folder.mkdir(parents=True)
    level = cell.level if cell else levels.NOT_APPLICABLE
    cache = setting.caches.lay_out(folder, cell, planned.kind)
    variables = {name: str(cache / below) for name, below in levels.CACHE_VARIABLES.items()}
    environment = setting.environment(
        Path(variables["HOME"]), {**setting.placement_environment(cell), **variables}
    )
    if level == "disk":
        ask(setting, f"{planned.id}.drop", "drop", environment)
    before = levels.listing(cache)
    load = setting.load()
    started_utc = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    request = {
        "v": events.PROTOCOL,
        "events": str(folder / "events.jsonl"),
        "kind": planned.kind,
        "level": level,
        "adapter": cell.adapter if cell else setting.probe_adapter,
        "placement": cell.placement if cell else "device",
        "device": cell.device if cell else "/device:CPU:0",
        "n": cell.n if cell else 0,
        "seed": setting.operand_seed,
        "dtype": cell.dtype if cell else "float32",
        "precision": cell.precision if cell else "default",
        "warm_calls": warm_calls,
        "warm_s": warm_s,
        # Below the worker's own folder, where it runs: XLA_FLAGS ends a path at its first space.
        "modules_folder": "modules",
        **more,
    }
    command = setting.engine.worker_command(folder / "request.json", environment)
    sampler = setting.watched.beside(cell.device if cell else "") if setting.watched else None
    with sampler.around() if sampler else contextlib.nullcontext() as trace:
        outcome = _run(setting, command, request, folder)
    (folder / OUTCOME).write_text(to_json(dataclasses.asdict(outcome)), encoding="utf-8")
    told = events.read(folder / "events.jsonl")
    caches = Caches(before=before, after=levels.listing(cache))
    shutil.rmtree(folder / "modules", ignore_errors=True)
    # What the shell in a container opens first: without it no container was started, and the engine alone spoke.
    worker_began = not command.words or (folder / "stderr.txt").exists()
    words = folder / ("stderr.txt" if worker_began else f"{command.words}stderr.txt")
    raw_file = f"{folder.parent.name}/{folder.name}/{words.name}"
    said = words_of(words)
    sample = record(
        planned,
        cell,
        order,
        outcome,
        told,
        caches,
        raw_file=raw_file,
        stderr=said or words_of(folder / f"{command.words}stderr.txt"),
        refused=None if worker_began else classify.by_engine(outcome, said, command.about, raw_file),
        ceiling_flops=_ceiling_flops(setting, cell, told),
        timeout_s=setting.timeout_s,
        started_utc=started_utc,
        load=load,
        compiles=compile_counts.count(
            setting.compile_log, [*told.every("phase"), *told.every("pair")], folder / "stderr.txt"
        ),
        primed=primed,
        session=setting.session,
        again=again,
    )
    if trace is not None and setting.watched is not None:
        child = not command.words
        summary = summarise(
            trace,
            worker_cpu_s=sample.cpu_s,
            worker_is_child=child,
            own_pids=(outcome.pid,) if child else (),
            static=setting.watched.static,
        )
        sample = msgspec.structs.replace(sample, telemetry=summary, tags=tags(summary))
    # What a pilot or a failed priming left is no cell's cache.
    keep = planned.kind in ("prepared", "fresh") or (planned.kind == "priming" and sample.status == "ok")
    setting.caches.clear(cache, cell, keep=keep)
    return sample


def _run(setting: Setting, command: Command, request: dict[str, Any], folder: Path) -> Outcome:
    """Write the request, run the worker to its end, and leave nothing of it running."""
    spawn_s = time.monotonic()
    request["spawn_s"] = spawn_s
    (folder / "request.json").write_text(to_json(request), encoding="utf-8")
    whole = False
    try:
        outcome = setting.launch(
            command.argv,
            folder=folder,
            environment=command.environment,
            spawn_s=spawn_s,
            timeout_s=setting.timeout_s,
            watch=setting.watch,
            words=command.words,
        )
        whole = outcome.ended_by == "itself"
    finally:
        if not whole:
            setting.engine.clean_up(folder)
    return as_seen_inside(outcome) if command.words else outcome


def _ceiling_flops(setting: Setting, cell: Cell | None, told: events.Events) -> float:
    """Return the FLOP/s that this cell cannot exceed, at the precision that the worker says is in force."""
    if cell is None or "GPU" not in cell.device or setting.watched is None or not setting.watched.static:
        return setting.ceiling_flops
    facts = told.first("facts") or {}
    return setting.watched.ceiling_flops(str(facts.get("facts", {}).get("precision", "")))


def _set_aside(folder: Path, session: int) -> None:
    """Keep what an earlier session had left of a sample that it did not finish."""
    if not folder.exists():
        return
    aside = folder.with_name(f"{folder.name}.before-session-{session}")
    for number in itertools.count(2):
        # Two sessions may bear one number: the first was killed before it had a line to say that it was there.
        if not aside.exists():
            break
        aside = folder.with_name(f"{folder.name}.before-session-{session}.{number}")
    folder.rename(aside)


def ask(setting: Setting, name: str, kind: str, environment: Mapping[str, str] | None = None) -> events.Events:
    """Have the stack's own Python do something where workers run, and return what it told.

    ``kind``: "drop", the framework's files from the page cache, or "clock", measure the instrument. Whether files
    were dropped is proven by the sample that follows, not by what is told here.
    """
    folder = setting.raw / name
    _set_aside(folder, setting.session)
    folder.mkdir(parents=True)
    home = {variable: str(folder) for variable in ("HOME", "TMPDIR")}
    request = {"v": events.PROTOCOL, "events": str(folder / "events.jsonl"), "kind": kind}
    command = setting.engine.worker_command(
        folder / "request.json", environment or setting.environment(folder, home)
    )
    _run(setting, command, request, folder)
    return events.read(folder / "events.jsonl")


def as_seen_inside(outcome: Outcome) -> Outcome:
    """Return how a container's process ended: its client exits with 128 + N where signal N ended that."""
    code = outcome.exit_code
    if code is None or not 128 < code < 128 + 65:
        return outcome
    return dataclasses.replace(outcome, exit_code=None, signal=code - 128)


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
) -> Sample:
    """Turn what a worker told and how it ended into a sample; a pure function.

    ``refused``: why the engine could not start the worker, where its words are known.
    """
    ended = None
    try:
        ended = refused or classify.ending(outcome, told, stderr, raw_file, timeout_s)
        measured = _measured(planned.kind, cell, outcome, told, caches, ceiling_flops, compiles, primed)
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
    out["pairs"] = [_pair(event, compiles) for event in told.every("pair")]
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
    series, drains = told.first("warm"), told.first("drains")
    warm = None
    if series:
        calls = [_positive(value) for value in series["calls_s"]]
        warm = Warm(
            calls_s=calls,
            outer_s=_positive(series["outer_s"]),
            late_drain_s=float(drains["late_drain_s"]) if drains else None,
            idle_drain_s=float(drains["idle_drain_s"]) if drains else None,
            throttlings=int(series.get("throttlings", 0)),
        )
        out["warm"] = warm
    if done is None:
        return out
    placement, found = told.first("placement"), told.first("bytecode")
    reads = told.first("disk")
    out["evidence"] = {"placement": placement, "bytecode": found, "results": told.every("result")}
    if reads:
        out["evidence"]["disk"] = {name: reads[name] for name in ("read_bytes", "used_bytes")}
    judged = {
        "result": proofs.result(told.every("result"), ["cold"] if kind == "fresh" else ["cold", "warm"]),
        "device": proofs.device(placement, cell.n, compiles),
        "synchronised": proofs.synchronised(warm),
        "plausible": proofs.plausible(cell.n, length["first_execution"], warm, ceiling_flops),
        "cold": levels.proof(cell.level, kind, caches, primed, reads),
        "bytecode": proofs.bytecode(found),
    }
    out["proofs"] = {name: proof for name, (proof, _) in judged.items()}
    failures = [(name, proof, status) for name, (proof, status) in judged.items() if status is not None]
    if failures:
        out["failed"] = min(failures, key=lambda each: classify.severity(each[2]))
    return out


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


def _pair(event: Mapping[str, Any], compiles: Mapping[str, Compiles] | None) -> Pair:
    if event["status"] != "ok":
        return Pair(event["pass"], event["device"], int(event["n"]), event["status"])
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


def words_of(path: Path, size: int = 4000) -> str:
    """Return the end of a log: what a framework said last, however much it said before."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


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
