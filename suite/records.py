# SPDX-License-Identifier: Apache-2.0
"""What a run leaves: the data models of ``run.json`` and of the lines of ``samples.jsonl``.

Times are seconds and named ``*_s``; phases are relative to the spawn of their process. Timestamps are UTC.
"""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import msgspec

SCHEMA = 2

Status = Literal[
    "ok",
    "unavailable",
    "unsupported_arch",
    "oom",
    "timeout",
    "killed",
    "crashed",
    "gpu_lost",
    "wrong_device",
    "unverified_placement",
    "wrong_result",
    "implausible",
    "not_cold",
    "over_budget",
    "interrupted",
]
Kind = Literal["probe", "pilot", "priming", "prepared", "fresh", "reproduce"]
Protocol = Literal["isolated", "reproduce"]

#: Phases in the order in which a sample passes through them.
PHASES = (
    "engine_start",
    "interpreter",
    "import",
    "device_init",
    "library_init",
    "inputs",
    "build",
    "compile",
    "first_execution",
    "warm",
    "verify",
    "teardown",
)


#: Phases of the reproduce protocol, where a whole pass over devices and shapes is one.
PASSES = ("first", "rerun")
PASS_PHASES = tuple(f"{name}_pass" for name in PASSES)

#: Those that make up ``cold``: in which the cell's own call may compile.
COLD_PHASES = ("build", "compile", "first_execution")


class Reason(msgspec.Struct, frozen=True):
    """Why something is not ok: a stable code, a sentence, what to do, and the file with the raw words."""

    code: str
    text: str
    next_step: str = ""
    raw_file: str | None = None


class Cell(msgspec.Struct, frozen=True):
    """What one row reports. ``level`` is "not_applicable" where the target has no on-disk JIT cache."""

    id: str
    stack: str
    target: str
    placement: str
    device: str
    op: str
    n: int
    dtype: str
    precision: str
    level: str
    python: str
    engine: str
    adapter: str = "tf_session"


class Planned(msgspec.Struct, frozen=True):
    """One sample of the plan, fixed before the run; ``block`` is its interleaving block."""

    id: str
    kind: Kind
    cell: str
    block: int


class Interval(msgspec.Struct, frozen=True):
    """One interval of a phase, in seconds since the spawn of the process."""

    name: str
    begin_s: float
    end_s: float


class Warm(msgspec.Struct, frozen=True):
    """The warm series of one sample: every call, and the clocks that prove them.

    ``throttlings``: how often a CPU quota stopped the worker during the series; ``pending``: after how many of
    ``probed`` further calls the device had work left, where it could be asked.
    """

    calls_s: list[float]
    outer_s: float
    late_drain_s: float | None = None
    idle_drain_s: float | None = None
    throttlings: int = 0
    pending: int | None = None
    probed: int | None = None


class DeviceClock(msgspec.Struct, frozen=True):
    """Calls after the warm series, each on two clocks: the wall's, as in the series, and the device's own events.

    ``wall_s`` holds the fetch of the scalar, ``device_s`` what the device did between the two events.
    """

    wall_s: list[float]
    device_s: list[float]


class Compiles(msgspec.Struct, frozen=True):
    """Compiles that the framework logged during one phase, and their time as it gave it."""

    count: int
    total_s: float


class Proof(msgspec.Struct, frozen=True):
    """One proof of a sample: did it hold, and on what evidence."""

    state: Literal["ok", "failed", "not_proven", "not_applicable"]
    text: str


class Pair(msgspec.Struct, frozen=True, rename={"which": "pass"}):
    """One pair of device and shape of the question's snippet, in one pass. ``taken_s`` is what it prints."""

    which: Literal["first", "rerun"]
    device: str
    n: int
    status: Status
    taken_s: float | None = None
    scalar: float | None = None
    compiles: int | None = None
    reason: str = ""


class Caches(msgspec.Struct, frozen=True):
    """The private cache folders' files, before and after the sample: paths and sizes in bytes."""

    before: dict[str, int] = {}
    after: dict[str, int] = {}


