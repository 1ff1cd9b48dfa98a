# SPDX-License-Identifier: Apache-2.0
"""From what a worker told to a sample's record, for honest events and for those that cannot be."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from suite import classify, sample_record
from suite.events import Events
from suite.launch import Outcome
from suite.records import Caches, Cell, Planned, Sample, to_json

SPAWN = 100.0
CELL = Cell(
    id="CPU.device.100",
    stack="s",
    target="CPU",
    placement="device",
    device="/device:CPU:0",
    op="matmul",
    n=100,
    dtype="float32",
    precision="default",
    level="device",
    python="3.6",
    engine="local",
)
#: Begin and end of each phase, in seconds since the spawn.
TIMES = {
    "import": (0.1, 0.5),
    "device_init": (0.5, 0.6),
    "library_init": (0.6, 0.8),
    "inputs": (0.8, 0.9),
    "build": (1.0, 1.1),
    "compile": (1.1, 1.3),
    "first_execution": (1.3, 1.7),
    "warm": (1.7, 1.8),
    "verify": (1.8, 1.9),
}


def worker() -> dict[str, dict[str, Any]]:
    """Return the events of an honest prepared sample by a name of their own; a test changes some."""
    nodes = [
        {"name": "operand", "op": "VarHandleOp", "device": "/device:CPU:0", "inputs": []},
        {"name": "P", "op": "MatMul", "device": "/device:CPU:0", "inputs": ["operand", "operand"]},
    ]
    right = {"rows": 0.1, "last": 0.1, "scalar": 0.1}
    told: dict[str, dict[str, Any]] = {
        "started": {"at_s": SPAWN + 0.02, "pid": 7, **classify.clock_frame()},
        "ready": {"at_s": SPAWN + 0.1},
        **{name: {"event": "phase", "name": name, **span(*times)} for name, times in TIMES.items()},
        "first_result": {"at_s": SPAWN + 1.7, "scalar": 3.5},
        "warm series": {"event": "warm", "calls_s": [0.01] * 10, "outer_s": 0.1},
        "drains": {"late_drain_s": 1e-5, "idle_drain_s": 1e-5},
        "cold result": {
            "event": "result",
            "of": "cold",
            "ratios": right,
            "entry_error": {"rms": 3.0, "largest": 9.0},
        },
        "warm result": {
            "event": "result",
            "of": "warm",
            "ratios": right,
            "entry_error": {"rms": 3.0, "largest": 9.0},
        },
        "placement": {"asked": "/device:CPU:0", "nodes": nodes},
        "facts": {"facts": {"framework_version": "1.14.0"}},
        "bytecode": {"modules": 10, "cached": 10, "share": 1.0},
        "done": {"at_s": SPAWN + 1.9},
    }
    return copy.deepcopy({name: {"v": 1, "event": name, **event} for name, event in told.items()})


def span(begin: float, end: float) -> dict[str, float]:
    return {"begin_s": SPAWN + begin, "end_s": SPAWN + end}


def judged(told: dict[str, dict[str, Any]], **given: Any) -> Sample:
    """Return the record; it must be strict JSON whatever the worker told."""
    how = {"exit_code": 0, "signal": None, "ended_by": "itself", "executing_s": SPAWN + 0.01, **given}
    kind, cell, caches = how.pop("kind", "prepared"), how.pop("cell", CELL), how.pop("caches", Caches())
    sample = sample_record.record(
        Planned(id="s", kind=kind, cell="CPU.device.100", block=2),
        cell,
        5,
        Outcome(spawn_s=SPAWN, ended_s=SPAWN + 2.0, pid=7, **how),
        Events(all=list(told.values())),
        caches,
        raw_file="raw/s/stderr.txt",
        stderr="",
        ceiling_flops=1e12,
        timeout_s=30.0,
        started_utc="2024-01-01T00:00:00.000000Z",
        load={},
    )
    to_json(sample)
    return sample


def refused(told: dict[str, dict[str, Any]]) -> str:
    """Return why a sample was refused as garbage; it must then show no time."""
    sample = judged(told)
    assert sample.status == "crashed" and sample.reason is not None and sample.reason.code == "bad_events"
    assert sample.reason.raw_file == "raw/s/stderr.txt"
    assert sample.cold_s is None and sample.first_result_s is None and sample.warm is None
    return sample.reason.text


def test_an_honest_sample_is_ok_with_its_times():
    """Fault: a phase too many or too few in a reported time."""
    sample = judged(worker())
    assert (sample.status, sample.reason, sample.engine_start) == ("ok", None, "measured")
    assert sample.cold_s == pytest.approx(0.1 + 0.2 + 0.4)
    assert sample.first_result_s == pytest.approx(1.7)
    assert sample.question_clock_s == pytest.approx(0.1 + 0.2 + 0.1 + 0.7)
    assert sample.wall_s == pytest.approx(2.0) and sample.worker_wall_s == pytest.approx(1.9)
    assert sample.scalar == 3.5 and sample.warm.calls_s == [0.01] * 10
    assert {proof.state for proof in sample.proofs.values()} == {"ok"} and len(sample.proofs) == 7
    assert (sample.id, sample.block, sample.order) == ("s", 2, 5)


def test_untimed_is_the_wall_less_the_sum_of_the_phases():
    """Fault: a gap is given to a neighbouring phase, or hidden."""
    sample = judged(worker())
    length = {each.name: each.end_s - each.begin_s for each in sample.phases}
    assert length["engine_start"] == pytest.approx(0.01) and length["interpreter"] == pytest.approx(0.09)
    assert length["teardown"] == pytest.approx(0.1)
    assert sample.untimed_s == pytest.approx(0.1)  # between inputs and build
    told = worker()
    told["import"].update(span(0.1, 0.4))
    assert judged(told).untimed_s == pytest.approx(0.2)


def test_intervals_of_one_phase_add_up():
    """Fault: of two intervals of one phase the last alone counts."""
    told = worker()
    told["build again"] = {"v": 1, "event": "phase", "name": "build", **span(0.92, 0.97)}
    sample = judged(told)
    assert sample.cold_s == pytest.approx(0.75) and sample.untimed_s == pytest.approx(0.05)


@pytest.mark.parametrize("missing", ["boot_id", "time_namespace"])
def test_engine_start_of_another_clock_is_not_measured(missing):
    """Fault: two clocks are subtracted and the difference is called the engine's start."""
    told = worker()
    told["started"][missing] = "another"
    sample = judged(told)
    assert sample.engine_start == "not_measured"
    names = [each.name for each in sample.phases]
    assert "engine_start" not in names and "teardown" not in names
    [interpreter] = [each for each in sample.phases if each.name == "interpreter"]
    assert interpreter.end_s - interpreter.begin_s == pytest.approx(0.08)


