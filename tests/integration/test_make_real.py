# SPDX-License-Identifier: Apache-2.0
"""What a person types, and what a machine does to it while it runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from suite import collect, journal
from tests.integration import making
from tests.integration.making import STACK, environment, make, start, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made")]

SMALL = ("bench", f"STACK={STACK}", "TARGETS=CPU", "SHAPES=50", "SAMPLES=1")


def running(out: Path, at_least: int) -> bool:
    """Tell whether a worker of a run below ``out`` runs and so many samples have ended."""
    return len(making.lines(out)) >= at_least and bool(making.processes(str(out)))


def check_partial(out: Path) -> None:
    """Check that a run that was cut short is whole, labelled, and left no process."""
    until(lambda: not making.processes(str(out)), 10)
    folder = making.folder(out)
    run, samples, notes = collect.derive(folder)
    assert notes == []
    assert 0 < len(samples) < len(run.plan.planned)
    assert "PARTIAL: the run ended before" in (folder / "table.md").read_text()
    # All but the one in flight are what they would have been.
    assert {s.status for s in samples[:-1]} <= {"ok", "unavailable"}
    raw = {path.name for path in (folder / journal.RAW).iterdir()}
    taken = {s.id for s in samples if s.wall_s is not None}
    assert taken <= raw and len(raw - taken) <= 1


def test_ctrl_c(tmp_path):
    """Fault: nox kills the suite after 0.3 s, or the sample in flight is called a result."""
    process = start("bench", f"STACK={STACK}", f"OUT={tmp_path}")
    until(lambda: running(tmp_path, 4))
    os.killpg(process.pid, signal.SIGINT)
    done = making.finish(process, 30)
    assert done.exit_line() == "coldwarm: exit 130 (interrupted)"
    assert done.code != 0
    check_partial(tmp_path)
    assert making.lines(tmp_path)[-1]["status"] == "interrupted"


@pytest.mark.parametrize("who", ["make", "nox", "suite"])
def test_kill_9(tmp_path, who):
    """Fault: an orphan goes on measuring, or half a line ends the journal."""
    process = start("bench", f"STACK={STACK}", f"OUT={tmp_path}")
    until(lambda: running(tmp_path, 4))
    suite = next(pid for pid in making.processes(f"OUT={tmp_path}".removeprefix("OUT=")) if _is_suite(pid))
    victim = {"make": process.pid, "nox": _parent(suite), "suite": suite}[who]
    os.kill(victim, signal.SIGKILL)
    making.finish(process, 30)
    check_partial(tmp_path)
    again = make(*SMALL, f"OUT={tmp_path}/again")
    assert again.exit_line() == "coldwarm: exit 0 (done)", again.err


def _is_suite(pid: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return command[1:4] == [b"-m", b"suite", b"bench"]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_misspelt_stack():
    """Fault: nox's own words about an unknown session, or a traceback."""
    done = make("bench", "STACK=tf1.14-cuda1O")
    assert "Did you mean tf1.14-cuda10?" in done.err
    assert done.exit_line() == "coldwarm: exit 2 (usage)"


def test_a_path_with_everything_in_it(tmp_path):
    """Fault: a word that is split or quoted twice on its way from make over nox to the suite."""
    out = tmp_path / "résultats d'été: 1 & 2"
    done = make("bench", f"STACK={STACK}", "TARGETS=CPU,XLA_CPU", "SHAPES=50", "SAMPLES=1", f"OUT={out}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert {line["status"] for line in making.lines(out)} == {"ok"}


def test_no_python_for_the_stack(tmp_path):
    """Fault: minutes of work, or a traceback, before a missing interpreter is said."""
    environ = environment(PATH="/usr/bin:/bin", HOME=str(tmp_path), PYENV_ROOT=str(tmp_path))
    environ.update(COLDWARM_CACHE=str(tmp_path / "cache"))
    begin = time.monotonic()
    done = make(*SMALL, f"OUT={tmp_path}/out", env=environ)
    assert time.monotonic() - begin < 5
    assert done.exit_line().startswith("coldwarm: exit 4 "), done.err
    words = " ".join(done.err.split())
    assert "no Python 3.6 that runs was found" in words
    assert "pyenv install 3.6.15" in words and "PYTHON=/path/to/python3.6" in words


def test_out_that_cannot_be_written(tmp_path, require):
    """Fault: minutes of measuring before a read-only results folder is noticed."""
    require("unshare")
    (tmp_path / "out").mkdir()
    command = f"mount -t tmpfs -o ro none {tmp_path}/out && exec make {' '.join(SMALL)} OUT={tmp_path}/out"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command],
        cwd=making.ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "coldwarm: exit 4 " in done.stderr and "Read-only file system" in done.stderr
    assert "pilot" not in done.stderr


