# SPDX-License-Identifier: Apache-2.0
"""The bootstrap under what machines do to python3."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suite.stack import ROOT

SCRIPT = ROOT / "suite" / "bootstrap.py"


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def bootstrap(folder: Path, lock: Path, python: str = sys.executable, **environ: str):
    return subprocess.run(
        [python, str(SCRIPT), str(folder), str(lock)],
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        check=False,
    )


@pytest.fixture
def empty_lock(tmp_path):
    lock = tmp_path / "empty.lock"
    lock.write_text("# nothing\n")
    return lock


def test_it_parses_under_the_oldest_python():
    """Fault: a SyntaxError where an old python3 should have been told what to do."""
    import ast

    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))


def test_made_once_and_then_quick_and_silent(tmp_path, empty_lock):
    """Fault: an environment that is made at every start."""
    folder = tmp_path / "a folder é"
    first = bootstrap(folder, empty_lock)
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"{folder}/bin/python\n"
    begin = time.monotonic()
    second = bootstrap(folder, empty_lock)
    assert time.monotonic() - begin < 1
    assert (second.stdout, second.stderr) == (first.stdout, "")


def test_a_changed_lock_makes_it_again(tmp_path, empty_lock):
    """Fault: an environment that no longer is what its lock says."""
    folder = tmp_path / "v"
    bootstrap(folder, empty_lock)
    empty_lock.write_text("# something else\n")
    assert "making" in bootstrap(folder, empty_lock).stderr


def test_two_at_once(tmp_path, empty_lock):
    """Fault: two makes that delete each other's environment."""
    command = [sys.executable, str(SCRIPT), str(tmp_path / "v"), str(empty_lock)]
    both = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True) for _ in range(2)]
    said = [each.communicate(timeout=60) for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert said[0][0] == said[1][0]
    assert sum("making" in err for _, err in said) == 1


def test_killed_half_way(tmp_path, empty_lock):
    """Fault: a folder without packages is taken for an environment."""
    command = [sys.executable, str(SCRIPT), str(tmp_path / "v"), str(empty_lock)]
    process = subprocess.Popen(command, stdout=-3, stderr=-3, start_new_session=True)
    while not (tmp_path / "v" / "bin").exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = bootstrap(tmp_path / "v", empty_lock)
    assert done.returncode == 0 and "making" in done.stderr


def test_a_package_with_another_hash(tmp_path):
    """Fault: a file that is not the locked one."""
    lock = tmp_path / "l"
    lock.write_text("six==1.17.0 --hash=sha256:" + "0" * 64 + "\n")
    done = bootstrap(tmp_path / "v", lock)
    assert done.returncode == 4
    assert "six" in done.stderr
    assert done.stderr.splitlines()[-1] == "coldwarm: exit 4 (the stack or engine could not be prepared)"


@pytest.mark.parametrize(
    "shim",
    ["#!/bin/sh\nexit 127\n", "#!/bin/sh\necho 'pyenv: python3.11: command not found' >&2; exit 1\n",
     "#!/bin/sh\necho Python 9\n", "#!/bin/sh\nsleep 60\n", "not even a script"],
    ids=["127", "pyenv", "babbles", "hangs", "garbage"],
)  # fmt: skip
def test_a_broken_shim_first_on_path(tmp_path, empty_lock, shim):
    """Fault: the first python3 on PATH is believed."""
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python3.10"):
        executable(
            tmp_path / "shims" / name, shim if name in ("python3", "python3.13") else "#!/bin/sh\nexit 127\n"
        )
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'suite')!r}); sys.executable = '';"
        "import bootstrap; print(bootstrap.find())"
    )
    real = Path(sys.executable).resolve().parent
    path = f"{tmp_path}/shims:{real}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stdout


def test_only_a_newer_python(tmp_path, empty_lock):
    """Fault: a traceback from a wheel that does not exist yet, instead of what to do."""
    ours = tmp_path / "bin" / "python3"
    executable(ours, "#!/bin/sh\necho 3.14\n")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'suite')!r}); sys.executable = {str(ours)!r};"
        "import bootstrap; sys.exit(bootstrap.main(sys.argv[1:]))"
    )
    environ = {"PATH": str(ours.parent), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", code, str(tmp_path / "v"), str(empty_lock)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 4
    assert "no Python 3.10 to 3.13" in done.stderr and "is Python 3.14" in done.stderr
    assert "pyenv install 3.13" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("coldwarm: exit 4 ")


def test_no_venv_module(tmp_path, empty_lock):
    """Fault: Debian's python3 without python3-venv: its own words alone name no package to install."""
    ours = tmp_path / "bin" / "python3"
    refuses = '[ "$2" = venv ] && { echo ensurepip is not available; exit 1; }'
    fake = f'#!/bin/sh\n{refuses}\nexec {sys.executable} "$@"\n'
    executable(ours, fake)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'suite')!r}); sys.executable = {str(ours)!r};"
        "import bootstrap; sys.exit(bootstrap.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "v"), str(empty_lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "ensurepip is not available" in done.stderr and "apt-get install python3" in done.stderr


def test_a_folder_whose_path_has_a_colon(tmp_path, empty_lock):
    """Fault: venv refuses a path with a colon, so a checkout there could never be used."""
    done = bootstrap(tmp_path / "a:b" / ".venv", empty_lock, COLDWARM_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path}/cache/host/")


@pytest.mark.real
@pytest.mark.parametrize("minor", ["3.10", "3.11", "3.12", "3.13"])
def test_the_host_lock_on_every_python(tmp_path, minor, require):
    """Fault: a lock that one of the promised Pythons cannot install, or code that it cannot run."""
    require(f"py{minor.replace('.', '')}")
    from suite import pythons

    python = pythons.find(minor, os.environ)
    folder = tmp_path / "venv"
    done = bootstrap(folder, ROOT / "requirements.lock", python=str(python.path))
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(
        [f"{folder}/bin/python", "-m", "suite", "list"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0 and "tf1.14-cuda10" in ran.stdout, ran.stderr
    version = subprocess.run([f"{folder}/bin/python", "-V"], capture_output=True, text=True, check=True).stdout
    assert version.startswith(f"Python {minor}.")
    # All that a run and its tables need, without timing anything.
    code = (
        "import sys; from pathlib import Path; from suite import measure, words;"
        "r = measure.run(words.parse({'stack': 'tf1.14-cuda10', 'shapes': '500', 'out': sys.argv[1]}), {}, [],"
        " print, recording=Path('tests/data/recorded/tf1.14-cuda10')); sys.exit(int(r[0]))"
    )
    ran = subprocess.run(
        [f"{folder}/bin/python", "-c", code, str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0 and "3/3 ok" in ran.stdout, ran.stderr
    shutil.rmtree(folder)