class Sample(msgspec.Struct, frozen=True):
    """One line of samples.jsonl: what one process measured, or why it did not.

    ``again``: the planned sample that this one was added for, because that one is tagged; ``session``: how often the
    run had been resumed before. ``cpu_s``: CPU seconds of the worker.
    """

    id: str
    kind: Kind
    cell: str
    block: int
    order: int
    started_utc: str
    status: Status
    reason: Reason | None = None
    first_result_s: float | None = None
    cold_s: float | None = None
    question_clock_s: float | None = None
    scalar: float | None = None
    warm: Warm | None = None
    phases: list[Interval] = []
    wall_s: float | None = None
    untimed_s: float | None = None
    worker_wall_s: float | None = None
    engine_start: str = "measured"
    proofs: dict[str, Proof] = {}
    evidence: dict[str, Any] = {}
    caches: Caches | None = None
    compiles: dict[str, Compiles] | None = None
    pairs: list[Pair] = []
    devices: list[str] = []
    facts: dict[str, Any] = {}
    process: dict[str, Any] = {}
    load: dict[str, Any] = {}
    again: str = ""
    session: int = 0
    cpu_s: float | None = None
    tags: list[str] = []
    telemetry: dict[str, Any] = {}
    device_clock: DeviceClock | None = None
    schema: int = SCHEMA


class Plan(msgspec.Struct, frozen=True):
    """What a run sets out to do; nothing in it changes afterwards."""

    profile: str
    targets: list[str]
    asked_by_name: list[str]
    shapes: list[int]
    samples: int
    warm_min_calls: int
    warm_s: float
    budget_s: float
    timeout_s: float
    seed: int
    operand_seed: int
    cells: list[Cell]
    planned: list[Planned]


class Run(msgspec.Struct, frozen=True):
    """run.json: everything a reader needs to know what was measured and to do it again.

    ``words``: the words that were given, by which RESUME= goes on; ``arm``: its name in a comparison, "" where the
    run stands alone.
    """

    run_id: str
    created_utc: str
    command: list[str]
    coldwarm: dict[str, Any]
    stack: dict[str, Any]
    environment: dict[str, Any]
    engine: dict[str, Any]
    host: dict[str, Any]
    worker_environment: dict[str, str]
    plan: Plan
    protocol: Protocol = "isolated"
    words: dict[str, str] = {}
    arm: str = ""
    schema: int = SCHEMA


class Arm(msgspec.Struct, frozen=True):
    """One of the runs of a comparison; ``folder`` is below the comparison's."""

    name: str
    folder: str
    run_id: str


class Judging(msgspec.Struct, frozen=True):
    """How the arms of a comparison are judged: against which, with which margin, and what may differ all the same.

    ``margin`` None: nothing is called SAME. ``allow``: fields of the gate that ALLOW= named.
    """

    baseline: str = ""
    margin: float | None = None
    allow: list[str] = []


class Comparison(msgspec.Struct, frozen=True):
    """comparison.json: several runs that were measured interleaved, or stored ones that were set side by side.

    ``order``: the number of the arm and the id of each planned sample, in the order in which they were run;
    ``instrument``: what the clock and the loop themselves cost, where it was measured; ``words``: those that were
    given; ``paired``: whether the arms' blocks were measured together.
    """

    id: str
    kind: Literal["selftest", "compare"]
    created_utc: str
    command: list[str]
    seed: int
    arms: list[Arm]
    order: list[tuple[int, str]]
    instrument: dict[str, float] = {}
    judging: Judging = Judging()
    words: dict[str, str] = {}
    paired: bool = True
    schema: int = SCHEMA


def from_json(data: bytes | str) -> Any:
    """Read strict JSON; ValueError for anything else: NaN, infinity by name or by size, endless nesting."""
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is no number that a float can hold")
    return value


def to_json(value: Any, indent: int | None = None) -> str:
    """Return strict JSON with sorted keys: no NaN (ValueError), floats by repr, text as it is."""
    builtins = msgspec.to_builtins(value)
    return json.dumps(builtins, sort_keys=True, allow_nan=False, ensure_ascii=False, indent=indent)