@pytest.mark.parametrize("ahead", [1000.0, -1000.0])
def test_readings_of_another_clock_are_not_compared_with_ours(ahead):
    """Fault: a container whose clock is 1000 s ahead shows a first result after 1000 s; behind, it crashed."""
    told = worker()
    told["started"]["time_namespace"] = "another"
    for event in told.values():
        event.update({name: event[name] + ahead for name in ("at_s", "begin_s", "end_s") if name in event})
    sample = judged(told)
    assert sample.status == "ok" and sample.cold_s == pytest.approx(0.7)
    assert sample.first_result_s is None or 0 < sample.first_result_s < 2


def test_a_worker_quicker_than_its_start_is_timed_once():
    """Fault: engine_start and interpreter overlap, and as much time that nobody measured goes unseen."""
    sample = judged(worker(), executing_s=SPAWN + 0.06)
    by_name = {each.name: each for each in sample.phases}
    assert by_name["engine_start"].end_s <= by_name["interpreter"].begin_s
    assert sample.untimed_s == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["warmup", "", "total", None, 3])
def test_an_unknown_phase_is_garbage(name):
    """Fault: a phase that no table knows is summed away."""
    told = worker()
    told["build"]["name"] = name
    assert "phase" in refused(told)


@pytest.mark.parametrize(
    "times", [(-0.1, 0.2), (1.1, 1.0), (float("nan"), 1.0), (1.0, float("nan")), (float("nan"), float("nan"))]
)
def test_a_phase_that_cannot_have_been_is_garbage(times):
    """Fault: before the spawn, ended before it began, or NaN, which compares false with everything."""
    told = worker()
    told["build"].update(span(*times))
    assert "phase build" in refused(told)


@pytest.mark.parametrize("value", [0.0, -0.01, float("nan"), None, "fast", [0.01]])
@pytest.mark.parametrize("where", ["call", "outer"])
def test_a_warm_time_that_is_none_is_garbage(where, value):
    """Fault: a call of 0 s, less or NaN makes the best median of all."""
    told = worker()
    if where == "call":
        told["warm series"]["calls_s"][3] = value
    else:
        told["warm series"]["outer_s"] = value
    refused(told)


