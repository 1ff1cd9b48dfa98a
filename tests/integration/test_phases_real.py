# SPDX-License-Identifier: Apache-2.0
"""Phases are intervals: a delay shows up in the phase it happened in, and between phases in ``untimed``."""

from __future__ import annotations

import statistics

import pytest

from suite.records import Sample
from tests.integration.harness import Taker, plant

pytestmark = pytest.mark.real

SLEEP_S = 0.3
WORKER_PHASES = (
    "import",
    "device_init",
    "library_init",
    "inputs",
    "build",
    "first_execution",
    "warm",
    "verify",
    "teardown",
)

IN_PHASE = """
import contextlib, time
import phases
measure, seen = phases.Phases.measure, set()
@contextlib.contextmanager
def delayed(self, name):
    with measure(self, name):
        if name == {name!r} and name not in seen:
            seen.add(name)
            begin = time.monotonic()
            time.sleep(0.3)
            self._channel.send("slept", begin_s=begin, end_s=time.monotonic())
        yield
phases.Phases.measure = delayed
"""

BEFORE_PHASE = """
import contextlib, time
import phases
measure, seen = phases.Phases.measure, set()
@contextlib.contextmanager
def delayed(self, name):
    if name == {name!r} and name not in seen:
        seen.add(name)
        time.sleep(0.3)
    with measure(self, name):
        yield
phases.Phases.measure = delayed
"""


ONE_PROCESS = """
import contextlib
import matmul, phases, tf_session
measure, init, made = phases.Phases.measure, tf_session.Adapter.__init__, []
def remember(self, *arguments):
    init(self, *arguments)
    made.append(self)
tf_session.Adapter.__init__ = remember
@contextlib.contextmanager
def after_the_other_target(self, name):
    if name == "build":  # as a loop over targets in one process reaches this one's call
        for device in ("/device:XLA_CPU:0", "/device:CPU:0"):
            other = tf_session.Adapter({"device": device, "precision": "default", "modules_folder": ""}, 0)
            other._tf = made[0]._tf
            other.open()
            other.place(matmul.operand(50, 1, "float32"))
            other.build()
            other.execute()
            other.close()
    with measure(self, name):
        yield
phases.Phases.measure = after_the_other_target
"""


def allowed_untimed(sample: Sample) -> float:
    assert sample.wall_s is not None
    return 0.01 * sample.wall_s + 0.02


def length(sample: Sample, name: str) -> float:
    return sum(each.end_s - each.begin_s for each in sample.phases if each.name == name)


@pytest.mark.parametrize("kind", ["prepared", "fresh"])
@pytest.mark.parametrize("target", ["CPU", "XLA_CPU"])
def test_nearly_nothing_is_untimed(taker: Taker, kind: str, target: str):
    """Fault: time that belongs to no phase, so that the phases explain less than they seem to."""
    samples = [taker.take(target, 500, kind=kind) for _ in range(3)]
    for sample in samples:
        assert sample.status == "ok", sample.reason
        assert sample.untimed_s is not None and sample.wall_s is not None and sample.worker_wall_s is not None
        assert sample.untimed_s >= 0
    assert statistics.median(s.untimed_s - allowed_untimed(s) for s in samples) <= 0  # type: ignore[operator]
    # The worker's own last word and the parent's wait for its end are two clocks of one wall time.
    off = statistics.median(s.wall_s - s.worker_wall_s - allowed_untimed(s) for s in samples)  # type: ignore[operator]
    assert off <= 0


@pytest.mark.parametrize("name", WORKER_PHASES)
def test_a_delay_in_a_phase_is_in_that_phase(taker: Taker, tmp_path, name: str):
    """Fault: a phase that is the gap between two marks, or whose clock stops before its work."""
    sample = taker.take("CPU", 50, worker=plant(tmp_path / "worker", IN_PHASE.format(name=name)))
    assert sample.status == "ok", sample.reason
    spawn_s = next(each.begin_s for each in sample.phases if each.name == "engine_start")
    assert spawn_s == 0.0
    slept = _slept(taker, sample)
    inside = [each for each in sample.phases if each.name == name and each.end_s - each.begin_s >= SLEEP_S]
    assert len(inside) == 1
    # The sleep lies whole inside the interval, and what lies around it is not longer than without it.
    assert inside[0].begin_s <= slept[0] and slept[1] <= inside[0].end_s
    assert slept[1] - slept[0] <= SLEEP_S + 0.02
    assert sample.untimed_s is not None and sample.untimed_s <= allowed_untimed(sample)
    baseline = taker.take("CPU", 50)
    if length(baseline, name) < 0.1:  # an import or a warm series varies by more than what is looked for
        assert abs(length(sample, name) - length(baseline, name) - SLEEP_S) <= 0.02 + length(baseline, name)


@pytest.mark.parametrize("name", [each for each in WORKER_PHASES if each != "import"])
def test_a_delay_between_phases_is_untimed(taker: Taker, tmp_path, name: str):
    """Fault: phases that are joined end to end and so swallow what lies between them."""
    sample = taker.take("CPU", 50, worker=plant(tmp_path / "worker", BEFORE_PHASE.format(name=name)))
    assert sample.status == "ok", sample.reason
    assert sample.untimed_s is not None
    assert SLEEP_S <= sample.untimed_s <= SLEEP_S + 0.02 + allowed_untimed(sample)


def test_one_process_per_sample_matters(taker: Taker, tmp_path):
    """Fault: both targets measured in one process: whichever comes second finds the first one's start paid.

    A build that does so shifts the CPU's cold by more than 3 times; ours stays within 3 times whichever
    target was measured before.
    """
    one_process = plant(tmp_path / "worker", ONE_PROCESS)
    ours_cpu_first, ours_xla_first, theirs = [], [], []
    for _ in range(5):
        ours_cpu_first.append(_cold(taker.take("CPU", 50, kind="fresh")))
        taker.take("XLA_CPU", 50, kind="fresh")
        ours_xla_first.append(_cold(taker.take("CPU", 50, kind="fresh")))
        theirs.append(_cold(taker.take("CPU", 50, kind="fresh", worker=one_process)))
    cpu_first, xla_first = statistics.median(ours_cpu_first), statistics.median(ours_xla_first)
    assert 1 / 3 < cpu_first / xla_first < 3
    assert cpu_first / statistics.median(theirs) > 3, (ours_cpu_first, theirs)


def _cold(sample: Sample) -> float:
    assert sample.status == "ok" and sample.cold_s is not None, sample.reason
    return sample.cold_s


def _slept(taker: Taker, sample: Sample) -> tuple[float, float]:
    """Return begin and end of the planted sleep, relative to the spawn."""
    import json

    spawn_s = json.loads(taker.raw(sample, "request.json"))["spawn_s"]
    for line in taker.raw(sample, "events.jsonl").splitlines():
        event = json.loads(line)
        if event["event"] == "slept":
            return event["begin_s"] - spawn_s, event["end_s"] - spawn_s
    raise AssertionError("the worker did not sleep")
