# SPDX-License-Identifier: Apache-2.0
"""RESUME= is refused where what is measured has changed, a word contradicts the plan, or there is nothing to go on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from suite import journal, resume
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT
from tests.resuming import STACK, begin, change, copied, cut, files, go_on

SCHEMA_1 = ROOT / "tests" / "data" / "stored" / "schema1"


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    """A run that nothing has cut."""
    ended = begin(tmp_path_factory.mktemp("uncut"))
    assert ended.code is Exit.DONE
    return ended.folder


@pytest.fixture
def folder(uncut, tmp_path):
    """A copy of it."""
    return copied(uncut, tmp_path / STACK / uncut.name)


IDENTITY = [
    (("stack", "sha256"), "0" * 64, "stack.sha256"),
    (("environment", "key"), "another", "environment.key"),
    (("environment", "lock_sha256"), "1" * 64, "environment.lock_sha256"),
    (("environment", "python_version"), "3.6.14", "environment.python_version"),
    (("environment", "wheels"), "cuda", "environment.wheels"),
    (("environment", "image"), "sha256:123", "environment.image"),
    (("environment", "packages"), {"numpy": "1.16.0"}, "environment.packages"),
    (("engine", "name"), "docker", "engine.name"),
    (("coldwarm", "worker_tree_sha256"), "2" * 64, "coldwarm.worker_tree_sha256"),
    (("host", "cpu_model"), "Intel(R) Core(TM) i7-6700HQ CPU @ 2.60GHz", "host.cpu_model"),
    (("host", "effective_cpus"), 96.0, "host.effective_cpus"),
    (("host", "memory_bytes"), 8_000_000_000, "host.memory_bytes"),
    (("host", "kernel"), "4.15.0-generic", "host.kernel"),
    (("host", "nvidia"), {"gpus": [{"uuid": "GPU-1", "driver_version": "430.50"}]}, "gpus"),
    (("worker_environment", "OMP_NUM_THREADS"), "1", "worker_environment"),
    (("worker_environment", "TF_CPP_VMODULE"), "", "worker_environment"),
]


@pytest.mark.parametrize(("path", "value", "said"), IDENTITY, ids=[".".join(each[0]) for each in IDENTITY])
def test_a_run_is_not_gone_on_with_where_something_has_changed(folder, path, value, said):
    """Fault: one table holds numbers of two machines, two drivers or two versions, and nothing says so."""
    cut(folder, 5, 40)
    now = resume._value(journal.read_run(folder), path) if said != "gpus" else []
    change(folder, *path, to=value)
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.NOT_PREPARED
    shown = {"gpus": "('GPU-1', '430.50')", "environment.packages": repr(value)}.get(said, repr(value))
    assert f"{said}: " in caught.value.what and shown in caught.value.what
    if said != "worker_environment":
        assert f"is {now!r}" in caught.value.what
    assert folder.name in caught.value.what and "collect" in caught.value.next_step
    assert files(folder) == before


def test_another_gpu_or_driver_is_named_with_both(folder, monkeypatch):
    """Fault: a driver was updated between two sessions, and the numbers of both are put into one mean."""
    from suite import host

    def gpus(*found):
        listed = [{"index": str(k), "uuid": uuid, "driver_version": d} for k, (uuid, d) in enumerate(found)]
        return {"present": True, "why": "", "gpus": listed}

    change(folder, "host", "nvidia", to=gpus(("GPU-1", "430.50")))
    for now in ([("GPU-1", "470.57")], [("GPU-2", "430.50")], [("GPU-1", "430.50"), ("GPU-2", "430.50")], []):
        monkeypatch.setattr(host, "nvidia", lambda now=now: gpus(*now))
        with pytest.raises(SuiteError) as caught:
            go_on(folder)
        assert f"gpus: was [('GPU-1', '430.50')], is {now!r}" in caught.value.what
    monkeypatch.setattr(host, "nvidia", lambda: gpus(("GPU-1", "430.50")))
    assert go_on(folder).code is Exit.DONE


def test_what_is_no_part_of_the_identity_may_change(folder, uncut):
    """Fault: a commit to a document, or a GPU's clock, makes a run of ten hours worthless."""
    cut(folder, 5)
    for path in (("coldwarm", "git_commit"), ("coldwarm", "version"), ("engine", "why"), ("command",)):
        change(folder, *path, to=["another"] if path == ("command",) else "another")
    assert go_on(folder).code is Exit.DONE


