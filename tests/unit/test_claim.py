# SPDX-License-Identifier: Apache-2.0
"""One run on one GPU at a time: who is refused, who is not, and what is left of a run that was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from suite import claim, measure, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Cell, Plan, Run
from suite.stack import ROOT
from tests.resuming import RECORDING, SMALL, begin

UUIDS = ("GPU-00000000-aaaa-0000-0000-000000000000", "GPU-11111111-bbbb-0000-0000-000000000000")


def a_run(run_id: str = "first", target: str = "GPU", uuids=UUIDS, **environment: str) -> Run:
    cell = Cell(
        f"{target}.device.50", "tf1.14-cuda10", target, "device", f"/device:{target}:0", "matmul", 50,
        "float32", "default", "jit", "3.6", "local",
    )  # fmt: skip
    plan = Plan("quick", [target], [], [50], 1, 10, 0.5, 600.0, 300.0, 1, 2, [cell], [])
    listed = [{"index": str(k), "uuid": uuid, "driver_version": "430.50"} for k, uuid in enumerate(uuids)]
    host = {"nvidia": {"present": True, "gpus": listed}}
    return Run(
        run_id, "2024-01-01T00:00:00Z", [], {}, {"name": "tf1.14-cuda10"}, {}, {}, host, dict(environment), plan
    )


def refused(run: Run, folder: Path) -> str:
    """Return with which words a run is refused, "" where it is not."""
    try:
        with claim.gpus(run, folder):
            return ""
    except SuiteError as error:
        assert error.exit_code is Exit.NOT_PREPARED and "GPU=" in error.next_step
        return error.what


def test_the_second_run_on_a_gpu_is_refused_by_the_firsts_name(tmp_path):
    """Fault: two runs on one GPU measure each other, and neither says so."""
    with claim.gpus(a_run("first"), tmp_path):
        said = refused(a_run("second", "XLA_GPU"), tmp_path)
        assert said == f"{UUIDS[0]} is being measured by tf1.14-cuda10 first (process {os.getpid()})"
        assert refused(a_run("third"), tmp_path) == said, "the one that was refused has left its own name"
    with claim.gpus(a_run("second"), tmp_path):
        assert "second" in refused(a_run("third"), tmp_path)
    assert refused(a_run("third"), tmp_path) == ""


def test_a_name_that_is_longer_than_the_next(tmp_path):
    """Fault: the end of an earlier run's name hangs on to a shorter one."""
    with claim.gpus(a_run("a-very-long-name-of-a-run"), tmp_path):
        pass
    with claim.gpus(a_run("b"), tmp_path):
        assert refused(a_run("c"), tmp_path).endswith(f"tf1.14-cuda10 b (process {os.getpid()})")


def test_other_gpus_and_cpus_do_not_block(tmp_path):
    """Fault: a run on the second GPU, or on the CPU, waits for one on the first."""
    with claim.gpus(a_run("first", CUDA_VISIBLE_DEVICES="0"), tmp_path):
        assert refused(a_run("second", CUDA_VISIBLE_DEVICES="1"), tmp_path) == ""
        assert refused(a_run("second", CUDA_VISIBLE_DEVICES=UUIDS[1]), tmp_path) == ""
        for target in ("CPU", "XLA_CPU"):
            assert refused(a_run("second", target), tmp_path) == ""
        assert refused(a_run("second", uuids=()), tmp_path) == ""
        assert UUIDS[0] in refused(a_run("second", CUDA_VISIBLE_DEVICES="0"), tmp_path)


@pytest.mark.parametrize(
    ("visible", "wanted"),
    [
        (None, list(UUIDS)),
        ("0", [UUIDS[0]]),
        ("1", [UUIDS[1]]),
        ("1,0", list(UUIDS)),
        ("0, 1", list(UUIDS)),
        (UUIDS[1], [UUIDS[1]]),
        ("GPU-1111", [UUIDS[1]]),
        ("", []),
        ("-1", []),
        ("2", []),
        ("10", []),
        ("MIG-33333333-cccc-0000-0000-000000000000", ["MIG-33333333-cccc-0000-0000-000000000000"]),
    ],
)
def test_only_what_may_be_used_is_claimed(visible, wanted):
    """Fault: GPU=1 holds both GPUs, or none; the beginning of a UUID, which CUDA takes, claims nothing."""
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert claim.wanted(a_run(**environment)) == wanted
    assert claim.wanted(a_run("r", "XLA_GPU", **environment)) == wanted
    assert claim.wanted(a_run("r", "CPU", **environment)) == []


def test_where_the_second_gpu_is_taken_the_first_is_let_go(tmp_path):
    """Fault: a run that was refused for one GPU holds the other until its process ends."""
    with claim.gpus(a_run("first", CUDA_VISIBLE_DEVICES="1"), tmp_path):
        assert UUIDS[1] in refused(a_run("second"), tmp_path)
        assert refused(a_run("third", CUDA_VISIBLE_DEVICES="0"), tmp_path) == ""


def test_an_error_lets_go(tmp_path):
    """Fault: a run that failed holds its GPU until the process ends."""
    with pytest.raises(ZeroDivisionError), claim.gpus(a_run(), tmp_path):
        raise ZeroDivisionError
    assert refused(a_run("second"), tmp_path) == ""