@pytest.mark.parametrize(("event", "field"), [("first_result", "at_s"), ("started", "at_s"), ("done", "at_s")])
@pytest.mark.parametrize("value", [SPAWN - 50, float("nan"), float("inf")], ids=["before", "nan", "inf"])
def test_a_moment_that_cannot_have_been_is_garbage(event, field, value):
    """Fault: a first result 50 s before the spawn is shown as -50 s, ok; infinity cannot be journaled."""
    told = worker()
    told[event][field] = value
    refused(told)


def test_a_scalar_that_is_no_number_is_garbage():
    """Fault: the journal holds a line that its own reader refuses."""
    told = worker()
    told["first_result"]["scalar"] = "three"
    refused(told)


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ("ready", "at_s"),
        ("import", "begin_s"),
        ("build", "name"),
        ("first_result", "at_s"),
        ("first_result", "scalar"),
        ("warm series", "calls_s"),
        ("warm series", "outer_s"),
        ("drains", "idle_drain_s"),
        ("warm result", "ratios"),
        ("placement", "asked"),
        ("bytecode", "share"),
        ("facts", "facts"),
        ("done", "at_s"),
    ],
)
def test_an_event_without_what_it_must_hold_is_garbage(event, field):
    """Fault: a KeyError from one worker ends the run."""
    told = worker()
    del told[event][field]
    assert field in refused(told)


@pytest.mark.parametrize("event", [{"event": "phase_begin"}, {"event": "failure", "type": "Unavailable"}])
def test_garbage_that_ending_reads_is_garbage_too(event):
    """Fault: the same, for what says how a worker ended."""
    sample = judged({**worker(), "more": event})
    assert sample.status == "crashed"


def test_how_it_ended_goes_before_garbage():
    """Fault: a worker that the kernel killed while it wrote nonsense counts as one that only wrote nonsense."""
    told = worker()
    told["build"]["name"] = "nonsense"
    sample = judged(told, exit_code=None, signal=9)
    assert sample.status == "killed" and sample.reason.code == "killed"
    assert sample.process == {"pid": 7, "exit_code": None, "signal": 9}


def test_the_worst_failed_proof_is_the_samples_status():
    """Fault: the first failed proof decides, and a wrong result is shown as a cache that was not empty."""
    told = worker()
    del told["drains"]
    assert judged(told).status == "implausible"
    sample = judged(told, caches=Caches(before={"cuda/index": 3}))
    assert (sample.status, sample.reason.code) == ("implausible", "proof_synchronised")
    told["cold result"]["ratios"]["rows"] = None
    sample = judged(told, caches=Caches(before={"cuda/index": 3}))
    assert (sample.status, sample.reason.code) == ("wrong_result", "proof_result")
    assert sample.proofs["cold"].state == "failed" and sample.proofs["device"].state == "ok"
    assert judged(worker(), caches=Caches(before={"cuda/index": 3})).status == "not_cold"


def test_a_fresh_sample_needs_no_warm_result_and_the_others_do():
    """Fault: fresh samples fail for what they never do, or prepared ones pass without it."""
    told = worker()
    for name in ("warm result", "warm series", "drains"):
        del told[name]
    assert judged(told, kind="fresh").status == "ok"
    assert {judged(told, kind=kind).status for kind in ("prepared", "pilot")} == {"wrong_result"}


def test_a_probe_lists_devices_and_proves_nothing():
    """Fault: a probe fails for the proofs of a cell that it does not have."""
    told = {name: event for name, event in worker().items() if name in ("started", "ready", "import", "done")}
    told["devices"] = {"v": 1, "event": "devices", "devices": ["/device:CPU:0"]}
    sample = judged(told, kind="probe", cell=None)
    assert (sample.status, sample.devices, sample.proofs) == ("ok", ["/device:CPU:0"], {})


def test_what_a_worker_tells_of_work_left_reaches_the_proof():
    """Fault: the worker asks the device, and the record forgets its answer: no unsynchronised call is ever seen so."""
    told = worker()
    told["drains"].update(pending=14, probed=15)
    sample = judged(told)
    assert sample.status == "implausible"
    assert "14 of 15 calls" in sample.reason.text
    assert (sample.warm.pending, sample.warm.probed) == (14, 15)
    told["drains"].update(pending=0)
    assert judged(told).status == "ok"


def test_a_scalar_that_does_not_follow_the_operand_reaches_the_proof():
    """Fault: as above, for the call on twice the operand."""
    told = worker()
    told["rescaled"] = {"v": 1, "event": "rescaled", "scalar": 3.5, "doubled": 3.5}
    assert judged(told).status == "implausible"
    told["rescaled"]["doubled"] = 14.0
    assert judged(told).status == "ok"
