# SPDX-License-Identifier: Apache-2.0
"""Readings of the kernel's files: a machine made of files, and this one."""

from __future__ import annotations

import os

import pytest

from suite.telemetry import cpu

STAT = """cpu  1000 100 500 8000 400 20 30 250 600 50
cpu0 500 50 250 4000 200 10 15 125 300 25
cpu1 500 50 250 4000 200 10 15 125 300 25
intr 1 2 3
ctxt 7
"""


@pytest.fixture
def machine(tmp_path):
    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/stat", STAT)
    write("proc/loadavg", "1.25 0.50 0.40 2/300 4711\n")
    write("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:    512 kB\n")
    write(
        "proc/pressure/cpu",
        "some avg10=0.00 avg60=0.12 avg300=0.36 total=388361832\nfull avg10=0.0 avg60=0.0 avg300=0.0 total=0\n",
    )
    write("proc/pressure/memory", "some avg10=1.00 avg60=0.12 avg300=0.36 total=5\n")
    write("proc/self/cgroup", "0::/user/mine\n")
    write("sys/fs/cgroup/user/mine/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7\n")
    for k, kilohertz in enumerate((800000, 3600000, 3500000, 3700000)):
        write(f"sys/devices/system/cpu/cpu{k}/cpufreq/scaling_cur_freq", f"{kilohertz}\n")
        write(f"sys/devices/system/cpu/cpu{k}/thermal_throttle/core_throttle_count", f"{k}\n")
        write(f"sys/devices/system/cpu/cpu{k}/thermal_throttle/package_throttle_count", "2\n")
    write("sys/devices/system/cpu/cpufreq/boost", "1\n")
    return tmp_path


def test_a_whole_reading(machine):
    """Fault: guests counted twice, idle taken for busy, kB for bytes, a total for an average, kHz for MHz."""
    second = os.sysconf("SC_CLK_TCK")
    assert cpu.reading(machine) == {
        "cpus": 2,
        "busy_s": (1000 + 100 + 500 + 20 + 30) / second,
        "idle_s": (8000 + 400) / second,
        "steal_s": 250 / second,
        "loadavg_1": 1.25,
        "memory_available_bytes": 512 * 1024,
        "pressure_us": {"cpu": {"some": 388361832, "full": 0}, "memory": {"some": 5}},
        "frequency_mhz": {"min": 800.0, "median": 3550.0},
        "thermal_throttles": {"core": 6, "package": 8},
        "quota_throttles": 4,
    }


def test_what_is_absent_is_absent(tmp_path):
    """Fault: a kernel without PSI, cpufreq or /proc ends the run, or its missing values read as 0."""
    assert cpu.reading(tmp_path) == {} and not cpu.frequency_varies(tmp_path)


def test_a_torn_or_strange_file_is_absent(machine):
    """Fault: one file in an unknown form takes all others with it."""
    (machine / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").write_text("<unknown>\n")
    (machine / "proc/pressure/cpu").write_text("no such thing\n")
    (machine / "proc/stat").write_text("")
    reading = cpu.reading(machine)
    assert reading["frequency_mhz"] == {"min": 3500.0, "median": 3600.0}
    assert set(reading["pressure_us"]) == {"memory"} and "busy_s" not in reading


def test_the_nominal_frequency_of_a_virtual_machine(machine):
    """Fault: a guest without cpufreq has no frequency at all; or wakes the sampler for one that never changes."""
    for path in machine.glob("sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"):
        path.unlink()
    (machine / "proc/cpuinfo").write_text("cpu MHz\t\t: 2599.998\n\ncpu MHz\t\t: 2600.002\n")
    assert cpu.reading(machine)["frequency_mhz"] == {"min": 2599.998, "median": pytest.approx(2600.0)}
    assert not cpu.frequency_varies(machine)


def test_a_machine_of_many_cpus_is_read_in_few_files(machine, monkeypatch):
    """Fault: 256 files are read twice a second beside the benchmark."""
    for k in range(4, 100):
        folder = machine / f"sys/devices/system/cpu/cpu{k}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text("3000000\n")
    read = []
    whole = cpu._text
    monkeypatch.setattr(cpu, "_text", lambda path: read.append(path) or whole(path))
    assert cpu.frequency(machine)["median"] == 3000.0 and 4 <= len(read) <= cpu.MOST_FREQUENCIES


def test_quota_of_the_first_cgroup_version(machine):
    """Fault: on v1 hosts a quota's pauses are never seen."""
    (machine / "proc/self/cgroup").write_text("3:memory:/m\n2:cpu,cpuacct:/box\n1:name=systemd:/\n0::/none\n")
    folder = machine / "sys/fs/cgroup/cpu,cpuacct/box"
    folder.mkdir(parents=True)
    (folder / "cpu.stat").write_text("nr_periods 9\nnr_throttled 11\n")
    assert cpu.reading(machine)["quota_throttles"] == 11


def test_this_machine_can_be_read():
    """Fault: the form of a file is another one on a real kernel."""
    reading = cpu.reading()
    assert reading["cpus"] >= 1 and reading["busy_s"] > 0 and reading["memory_available_bytes"] > 0