def test_a_full_disk_keeps_what_was_measured(tmp_path, require):
    """Fault: ENOSPC in mid-run loses the samples before it, or ends in a traceback."""
    require("unshare")
    (tmp_path / "out").mkdir()
    words = f"bench STACK={STACK} TARGETS=CPU SHAPES=50 SAMPLES=20 OUT={tmp_path}/out"
    command = (
        f"mount -t tmpfs -o size=300k none {tmp_path}/out && make {words}; echo code $?; "
        f"cp -r {tmp_path}/out {tmp_path}/kept"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command],
        cwd=making.ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr
    assert "coldwarm: exit 5 " in done.stderr
    kept = making.lines(tmp_path / "kept")
    assert len(kept) >= 2 and all(each["status"] == "ok" for each in kept)
    folder = making.folder(tmp_path / "kept")
    _, samples, notes = collect.derive(folder)
    assert len(samples) == len(kept) and notes == []


def test_a_file_limit_keeps_what_was_measured(tmp_path):
    """Fault: as above, for a user who has no disk of their own to fill: a quota, or ulimit -f."""
    words = f"bench STACK={STACK} TARGETS=CPU SHAPES=50 SAMPLES=20 OUT={tmp_path}"
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 256 && exec make {words}"],  # in blocks of 512 bytes
        cwd=making.ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert "coldwarm: exit 5 " in done.stderr
    kept = making.lines(tmp_path)
    assert len(kept) >= 2 and all(each["status"] == "ok" for each in kept)
    _, samples, notes = collect.derive(making.folder(tmp_path))
    assert len(samples) == len(kept) and len(notes) <= 1


def test_a_run_under_another_locale_and_time_zone(tmp_path, require):
    """Fault: a decimal comma in a file, a local time, a message that a pattern waits for in English."""
    require("locale_de")
    done = make(*SMALL, f"OUT={tmp_path}", env=environment(LC_ALL="de_DE.UTF-8", LANG="", TZ="Asia/Kolkata"))
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    folder = making.folder(tmp_path)
    wanted = {name: (folder / name).read_bytes() for name in ("table.md", "table.csv")}
    collect.derive(folder)
    assert {name: (folder / name).read_bytes() for name in wanted} == wanted
    run = collect.journal.read_run(folder)
    assert run.created_utc[:13].replace("-", "") == run.run_id[:11] and run.created_utc.endswith("Z")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone of the committed tree."""
    target = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(making.ROOT), str(target)], check=True)
    return target


def test_an_ordinary_user_in_a_fresh_clone(tmp_path, clone, require):
    """Fault: anything that only root may do: caches in root's home, files that belong to somebody else."""
    require("root")
    require("unshare")
    uid = 4321
    home = tmp_path / "home"
    home.mkdir()
    for path in (clone, home):
        subprocess.run(["chown", "-R", f"{uid}:{uid}", str(path)], check=True)
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    # Interpreters below a closed home are shown to the user in a mount namespace of the test's own.
    opened = tmp_path / "opened"
    opened.mkdir(mode=0o755)
    roothome = Path.home()
    pyenv = roothome / ".pyenv"
    binds = ""
    if pyenv.is_dir():
        (opened / ".pyenv").mkdir()
        binds = f"mount --bind {pyenv} {opened}/.pyenv && mount --rbind {opened} {roothome} && "
    words = " ".join((*SMALL[:2], "SHAPES=50", "SAMPLES=1"))
    user = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
    command = f"{binds}cd {clone} && exec {user} make {words}"
    environ = environment(HOME=str(home), PYENV_ROOT=str(pyenv))
    for name in ("COLDWARM_CACHE", "UV_CACHE_DIR", "XDG_CACHE_HOME"):
        environ.pop(name, None)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command], env=environ, capture_output=True, text=True, check=False
    )
    assert "coldwarm: exit 0 (done)" in done.stderr, done.stderr[-3000:]
    assert "CPU" in done.stdout and "XLA_CPU" in done.stdout
    results = list((clone / "results").rglob("*"))
    assert any(path.name == "table.md" for path in results)
    assert {path.lstat().st_uid for path in results if ".md" not in path.name or STACK in str(path)} == {uid}
    # And then somebody else's results folder: refused at once, by name.
    shutil.rmtree(clone / "results")
    (clone / "results").mkdir(mode=0o755)
    begin = time.monotonic()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command], env=environ, capture_output=True, text=True, check=False
    )
    assert time.monotonic() - begin < 5
    assert "coldwarm: exit 4 " in done.stderr
    assert "belongs to uid 0, you are uid 4321" in " ".join(done.stderr.split())
