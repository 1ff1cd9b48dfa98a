# SPDX-License-Identifier: Apache-2.0
"""How much CPU a worker may use, from cgroup trees of both versions."""

from __future__ import annotations

import importlib
import sys

import pytest

from suite.engines import WORKER


@pytest.fixture
def limits(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(WORKER))
    module = importlib.import_module("limits")
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(module.os, "cpu_count", lambda: 4)
    yield module
    sys.modules.pop("limits", None)


@pytest.mark.parametrize(
    ("files", "quota", "threads"),
    [
        ({}, None, None),
        ({"cpu.max": "max 100000\n"}, None, None),
        ({"cpu.max": "50000 100000\n"}, 0.5, 1),
        ({"cpu.max": "250000 100000\n"}, 2.5, 3),
        ({"cpu.max": "900000 100000\n"}, 9.0, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5, 1),
    ],
)
def test_a_quota_of_either_version(limits, tmp_path, files, quota, threads):
    """Fault: half a CPU is not seen, and a thread starts for each CPU of the machine."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = limits.cpus()
    assert found["quota"] == quota and found["effective"] == (4 if quota is None else min(4, quota))
    assert limits.threads() == threads


def test_affinity_counts(limits, monkeypatch):
    """Fault: one core of four, and four threads on it."""
    monkeypatch.setattr(limits.os, "sched_getaffinity", lambda _: {2})
    assert limits.threads() == 1
