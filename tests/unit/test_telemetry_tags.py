# SPDX-License-Identifier: Apache-2.0
"""From readings to a sample's facts, and from these to its tags."""

from __future__ import annotations

import importlib.util
import json

import pytest

from suite.records import to_json
from suite.stack import ROOT
from suite.telemetry import cpu
from suite.telemetry.gpu import Gpus
from suite.telemetry.sampler import Trace
from suite.telemetry.summary import MOST_ERRORS, MOST_PROCESSES, Span, span, summarise
from suite.telemetry.tags import tags
from tests.nvml_replay import Recorded

STATIC = {"max_sm_clock_mhz": 1980, "power_limit_w": 700.0, "slowdown_temperature_c": 89}


def machine(wall_s=10.0, busy_s=0.0, steal_s=0.0, own_s=0.0, children_s=0.0, **grown):
    """Return begin and end of a machine of 2 CPUs that was busy so long in between."""
    begin = {"at_s": 100.0, "cpus": 2, "busy_s": 50.0, "steal_s": 5.0, "own_cpu_s": 1.0, "children_cpu_s": 2.0}
    end = {
        **{"at_s": 100.0 + wall_s, "cpus": 2, "busy_s": 50.0 + busy_s, "steal_s": 5.0 + steal_s},
        **{"own_cpu_s": 1.0 + own_s, "children_cpu_s": 2.0 + children_s},
    }
    for name, value in grown.items():
        begin[name], end[name] = value
    return begin, end


def judged(trace, **more):
    facts = summarise(trace, **{"worker_cpu_s": None, "worker_is_child": True, "static": STATIC, **more})
    assert json.loads(to_json(facts)) == facts
    return facts, tags(facts)


def gpu(before=None, running=(), after=None, static=STATIC, **more):
    begin, end = machine()
    end["gpu"] = after or {}
    begin["gpu"] = before or {}
    return judged(Trace(begin, end, [{"at_s": 101.0, "gpu": each} for each in running]), static=static, **more)


def of_cpu(worker_cpu_s=None, worker_is_child=True, **what):
    return judged(Trace(*machine(**what)), worker_cpu_s=worker_cpu_s, worker_is_child=worker_is_child)


@pytest.mark.parametrize(
    ("what", "others_s", "expected"),
    [
        ({"busy_s": 15.0, "children_s": 15.0}, 0.0, []),
        ({"busy_s": 17.5, "children_s": 15.0}, 2.5, ["contended"]),
        ({"busy_s": 16.9, "children_s": 15.0}, 1.9, []),
        ({"busy_s": 17.5, "children_s": 15.0, "own_s": 1.0}, 1.5, []),
        ({"busy_s": 15.0, "children_s": 15.0, "steal_s": 3.0}, 3.0, ["contended"]),
        # Told by the worker and counted by the kernel: the same seconds, not twice.
        ({"busy_s": 17.5, "children_s": 15.0, "worker_cpu_s": 14.9}, 2.5, ["contended"]),
        # In a container the worker is not among our children; a client is.
        ({"busy_s": 15.5, "children_s": 0.5, "worker_cpu_s": 15.0, "worker_is_child": False}, 0.0, []),
        # Jiffies: 4 of 10 ms within a fifth of a second are no evidence, 6 are.
        ({"wall_s": 0.1, "busy_s": 0.04}, 0.04, []),
        ({"wall_s": 0.1, "busy_s": 0.06}, 0.06, ["contended"]),
        # More was told than jiffies show.
        ({"busy_s": 14.98, "children_s": 15.0}, 0.0, []),
    ],
)
def test_other_work_on_the_cpus(what, others_s, expected):
    """Fault: the worker's own work counts as others', once or twice; steal does not count; jiffies are believed."""
    facts, found = of_cpu(**what)
    assert facts["cpu"]["others_s"] == pytest.approx(others_s) and found == expected


def test_a_worker_whose_cpu_time_is_not_known_is_not_contended():
    """Fault: a container's worker that was killed told nothing, and all of its own work counts as others'."""
    facts, found = of_cpu(busy_s=19.0, worker_is_child=False)
    assert "others_share" not in facts["cpu"] and found == []