CHILD = """
import sys, time
from pathlib import Path
from suite import claim
from tests.unit.test_claim import a_run
with claim.gpus(a_run("killed"), Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold both GPUs while the body lasts."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_lock_goes_with_the_process(tmp_path):
    """Fault: after a SIGKILL somebody must find and delete a lock file before the GPU can be measured."""
    with holding(tmp_path) as process:
        assert refused(a_run("second"), tmp_path).endswith(f"tf1.14-cuda10 killed (process {process.pid})")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert refused(a_run("second"), tmp_path) == ""


def test_the_next_user_may_write_the_name(tmp_path):
    """Fault: the first user's umask leaves a file that no other can write: the name in it is for ever the wrong one."""
    before = os.umask(0o077)
    try:
        with claim.gpus(a_run(), tmp_path):
            pass
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o666] * 2


def test_a_lock_file_that_may_only_be_read(tmp_path, monkeypatch):
    """Fault: another user's lock file, made with an old umask, is passed over, and both measure."""
    with claim.gpus(a_run("of-another-user"), tmp_path):
        pass
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    real = os.open

    def not_mine(path, flags, *rest):  # root may write everywhere: the kernel's refusal is played
        if Path(path).parent == tmp_path and flags & (os.O_RDWR | os.O_WRONLY):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", not_mine)
    with claim.gpus(a_run("second"), tmp_path):
        assert f"{UUIDS[0]} is being measured by " in refused(a_run("third"), tmp_path)
    assert refused(a_run("third"), tmp_path) == ""


def test_a_lock_file_that_may_not_be_opened_at_all(tmp_path, monkeypatch):
    """Fault: a temporary folder that is closed, or full, stops every measurement on this machine."""
    real = os.open

    def closed(path, flags, *rest):
        if Path(path).parent == tmp_path:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", closed)
    assert refused(a_run(), tmp_path) == ""
    monkeypatch.undo()
    assert refused(a_run(), tmp_path / "nowhere") == ""


def test_no_other_file_is_written_through_a_link(tmp_path):
    """Fault: whoever puts a symbolic link into /tmp has root's run write into a file of their choice."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    locks = tmp_path / "locks"
    locks.mkdir()
    for uuid in UUIDS:
        (locks / f"coldwarm-{uuid}.lock").symlink_to(precious)
    assert refused(a_run(), locks) == ""
    assert precious.read_text() == "mine"


def test_a_run_that_is_refused_leaves_no_folder(tmp_path, monkeypatch):
    """Fault: a run that was never measured is found by collect, or begins before it is refused."""
    monkeypatch.setattr(claim, "FOLDER", tmp_path / "locks")
    (tmp_path / "locks").mkdir()
    folder = begin(tmp_path / "on-cpu", samples="1").folder
    assert not list((tmp_path / "locks").iterdir()), "a run on CPUs claims no GPU"
    from suite import host

    listed = a_run().host["nvidia"]
    monkeypatch.setattr(host, "nvidia", lambda: listed)
    asked = words.parse({**SMALL, "targets": "GPU,CPU", "samples": "1", "out": str(tmp_path / "out")})
    with claim.gpus(a_run("first")):
        with pytest.raises(SuiteError) as caught:
            measure.run(asked, {}, ["bench"], lambda _: None, recording=RECORDING)
        assert caught.value.exit_code is Exit.NOT_PREPARED and "tf1.14-cuda10 first" in caught.value.what
        assert not list((tmp_path / "out").rglob("run.json"))
        assert begin(tmp_path / "out", samples="1").code is Exit.DONE
    assert folder.is_dir()
    code, _ = measure.run(asked, {}, ["bench"], lambda _: None, recording=RECORDING)
    assert code is Exit.IMPOSSIBLE  # the recording has no GPU, and was asked for one by name


def test_gpu_equals_one_claims_only_that(tmp_path, monkeypatch):
    """Fault: GPU=1 does not reach the claim, and two runs on two GPUs refuse each other."""
    from suite import host

    monkeypatch.setattr(claim, "FOLDER", tmp_path)
    listed = a_run().host["nvidia"]
    monkeypatch.setattr(host, "nvidia", lambda: listed)
    given = {"targets": "GPU,CPU", "samples": "1"}
    with claim.gpus(a_run("first", CUDA_VISIBLE_DEVICES="0")):
        assert begin(tmp_path / "one", gpu="1", **given).code is Exit.IMPOSSIBLE
        with pytest.raises(SuiteError) as caught:
            begin(tmp_path / "zero", gpu="0", **given)
        assert UUIDS[0] in caught.value.what
        with pytest.raises(SuiteError):
            begin(tmp_path / "all", **given)


def test_the_worker_is_not_what_holds_the_gpu(tmp_path):
    """Fault: a worker that outlives a killed run inherits the lock, and the GPU stays taken."""
    with claim.gpus(a_run(), tmp_path):
        held = [Path(f"/proc/self/fd/{fd.name}") for fd in Path("/proc/self/fd").iterdir()]
        mine = [fd.name for fd in held if fd.exists() and "coldwarm-GPU" in str(fd.readlink())]
        assert len(mine) == 2 and not any(os.get_inheritable(int(fd)) for fd in mine)


def test_a_run_of_the_older_kind_claims_what_it_can():
    """Fault: a traceback where nvidia-smi gave no list, as on a machine without it."""
    for nvidia in ({}, {"present": True, "why": "nvidia-smi not on PATH", "gpus": []}):
        run = msgspec.structs.replace(a_run(), host={"nvidia": nvidia} if nvidia else {})
        assert claim.wanted(run) == []
