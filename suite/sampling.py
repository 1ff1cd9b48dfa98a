# SPDX-License-Identifier: Apache-2.0
"""One sample from request to record: start a worker, read what it told, have it judged by sample_record."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from suite import ceilings, classify, compile_counts, events, journal, levels, mechanism, sample_record
from suite.ablation import Mechanism
from suite.engines import Command, Engine
from suite.errors import SuiteError
from suite.exits import Exit
from suite.launch import Launcher, Outcome, launch
from suite.records import (
    Caches,
    Cell,
    Planned,
    Sample,
    to_json,
)
from suite.stack import CompileLog
from suite.telemetry.machine import Watched
from suite.telemetry.sampler import Trace
from suite.telemetry.summary import span, summarise
from suite.telemetry.tags import tags
from suite.watch import Watch

#: Beside a sample's request and events: how its process went, so that the sample can be replayed.
OUTCOME = "outcome.json"

#: Calls of a prepared sample on a GPU that its own clock takes too, after the series, where the framework has one; the
#: worker stops earlier after a second.
DEVICE_CLOCK_CALLS = 20


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
    asked: Callable[[Cell], Mapping[str, Any]] | None = None
    """What else a cell's workers are asked, by ``explain``."""
    mechanisms: Mapping[str, Mechanism] = dataclasses.field(default_factory=dict)
    """Signs of causes that are counted in every sample, by the cause's name."""


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
    if planned.kind == "priming":
        primed = setting.caches.begun(cell)
    cache = setting.caches.lay_out(folder, cell, planned.kind)
    variables = {name: str(cache / below) for name, below in levels.CACHE_VARIABLES.items()}
    environment = setting.environment(
        Path(variables["HOME"]), {**setting.placement_environment(cell), **variables}
    )
    environment = {name: value.replace(levels.CACHE, str(cache)) for name, value in environment.items()}
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
        "device_clock": device_clock(planned, cell),
        **(setting.asked(cell) if setting.asked and cell else {}),
        **more,
    }
    command = setting.engine.worker_command(folder / "request.json", environment)
    device = cell.device if cell else str(more.get("on_gpu", ""))
    on_gpu = "GPU" in device
    sampler = setting.watched.beside(device) if setting.watched else None
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
    sample = sample_record.record(
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
        free_bytes=free_bytes(trace, setting.watched) if on_gpu and _is_watched(setting, told) else None,
    )
    if setting.mechanisms and planned.kind in ("prepared", "fresh"):
        counted = mechanism.counts(setting.mechanisms, sample, told, folder)
        evidence = {**sample.evidence, "mechanisms": counted, "touched": told.first("touched") or {}}
        sample = msgspec.structs.replace(sample, evidence=evidence)
    if trace is not None and setting.watched is not None:
        child = not command.words
        summary = summarise(
            trace,
            worker_cpu_s=sample.cpu_s,
            worker_is_child=child,
            worker_span=span(told.first("started"), told.first("done")),
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
            end=(lambda: setting.engine.clean_up(folder)) if command.words else None,
        )
        whole = outcome.ended_by == "itself"
    finally:
        if not whole:
            setting.engine.clean_up(folder)
    return as_seen_inside(outcome) if command.words else outcome


def _ceiling_flops(setting: Setting, cell: Cell | None, told: events.Events) -> float:
    """Return the FLOP/s that this cell cannot exceed, at the precision that the worker says is in force."""
    facts = told.first("facts") or {}
    precision = str(facts.get("facts", {}).get("precision", ""))
    if cell is None or "GPU" not in cell.device:
        return ceilings.cpu_ceiling_flops(setting.ceiling_flops, precision)
    if setting.watched is None or not setting.watched.static:
        return setting.ceiling_flops
    return setting.watched.ceiling_flops(precision)


def device_clock(planned: Planned, cell: Cell | None) -> int:
    """Return how many further calls a worker makes on the device's own clock too, after its series."""
    on_gpu = planned.kind == "prepared" and cell is not None and "GPU" in cell.device
    return DEVICE_CLOCK_CALLS if on_gpu else 0


def _is_watched(setting: Setting, told: events.Events) -> bool:
    """Tell whether a worker's GPU is the watched one: CUDA may count in another order than NVML."""
    uuid = ((told.first("facts") or {}).get("facts") or {}).get("gpu_uuid")
    return not uuid or setting.watched is None or uuid == setting.watched.static.get("uuid")


def free_bytes(trace: Trace | None, watched: Watched | None) -> int | None:
    """Return what was free of the watched GPU's memory before the worker started; None where NVML does not say."""
    used = trace.begin.get("gpu", {}).get("memory_used_bytes") if trace else None
    total = watched.static.get("memory_total_bytes") if watched else None
    return int(total) - int(used) if total is not None and used is not None else None


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


def words_of(path: Path, size: int = 4000) -> str:
    """Return the end of a log: what a framework said last, however much it said before."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