#: A container's sample of 0.8 s on an idle machine of 2 CPUs: its worker took 0.7 s, the client 0.04, the engine 0.17.
STARTED_BY_AN_ENGINE = {"wall_s": 0.8, "busy_s": 0.91, "children_s": 0.04}


@pytest.mark.parametrize(
    ("within", "others_s", "expected"),
    [
        (Span(0.6, worker_s=0.66, machine_s=0.67), 0.01, []),
        (Span(0.6, worker_s=0.66, machine_s=0.79), 0.13, ["contended"]),
        (Span(0.6, worker_s=0.66, machine_s=0.65), 0.0, []),
        # Nothing told by the worker: all that can be said is of the whole sample, as it was.
        (None, 0.17, ["contended"]),
    ],
)
def test_what_an_engine_takes_to_start_a_container_is_no_other_work(within, others_s, expected):
    """Fault: a container's sample of 0.8 s on an idle machine was contended by its own engine's start."""
    trace = Trace(*machine(**STARTED_BY_AN_ENGINE))
    facts, found = judged(trace, worker_cpu_s=0.7, worker_is_child=False, worker_span=within)
    assert facts["cpu"]["others_s"] == pytest.approx(others_s) and found == expected
    assert ("engine_s" in facts["cpu"]) == (within is not None)
    if within is not None:
        # Not lost: what is not counted stands beside it.
        assert facts["cpu"]["engine_s"] == pytest.approx(0.17 - others_s)


def test_the_span_of_a_child_is_not_needed():
    """Fault: other work during the start of a local worker's interpreter is no longer seen."""
    trace = Trace(*machine(busy_s=17.5, children_s=15.0))
    facts, found = judged(trace, worker_span=Span(9.9, worker_s=15.0, machine_s=15.0))
    assert facts["cpu"]["others_s"] == pytest.approx(2.5) and found == ["contended"]


def test_a_span_needs_both_words_and_all_of_them():
    """Fault: an older worker's words, or those of one that was killed, end the run; or a span of no time."""
    started, done = (
        {"at_s": 1.0, "cpu_s": 0.1, "machine_cpu_s": 5.0},
        {"at_s": 2.0, "cpu_s": 0.6, "machine_cpu_s": 5.7},
    )
    found = span(started, done)
    assert found is not None
    assert (found.wall_s, found.worker_s, found.machine_s) == pytest.approx((1.0, 0.5, 0.7))
    assert span(started, None) is span(None, done) is span(done, done) is None
    for name in started:
        assert span({**started, name: None}, done) is None
        assert span(started, {key: value for key, value in done.items() if key != name}) is None


@pytest.mark.parametrize("text", ["", "intr 1\n", "cpu 1 x\n"])
def test_a_machine_that_does_not_tell(tmp_path, text):
    """Fault: a kernel's file in another form ends the sample."""
    path = tmp_path / "stat"
    path.write_text(text)
    assert worker_machine().cpu_s(str(path)) is worker_machine().cpu_s(str(tmp_path / "none")) is None


def test_the_worker_and_we_count_the_same(tmp_path):
    """Fault: guests counted twice, idle taken for busy, steal left out: every container contended, or none."""
    path = tmp_path / "proc/stat"
    path.parent.mkdir()
    path.write_text("cpu  1000 100 500 8000 400 20 30 250 600 50\ncpu0 500 50 250 4000 200 10 15 125 300 25\n")
    ours = cpu.reading(tmp_path)
    assert worker_machine().cpu_s(str(path)) == pytest.approx(ours["busy_s"] + ours["steal_s"])


def worker_machine():
    """Return the worker's module, which imports nothing of ours and is on no path."""
    where = importlib.util.spec_from_file_location("machine", ROOT / "suite" / "worker" / "machine.py")
    assert where is not None and where.loader is not None
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    return module


