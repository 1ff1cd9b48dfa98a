# SPDX-License-Identifier: Apache-2.0
"""One sample from request to record: start a worker, read what it told, judge it."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite import classify, events, proofs
from suite.engines import Engine
from suite.launch import Launcher, Outcome, launch
from suite.records import PHASES, Caches, Cell, Interval, Kind, Planned, Reason, Sample, Status, Warm, to_json
from suite.watch import Watch

#: Folders below a sample's private cache folder, by the variable that points there.
CACHE_VARIABLES = {
    "HOME": "home",
    "XDG_CACHE_HOME": "xdg",
    "XDG_CONFIG_HOME": "config",
    "CUDA_CACHE_PATH": "cuda",
    "JAX_COMPILATION_CACHE_DIR": "jax",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TMPDIR": "tmp",
}


#: Beside a sample's request and events: how its process went, so that the sample can be replayed.
OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Setting:
    """What all samples of a run share."""

    engine: Engine
    environment: Callable[[Path, Mapping[str, str]], dict[str, str]]
    """Makes a worker's environment from its private HOME and the cache variables."""
    adapter: str
    ceiling_flops: float
    timeout_s: float
    operand_seed: int
    raw: Path
    """Folder that holds one folder of raw files a sample."""
    load: Callable[[], dict[str, Any]]
    watch: Watch
    launch: Launcher = launch


def take(
    setting: Setting,
    planned: Planned,
    cell: Cell | None,
    order: int,
    *,
    warm_calls: int | None = None,
    warm_s: float = 0.0,
) -> Sample:
    """Run one sample and return its record. ``cell`` is None for a probe, which only lists devices."""
    folder = setting.raw / planned.id
    folder.mkdir(parents=True)
    cache = folder / "cache"
    variables = {name: str(cache / below) for name, below in CACHE_VARIABLES.items()}
    for path in variables.values():
        Path(path).mkdir(parents=True)
    before = _listing(cache)
    load = setting.load()
    started_utc = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    request = {
        "v": events.PROTOCOL,
        "events": str(folder / "events.jsonl"),
        "kind": planned.kind,
        "adapter": setting.adapter,
        "device": cell.device if cell else "/device:CPU:0",
        "n": cell.n if cell else 0,
        "seed": setting.operand_seed,
        "dtype": cell.dtype if cell else "float32",
        "warm_calls": warm_calls,
        "warm_s": warm_s,
        "modules_folder": str(folder / "modules"),
    }
    argv = setting.engine.worker_command(folder / "request.json")
    environment = setting.environment(Path(variables["HOME"]), variables)
    spawn_s = time.monotonic()
    request["spawn_s"] = spawn_s
    (folder / "request.json").write_text(to_json(request), encoding="utf-8")
    outcome = setting.launch(
        argv,
        folder=folder,
        environment=environment,
        spawn_s=spawn_s,
        timeout_s=setting.timeout_s,
        watch=setting.watch,
    )
    (folder / OUTCOME).write_text(to_json(dataclasses.asdict(outcome)), encoding="utf-8")
    told = events.read(folder / "events.jsonl")
    caches = Caches(before=before, after=_listing(cache))
    for made in (cache, folder / "modules"):
        shutil.rmtree(made, ignore_errors=True)
    raw_file = f"{folder.parent.name}/{folder.name}/stderr.txt"
    return record(
        planned,
        cell,
        order,
        outcome,
        told,
        caches,
        raw_file=raw_file,
        stderr=_tail(folder / "stderr.txt"),
        ceiling_flops=setting.ceiling_flops,
        timeout_s=setting.timeout_s,
        started_utc=started_utc,
        load=load,
    )


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
) -> Sample:
    """Turn what a worker told and how it ended into a sample; a pure function."""
    ended = classify.ending(outcome, told, stderr, raw_file, timeout_s)
    try:
        measured = _measured(planned.kind, cell, outcome, told, caches, ceiling_flops)
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
        **measured,
    )


