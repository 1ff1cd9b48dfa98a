# SPDX-License-Identifier: Apache-2.0
"""RESUME= of a level that keeps caches: they outlive a kill and a full disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from suite import journal, levels
from suite.errors import SuiteError
from suite.exits import Exit
from suite.replay import Replay
from tests.resuming import RECORDING, STACK, begin, cut, go_on, lines


@pytest.fixture
def with_jit_cache(tmp_path, monkeypatch) -> Path:
    """A recording of a target that keeps a JIT cache: its priming fills that, every other sample finds it filled."""
    recording = tmp_path / "recorded"
    for path in RECORDING.iterdir():
        if "2000" in path.name or ".CPU" in path.name:
            continue
        to = recording / path.name.replace("XLA_CPU", "XLA_GPU")
        to.mkdir(parents=True)
        for file in path.iterdir():
            text = file.read_text(errors="replace").replace("XLA_CPU", "XLA_GPU")
            (to / file.name).write_text(text)
    shutil.copytree(recording / "prepared.XLA_GPU.device.500.1", recording / "priming.XLA_GPU.device.500")
    call = Replay.__call__

    def compiles(self, argv, *, folder, **rest):
        cached = folder / "cache" / "cuda" / "index"
        if not folder.name.startswith(("probe", "pilot")) and not cached.exists():
            cached.write_bytes(b"x" * (1000 if folder.name.startswith("priming") else 999))
        return call(self, argv, folder=folder, **rest)

    monkeypatch.setattr(Replay, "__call__", compiles)
    return recording


KEEPING = {"targets": "XLA_GPU", "level": "process"}


def states(folder: Path) -> dict[str, str]:
    return {each["id"]: each["status"] for each in lines(folder)}


def test_a_level_that_keeps_caches(with_jit_cache, tmp_path):
    """Fault: the recording that the tests below rest on does not show what they need."""
    ended = begin(tmp_path / "out", recording=with_jit_cache, **KEEPING)
    assert ended.code is Exit.DONE, states(ended.folder)
    assert [each["kind"] for each in lines(ended.folder)][:3] == ["probe", "pilot", "priming"]
    assert {each["proofs"]["cold"]["text"] for each in lines(ended.folder)[3:]} == {
        "caches kept and unchanged: 1 files, 0.001 MB"
    }
    assert not (ended.folder / "caches").exists()


@pytest.mark.parametrize("keep", range(1, 7))
@pytest.mark.parametrize("how", ["between samples", "in a sample", "after a sample's caches were put back"])
def test_kept_caches_outlive_a_kill(with_jit_cache, tmp_path, keep, how):
    """Fault: a kill loses the caches of level process, and every sample of RESUME= is not_cold."""
    folder = begin(tmp_path / "out", recording=with_jit_cache, **KEEPING).folder
    total = len(lines(folder))
    assert total == 7
    in_flight = lines(folder)[keep]["id"]
    cut(folder, keep)
    kept, lent = folder / "caches" / "XLA_GPU.device.500", folder / journal.RAW / in_flight / "cache"
    shutil.rmtree(folder / journal.RAW / in_flight)
    filled = keep > 2 or (how != "between samples" and keep == 2)  # the priming is the third sample
    if filled:
        where = lent if how == "in a sample" else kept
        for below in levels.CACHE_VARIABLES.values():
            (where / below).mkdir(parents=True)
        (where / "cuda" / "index").write_bytes(b"x" * 1000)
    ended = go_on(folder, recording=with_jit_cache)
    assert ended.code is Exit.DONE, states(folder)
    assert set(states(folder).values()) == {"ok"}
    assert not (folder / "caches").exists()


def test_kept_caches_outlive_a_full_disk(with_jit_cache, tmp_path, monkeypatch):
    """Fault: a run that ends by an error clears its caches away as if it were complete."""
    write, count = os.write, [0]

    def full(descriptor: int, data: bytes) -> int:
        if b'"schema"' in data and b'"kind"' in data:
            count[0] += 1
            if count[0] == 5:
                raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SuiteError):
        begin(tmp_path / "out", recording=with_jit_cache, **KEEPING)
    monkeypatch.setattr(os, "write", write)
    [folder] = (tmp_path / "out" / STACK).iterdir()
    assert len(lines(folder)) == 4
    assert go_on(folder, recording=with_jit_cache).code is Exit.DONE, states(folder)