def test_heat_and_quota_of_the_cpu():
    """Fault: a counter's value is taken for its growth; a quota is taken for heat or power."""
    facts, found = of_cpu(thermal_throttles=({"core": 7, "package": 3}, {"core": 7, "package": 3}))
    assert facts["cpu"]["thermal_throttles"] == {"core": 0, "package": 0} and found == []
    assert of_cpu(thermal_throttles=({"core": 7}, {"core": 8}))[1] == ["throttled: thermal"]
    facts, found = of_cpu(quota_throttles=(5, 50))
    assert facts["cpu"]["quota_throttles"] == 45 and found == []


def test_pressure_and_frequency():
    """Fault: stall totals since boot instead of the sample's; the idle clock before it, not that of its own time."""
    begin, end = machine(pressure_us=({"cpu": {"some": 10**6}}, {"cpu": {"some": 3 * 10**6}, "io": {"some": 7}}))
    begin["frequency_mhz"] = end["frequency_mhz"] = {"min": 800.0, "median": 900.0}
    between = [{"at_s": 101.0, "frequency_mhz": {"min": 2000.0 + k, "median": 3000.0 + k}} for k in range(3)]
    facts, _ = judged(Trace(begin, end, between))
    assert facts["cpu"]["pressure_s"] == {"cpu_some": 2.0}
    assert facts["cpu"]["mhz"] == {"min": 2000.0, "median": 3001.0}
    facts, _ = judged(Trace(begin, end))
    assert facts["cpu"]["mhz"] == {"min": 800.0, "median": 900.0}


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([[], ["gpu_idle"]], []),
        ([["sw_power_cap"], []], ["throttled: power"]),
        ([["hw_slowdown", "hw_power_brake_slowdown"]], ["throttled: power"]),
        ([["sw_thermal_slowdown"]], ["throttled: thermal"]),
        ([["hw_slowdown", "hw_thermal_slowdown"]], ["throttled: thermal"]),
        ([["sw_power_cap"], ["sw_thermal_slowdown"]], ["throttled: power", "throttled: thermal"]),
        ([["applications_clocks_setting", "sync_boost", "display_clock_setting", "0x100000"]], []),
    ],
)
def test_reasons_that_throttle(reasons, expected):
    """Fault: only the first reason, or only that of one reading, is looked at; a setting is taken for throttling."""
    facts, found = gpu(running=[{"sm_clock_mhz": 1700, "event_reasons": each} for each in reasons])
    assert found == expected
    assert set(facts["gpu"]["event_reasons"]) == {name for each in reasons for name in each}


@pytest.mark.parametrize(
    ("temperature_c", "power_w", "readings", "expected"),
    [
        (85, 300.0, 1, ["throttled: thermal"]),
        (60, 650.0, 1, ["throttled: power"]),
        (60, 300.0, 2, ["throttled: power"]),
        (60, 300.0, 1, []),
    ],
)
def test_a_slowdown_without_its_cause(temperature_c, power_w, readings, expected):
    """Fault: a mere change of P-state is throttling; or heat and power brake are mixed up."""
    one = {"event_reasons": ["hw_slowdown"], "temperature_c": temperature_c, "power_w": power_w}
    assert gpu(running=[one] * readings)[1] == expected


def test_what_lay_before_the_worker_is_not_its_throttling():
    """Fault: the power cap that the last sample's end still shows tags the next one."""
    capped = {"sm_clock_mhz": 1650, "event_reasons": ["sw_power_cap"], "utilisation_percent": {"gpu": 100}}
    free = {"sm_clock_mhz": 1980, "event_reasons": []}
    assert gpu(before=capped, running=[free], after=capped)[1] == []
    # Too quick for a reading in between: the one after it is all there is.
    assert gpu(before=free, after=capped)[1] == ["throttled: power"]


@pytest.mark.parametrize(
    ("clocks", "reasons", "percent", "expected"),
    [
        ((345, 345, 1980), ["gpu_idle"], 30, ["idle_clock"]),
        ((345, 345, 1980), [], 30, ["idle_clock"]),
        ((345, 1980, 1980), [], 30, []),
        ((345, 345, 345), ["gpu_idle"], 0, []),
        ((345, 345, 345), ["applications_clocks_setting"], 30, []),
        ((990, 990, 990), [], 30, []),
    ],
)
def test_clocks_that_did_not_rise(clocks, reasons, percent, expected):
    """Fault: an idle GPU, or one whose owner set its clock low, is blamed for it; one slow reading is enough."""
    running = [
        {"sm_clock_mhz": clock, "event_reasons": reasons, "utilisation_percent": {"gpu": percent}}
        for clock in clocks
    ]
    assert gpu(running=running)[1] == expected
    assert gpu(running=running, static={})[1] == []