def _measured(
    kind: Kind,
    cell: Cell | None,
    outcome: Outcome,
    told: events.Events,
    caches: Caches,
    ceiling_flops: float,
) -> dict[str, Any]:
    """Return the record's fields that come from events, and under "failed" the worst proof."""
    out: dict[str, Any] = {"wall_s": outcome.ended_s - outcome.spawn_s}
    phases, out["engine_start"] = _phases(outcome, told)
    out["phases"] = phases
    out["untimed_s"] = out["wall_s"] - sum(each.end_s - each.begin_s for each in phases)
    done = told.first("done")
    if done:
        out["worker_wall_s"] = float(done["at_s"]) - outcome.spawn_s
    for name in ("devices", "facts"):
        event = told.first(name)
        if event:
            out[name] = event[name]
    first = told.first("first_result")
    if first is None or cell is None:
        return out
    length = dict.fromkeys(PHASES, 0.0)
    for each in phases:
        length[each.name] += each.end_s - each.begin_s
    cold_s = length["build"] + length["compile"] + length["first_execution"]
    out["first_result_s"] = float(first["at_s"]) - outcome.spawn_s
    out["cold_s"] = cold_s
    out["question_clock_s"] = length["device_init"] + length["library_init"] + length["inputs"] + cold_s
    out["scalar"] = first["scalar"]
    series, drains = told.first("warm"), told.first("drains")
    warm = None
    if series:
        calls = [_positive(value) for value in series["calls_s"]]
        warm = Warm(
            calls_s=calls,
            outer_s=_positive(series["outer_s"]),
            late_drain_s=float(drains["late_drain_s"]) if drains else None,
            idle_drain_s=float(drains["idle_drain_s"]) if drains else None,
        )
        out["warm"] = warm
    if done is None:
        return out
    placement, found = told.first("placement"), told.first("bytecode")
    out["evidence"] = {"placement": placement, "bytecode": found, "results": told.every("result")}
    judged = {
        "result": proofs.result(told.every("result"), ["cold"] if kind == "fresh" else ["cold", "warm"]),
        "device": proofs.device(placement, cell.n),
        "synchronised": proofs.synchronised(warm),
        "plausible": proofs.plausible(cell.n, length["first_execution"], warm, ceiling_flops),
        "cold": proofs.cold(caches.before, cell.level),
        "bytecode": proofs.bytecode(found),
    }
    out["proofs"] = {name: proof for name, (proof, _) in judged.items()}
    failures = [(name, proof, status) for name, (proof, status) in judged.items() if status is not None]
    if failures:
        out["failed"] = min(failures, key=lambda each: classify.severity(each[2]))
    return out


def _phases(outcome: Outcome, told: events.Events) -> tuple[list[Interval], str]:
    """Return all intervals relative to the spawn, and whether ``engine_start`` could be measured."""
    started, ready = told.first("started"), told.first("ready")
    out = []
    state = "measured"
    if started and ready:
        if classify.same_clock(started):
            out.append(Interval("engine_start", 0.0, outcome.executing_s - outcome.spawn_s))
            begin = outcome.executing_s
        else:
            state, begin = "not_measured", float(started["at_s"])
        # A worker can be quicker than the return of the call that started it.
        begin = min(begin, float(started["at_s"]))
        out.append(Interval("interpreter", begin - outcome.spawn_s, float(ready["at_s"]) - outcome.spawn_s))
    for event in told.every("phase"):
        if event["name"] not in PHASES:
            raise ValueError(f"phase {event['name']!r}")
        begin_s, end_s = float(event["begin_s"]) - outcome.spawn_s, float(event["end_s"]) - outcome.spawn_s
        if not 0 <= begin_s <= end_s:
            raise ValueError(f"phase {event['name']} from {begin_s} to {end_s} s")
        out.append(Interval(event["name"], begin_s, end_s))
    done = told.first("done")
    if done and state == "measured":
        # What the process itself takes to end: the kernel lets go of its memory.
        out.append(Interval("teardown", float(done["at_s"]) - outcome.spawn_s, outcome.ended_s - outcome.spawn_s))
    return out, state


def _positive(value: Any) -> float:
    number = float(value)
    if not number > 0:
        raise ValueError(f"a time of {value!r} s")
    return number


def _listing(folder: Path) -> dict[str, int]:
    """Return every file below ``folder`` with its size in bytes."""
    return {
        path.relative_to(folder).as_posix(): path.lstat().st_size
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
    }


def _tail(path: Path, size: int = 4000) -> str:
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
