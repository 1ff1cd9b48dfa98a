# SPDX-License-Identifier: Apache-2.0
"""The sampler around a process: when it reads, what it costs, and that nothing it meets ends a run."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from suite.telemetry import sampler
from suite.telemetry.gpu import Gpus
from suite.telemetry.sampler import Sampler, for_machine
from suite.telemetry.summary import summarise
from suite.telemetry.tags import tags
from tests.nvml_replay import Recorded


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_before_between_and_after():
    """Fault: no reading before the spawn or after the end, so that nothing can be compared; none in between."""
    readings = iter(range(1000))
    with Sampler(lambda: {"n": next(readings)}, lambda: {"n": next(readings)}, interval_s=0.01).around() as trace:
        assert trace.begin["n"] == 0 and not trace.end
        time.sleep(0.2)
    last = trace.end["n"]
    assert [each["n"] for each in trace.between] == list(range(1, last)) and last >= 4
    time.sleep(0.05)
    assert next(readings) == last + 1, "the thread reads on after the end"
    at = [each["at_s"] for each in (trace.begin, *trace.between, trace.end)]
    assert at == sorted(at)


def test_where_there_is_nothing_to_read_nothing_wakes(tmp_path):
    """Fault (optimum-benchmark): a parent keeps a core busy beside the CPU benchmark that it measures."""
    before = threading.active_count()
    with for_machine(None, None, root=tmp_path).around() as trace:
        assert threading.active_count() == before
        time.sleep(0.05)
    assert trace.between == [] and trace.errors == []


def test_its_own_cost_is_measured():
    """Fault: the cost is wall time, or leaves out the readings at either end, or those of the thread."""
    with Sampler(lambda: spin(0.03) or {}).around() as ends_only:
        time.sleep(0.2)
    with Sampler(lambda: {}, lambda: spin(0.03) or {}, interval_s=0.02).around() as between_only:
        time.sleep(0.2)
    assert 0.06 <= ends_only.cost_s < 0.12
    count = len(between_only.between)
    assert count >= 1 and 0.03 * count <= between_only.cost_s < 0.03 * count + 0.06


def test_a_source_that_fails_is_recorded_once_and_ends_nothing():
    """Fault: telemetry that cannot be read takes the sample with it, or fills the record with the same line."""

    def fails():
        raise OSError("no such counter")

    with Sampler(fails, fails, interval_s=0.01).around() as trace:
        time.sleep(0.1)
    assert trace.errors == ["OSError: no such counter"] and set(trace.end) == {"at_s"}
    facts = summarise(trace, worker_cpu_s=None, worker_is_child=True)
    assert facts["errors"] == trace.errors and tags(facts) == []


def test_what_the_block_raises_passes_through():
    """Fault: an interrupted sample's error is swallowed, or the thread lives on."""
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), Sampler(dict, dict, interval_s=0.01).around():
        raise KeyboardInterrupt
    assert threading.active_count() == before


def test_a_reading_that_hangs_is_not_waited_for(monkeypatch):
    """Fault: NVML hangs on a dying GPU, and the run with it."""
    monkeypatch.setattr(sampler, "PATIENCE_S", 0.1)
    release = threading.Event()
    began_s = time.monotonic()
    with Sampler(dict, lambda: {"hung": release.wait(20)}, interval_s=0.01).around() as trace:
        time.sleep(0.05)
    assert time.monotonic() - began_s < 5 and trace.errors == ["a reading did not end within 0.1 s"]
    release.set()


@pytest.mark.parametrize("processes", [[], [{"pid": 5}]])
def test_the_last_workers_work_is_not_taken_for_a_strangers(processes, monkeypatch):
    """Fault: an idle desktop on the GPU and the utilisation that the last sample left make every sample contended."""
    monkeypatch.setattr(sampler, "SETTLED_S", 0.2)
    busy = iter([0, 100, 100, 0, 0])

    def whole():
        return {"gpu": {"processes": processes, "utilisation_percent": {"gpu": next(busy)}}}

    sampling = Sampler(whole)
    with sampling.around():
        pass
    ended_s = time.monotonic()
    with sampling.around() as trace:
        waited_s = time.monotonic() - ended_s
    assert trace.begin["gpu"]["utilisation_percent"]["gpu"] == (0 if processes else 100)
    assert (waited_s > 0.15) == bool(processes)


def test_a_gpu_is_read_while_the_worker_runs():
    """Fault: a GPU's clocks are read only when it idles: before and after."""
    nvml = Recorded.load("h200-power-cap.jsonl")
    sampling = for_machine(Gpus(print, nvml=nvml), 0, interval_s=0.01)
    with sampling.around() as trace:
        nvml.seek("load", 5.0)
        time.sleep(0.1)
        nvml.seek("idle_again", 3.0)
    assert trace.begin["gpu"]["sm_clock_mhz"] == 345
    assert any(each["gpu"]["sm_clock_mhz"] == 1650 for each in trace.between)
    assert trace.errors == []


def test_a_gpu_that_does_not_answer_wakes_nobody(tmp_path):
    """Fault: the thread wakes twice a second to be told that NVML cannot be used."""
    broken = Gpus(lambda line: None, nvml=Recorded([{"calls": {"nvmlInit()": {"error": 12}}}]))
    before = threading.active_count()
    with for_machine(broken, 0, root=tmp_path).around() as trace:
        assert threading.active_count() == before
    facts = summarise(trace, worker_cpu_s=None, worker_is_child=True)
    assert facts["errors"] == ["NVML cannot be used: error 12"] and "gpu" not in facts


def test_a_real_process_is_not_taken_for_others():
    """Fault: the worker's own CPU time, reaped or told, makes its sample contended."""
    with for_machine(None, None).around() as trace:
        subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    facts = summarise(trace, worker_cpu_s=None, worker_is_child=True)
    took_s = trace.end["children_cpu_s"] - trace.begin["children_cpu_s"]
    assert took_s > 0.05
    # Other work of this machine is no fault of ours; that ours is taken off is.
    assert facts["cpu"]["others_s"] <= facts["cpu"]["busy_s"] + facts["cpu"]["steal_s"] - took_s + 0.05
    assert 0 < facts["cost_s"] < 0.1