DESKTOP = {"pid": 900, "type": "G", "used_bytes": 10**8}
WORKER = {"pid": 77, "type": "C", "used_bytes": 10**9}


@pytest.mark.parametrize(
    ("percent", "there", "expected"), [(0, [DESKTOP], []), (40, [DESKTOP], ["contended"]), (40, [], [])]
)
def test_another_process_on_the_gpu(percent, there, expected):
    """Fault: a desktop that only holds memory makes each sample contended; one that works is not seen."""
    facts, found = gpu(
        before={"processes": there, "utilisation_percent": {"gpu": percent}},
        running=[{"processes": [*there, WORKER]}],
        own_pids=[77],
    )
    assert found == expected and facts["gpu"]["others"] == there


def test_a_worker_in_a_container_is_no_stranger():
    """Fault: NVML gives another namespace's process ids, and the worker itself is taken for somebody else."""
    facts, _ = gpu(before={"processes": [DESKTOP]}, running=[{"processes": [DESKTOP, WORKER]}])
    assert facts["gpu"]["others"] == [DESKTOP]
    newcomer = {"pid": 5, "type": "C"}
    facts, _ = gpu(
        before={"processes": []},
        running=[{"processes": [WORKER]}, {"processes": [WORKER, newcomer]}],
        own_pids=[77],
    )
    assert facts["gpu"]["others"] == [newcomer] and facts["gpu"]["others_count"] == 1


def test_the_recorded_gpu():
    """Fault: the H200 that ran at 1650 of 1980 MHz under its power cap is said to have been free."""
    nvml = Recorded.load("h200-power-cap.jsonl")
    gpus = Gpus(print, nvml=nvml)
    readings = []
    for at, line in enumerate(nvml.lines):
        nvml.at = at
        readings.append({"at_s": line["at_s"], "phase": line["phase"], "gpu": gpus.read(0)})
    running = [each for each in readings if each["phase"] == "load"]
    idle = [each for each in readings if each["phase"] == "idle"]
    begin, end = machine()
    begin["gpu"], end["gpu"] = idle[-1]["gpu"], readings[-1]["gpu"]
    facts, found = judged(Trace(begin, end, running), own_pids=[1], static=gpus.static(0))
    assert found == ["throttled: power"]
    assert facts["gpu"]["sm_clock_mhz"] == {"min": 345, "median": 345, "max": 1980}
    assert facts["gpu"]["event_reasons"] == {"gpu_idle": 18, "sw_power_cap": 5}
    assert facts["gpu"]["busy_readings"] == 5 and facts["gpu"]["idle_clock_readings"] == 0
    assert facts["gpu"]["others"] == [] and facts["gpu"]["ecc_uncorrected"] == 0
    assert judged(Trace(begin, end, idle), static=gpus.static(0))[1] == []


def test_a_record_stays_small():
    """Fault: an hour of readings, or a machine full of errors and processes, makes a line of megabytes."""
    crowd = [{"pid": k, "type": "C", "used_bytes": 1} for k in range(100)]
    running = [
        {"sm_clock_mhz": k, "event_reasons": ["sw_power_cap"], "processes": crowd, "errors": [f"error {k}"]}
        for k in range(7200)
    ]
    facts, _ = gpu(before={"processes": crowd}, running=running)
    assert len(to_json(facts)) < 3000 and facts["gpu"]["event_reasons"] == {"sw_power_cap": 7200}
    assert len(facts["errors"]) == MOST_ERRORS and len(facts["gpu"]["others"]) == MOST_PROCESSES
    assert facts["gpu"]["others_count"] == 100


def test_no_readings_no_tags():
    """Fault: a machine that tells nothing ends the sample, or is judged by zeros."""
    assert tags({}) == [] and judged(Trace({"at_s": 1.0}, {"at_s": 2.0}))[1] == []