def test_two_replays_have_one_identity(tmp_path, uncut):
    """Fault: something volatile is part of the identity: then no run can ever be gone on with."""
    another = begin(tmp_path, samples="1").folder
    resume.check_identity(journal.read_run(uncut), journal.read_run(another))


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("shapes", "50", "500"),
        ("targets", "CPU", "CPU,XLA_CPU"),
        ("samples", "3", "2"),
        ("level", "process", "its default"),
        ("profile", "full", "its default"),
        ("budget", "60", "its default"),
        ("timeout", "60", "its default"),
        ("placement", "jit", "its default"),
        ("precision", "ieee", "its default"),
        ("gpu", "1", "its default"),
        ("engine", "docker", "replay"),
    ],
)
def test_a_word_that_contradicts_the_plan_is_named(folder, name, value, kept):
    """Fault: RESUME= SHAPES=50 is read as either of the two, and the other is passed over in silence."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder, **{name: value})
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what == f"{name.upper()}={value}: the plan of {folder} has {kept}"
    assert files(folder) == before


def test_another_stack_is_named(folder):
    """Fault: a run of one stack is finished with another."""
    with pytest.raises(SuiteError) as caught:
        go_on(folder, stack="tf2.21-cuda12")
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what == f"STACK=tf2.21-cuda12: {folder} is a run of {STACK}"


@pytest.mark.parametrize(
    "given",
    [
        {"stack": STACK, "shapes": "500"},
        {"shapes": "500 500", "samples": "2"},
        {"targets": "CPU XLA_CPU", "level": "jit"},
        {"engine": "replay", "profile": "quick", "out": "/nowhere"},
    ],
)
def test_a_word_that_says_the_same_is_taken(folder, given):
    """Fault: the command that began a run is refused when RESUME= is put behind it."""
    assert resume.read(folder, given).folder == folder


def test_only_a_run_of_bench_can_be_gone_on_with(folder, tmp_path):
    """Fault: a traceback, or half a plan carried out, for what RESUME= cannot finish."""
    other = copied(folder, tmp_path / "arm")
    change(other, "arm", to="a")
    comparison = tmp_path / "selftest"
    comparison.mkdir()
    shutil.move(other, comparison / "a")
    (comparison / "comparison.json").write_text("{}")
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    cases = {
        SCHEMA_1 / "reproduce": "only a run of bench",
        SCHEMA_1 / "bench": "an earlier version wrote it, which did not keep its words",
        comparison / "a": "only a run of bench",
        comparison: "No such file or directory",
        tmp_path / "empty": "No such file or directory",
        tmp_path / "nowhere": "No such file or directory",
        tmp_path / "file": "Not a directory",
        folder / journal.RUN: "Not a directory",
    }
    for where, why in cases.items():
        with pytest.raises(SuiteError) as caught:
            go_on(where)
        assert caught.value.exit_code is Exit.USAGE, where
        assert caught.value.what.startswith(f"RESUME={where}: ") and why in caught.value.what


def test_a_run_that_is_being_measured_is_left_alone(folder):
    """Fault: two processes measure into one run: each is the other's noise, and ids are there twice."""
    cut(folder, 5, 40)
    held = journal.Journal(folder)
    before = files(folder)
    try:
        with pytest.raises(SuiteError) as caught:
            journal.Journal.reopen(folder)
        assert caught.value.exit_code is Exit.NOT_PREPARED
        assert "another process is measuring into this run" in caught.value.what
        with pytest.raises(SuiteError) as caught:
            go_on(folder)
        assert "another process is measuring into this run" in caught.value.what
    finally:
        held.close()
    assert files(folder) == before
    assert go_on(folder).code is Exit.DONE


def test_a_run_that_exists_is_not_begun_again(folder):
    """Fault: two runs in one folder, should ids ever collide."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        journal.Journal.create(folder, journal.read_run(folder))
    assert caught.value.exit_code is Exit.NOT_PREPARED and "File exists" in caught.value.what
    assert files(folder) == before


def test_a_run_that_may_not_be_written_is_refused(folder, monkeypatch):
    """Fault: the results of somebody else, or of a read-only disk, end in a traceback."""
    cut(folder, 5)
    real = os.open

    def read_only(path, flags, *rest):
        if Path(path).name == journal.SAMPLES:
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.NOT_PREPARED and "Read-only file system" in caught.value.what
