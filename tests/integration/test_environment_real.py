# SPDX-License-Identifier: Apache-2.0
"""The stack's environment under everything that happens while one is made."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suite import environment, stack
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT, Stack
from tests.integration import making

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made")]

NAME = "tf1.14-cuda10"


def environ_with(cache: Path, **changes: str) -> dict[str, str]:
    return {**os.environ, "COLDWARM_CACHE": str(cache), **changes}


def prepare(which: Stack, minor: str, environ: dict[str, str]) -> environment.Environment:
    return environment.prepare(which, minor, environ=environ, named=None, report=print)


def copy_of_stack(folder: Path) -> Stack:
    """Return a copy of the stack whose files a test may change."""
    target = folder / "docker" / NAME
    shutil.copytree(ROOT / "docker" / NAME, target)
    return stack.load(NAME, folder / "docker")


def test_two_runs_at_once_from_an_empty_cache(tmp_path):
    """Fault: two runs make one environment on top of each other."""
    environ = making.environment(COLDWARM_CACHE=str(tmp_path / "cache"))
    words = ("bench", f"STACK={NAME}", "TARGETS=CPU", "SHAPES=50", "SAMPLES=1")
    both = [making.start(*words, f"OUT={tmp_path}/{name}", env=environ) for name in ("a", "b")]
    done = [making.finish(each, 300) for each in both]
    assert [each.exit_line() for each in done] == ["coldwarm: exit 0 (done)"] * 2, [each.err for each in done]
    assert sum("making the environment" in each.err for each in done) == 1
    assert sum("waiting for another run" in each.err for each in done) == 1


def test_killed_in_mid_install_and_run_again(tmp_path):
    """Fault: half an environment is taken for a whole one."""
    cache = tmp_path / "cache"
    code = (
        "import os; from suite import environment, stack;"
        f"environment.prepare(stack.load({NAME!r}), '3.6', environ=os.environ, named=None, report=print)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environ_with(cache), start_new_session=True, stdout=-3
    )
    making.until(lambda: bool(list(cache.glob("env/*/lib/*/site-packages/tensorflow"))), 120)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    which = stack.load(NAME)
    assert environment.find_made(which, "3.6", environ=environ_with(cache)) is None
    made = prepare(which, "3.6", environ_with(cache))
    assert made.made and made.packages["tensorflow-gpu"] == "1.14.0"
    assert not prepare(which, "3.6", environ_with(cache)).made


def test_a_made_environment_needs_no_network(tmp_path, require):
    """Fault: a second run that asks an index, or a resolver, for what is already there."""
    require("unshare")
    words = f"bench STACK={NAME} TARGETS=CPU SHAPES=50 SAMPLES=1 OUT={tmp_path}"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f"make {words}"],
        cwd=ROOT,
        env=making.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "coldwarm: exit 0 (done)" in done.stderr, done.stderr


def test_a_made_environment_is_found_at_once(made):
    """Fault: seconds of checking before every run."""
    begin = time.monotonic()
    assert environment.find_made(stack.load(NAME), "3.6", environ=os.environ) is not None
    assert time.monotonic() - begin < 0.2


def test_a_changed_digit_in_every_hash_of_one_package(tmp_path):
    """Fault: a file that is not the locked one is installed because a cache already holds it."""
    which = copy_of_stack(tmp_path)
    lock = which.locks("3.6")[0]
    text = lock.read_text()
    begin = text.index("absl-py==")
    end = text.index("# via", begin)
    changed = re.sub(r"sha256:(.)", lambda m: "sha256:" + ("1" if m[1] == "0" else "0"), text[begin:end])
    lock.write_text(text[:begin] + changed + text[end:])
    for _ in range(2):  # the second time with whatever the first left in uv's cache
        with pytest.raises(SuiteError) as caught:
            prepare(which, "3.6", environ_with(tmp_path / "cache"))
        assert caught.value.exit_code is Exit.NOT_PREPARED
        assert "absl-py" in caught.value.detail and "requirements-py3.6.lock" in caught.value.what


def test_an_sdist_that_is_not_named_is_refused(tmp_path):
    """Fault: a source archive runs its own code at install time, unasked."""
    which = copy_of_stack(tmp_path)
    path = which.folder / "stack.toml"
    path.write_text(path.read_text().replace('"3.6" = ["gast", "termcolor"]', '"3.6" = ["gast"]'))
    with pytest.raises(SuiteError) as caught:
        prepare(stack.load(NAME, tmp_path / "docker"), "3.6", environ_with(tmp_path / "cache"))
    assert caught.value.exit_code is Exit.NOT_PREPARED
    assert "termcolor" in caught.value.detail


def test_without_the_protobuf_pin(tmp_path, require):
    """Fault: a stack that cannot be imported counts as a failed cell, or is saved by the pure-Python parser.

    Scenario C3: plain resolution of TF 1.14 on Python 3.7 takes protobuf 4 and fails at import.
    """
    require("py37")
    which = copy_of_stack(tmp_path)
    wanted = which.folder / "requirements.in"
    wanted.write_text("".join(line for line in wanted.read_text().splitlines(True) if "protobuf" not in line))
    lock = which.locks("3.7")[0]
    lock.unlink()
    command = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--generate-hashes", "--python-version", "3.7"]
    command += ["--python-platform", "x86_64-manylinux_2_28", str(wanted), "-o", str(lock)]
    subprocess.run(command, check=True, capture_output=True)
    assert "protobuf==4" in lock.read_text()
    environ = environ_with(tmp_path / "cache", PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")
    with pytest.raises(SuiteError) as caught:
        prepare(which, "3.7", environ)
    assert caught.value.exit_code is Exit.NOT_PREPARED
    assert "Descriptors cannot" in caught.value.detail
    assert environment.find_made(which, "3.7", environ=environ) is None


def test_settings_that_lie_above_are_named(tmp_path, monkeypatch):
    """Fault: a uv.toml that somebody left in a folder above keeps every environment from being made, unnamed."""
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "uv.toml").write_text("no-index = true\n")
    monkeypatch.chdir(below)
    environ = environ_with(tmp_path / "cache")
    environ.pop("UV_CONFIG_FILE", None)
    with pytest.raises(SuiteError) as caught:
        prepare(stack.load(NAME), "3.6", environ)
    assert caught.value.exit_code is Exit.NOT_PREPARED
    assert f"uv takes settings from {tmp_path / 'uv.toml'}." in caught.value.next_step


def test_too_little_room(tmp_path, require):
    """Fault: a disk that fills up after minutes of installing."""
    require("unshare")
    code = (
        "import os; from suite import environment, stack;"
        f"environment.prepare(stack.load({NAME!r}), '3.6', environ=os.environ, named=None, report=print)"
    )
    (tmp_path / "cache").mkdir()
    inner = f'mount -t tmpfs -o size=50m none {tmp_path}/cache && exec {sys.executable} -c "{code}"'
    begin = time.monotonic()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inner],
        cwd=ROOT,
        env=environ_with(tmp_path / "cache"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert time.monotonic() - begin < 5
    assert "2000 MB are needed" in done.stderr and "MB are free" in done.stderr


def test_the_second_minor_measures(tmp_path, require):
    """Fault: a lock for Python 3.7 that nobody ever installed."""
    require("py37")
    done = making.make(
        "bench", f"STACK={NAME}", "PYTHON=3.7", "TARGETS=CPU,XLA_CPU", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}"
    )
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert "Python 3.7." in done.out


def test_an_adopted_interpreter_is_said(made, tmp_path):
    """Fault: packages that no lock names, in a table that looks like the stack's."""
    done = making.make(
        *("bench", f"STACK={NAME}", f"PYTHON={made.python}", "ADOPT=1"),
        *("TARGETS=CPU", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}"),
    )
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert "ADOPTED: an interpreter as it was found, tensorflow-gpu 1.14.0" in done.out
