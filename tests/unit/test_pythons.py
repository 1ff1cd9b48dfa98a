# SPDX-License-Identifier: Apache-2.0
"""Finding a stack's Python among things that only look like one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from suite import pythons, ready, stack, words
from suite.engines.choose import Choice
from suite.errors import SuiteError
from suite.exits import Exit

OURS = ".".join(map(str, sys.version_info[:2]))


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def real(path: Path) -> Path:
    return script(path, f'exec {sys.executable} "$@"')


def answers(path: Path, version: str) -> Path:
    return script(path, f"echo {version} {path}")


@pytest.mark.parametrize("text", ["exit 127", "echo 'no version set' >&2; exit 1", "echo what", "exec sleep 60"])
def test_a_broken_shim_first_on_path_is_passed_over(tmp_path, text):
    """Fault: the first name on PATH is believed, or waited for."""
    script(tmp_path / "shims" / f"python{OURS}", text)
    real(tmp_path / "good" / f"python{OURS}")
    begin = time.monotonic()
    found = pythons.find(OURS, {"PATH": f"{tmp_path}/shims:{tmp_path}/good", "HOME": str(tmp_path)})
    assert found.found_by == "PATH" and found.version.startswith(OURS)
    assert time.monotonic() - begin < 4


def test_another_version_under_the_right_name_is_passed_over(tmp_path):
    """Fault: a link named python3.6 to whatever was newest."""
    answers(tmp_path / "bin" / "python3.6", "3.9.1")
    with pytest.raises(SuiteError) as caught:
        pythons.find("3.6", {"PATH": f"{tmp_path}/bin", "HOME": str(tmp_path)})
    assert "is Python 3.9.1" in caught.value.next_step


def test_pyenvs_newest_patch_is_taken_without_its_shims(tmp_path):
    """Fault: 3.6.9 is taken as newer than 3.6.15, or pyenv is asked, whose shims do not run."""
    for version in ("3.6.9", "3.6.15", "3.60.1"):
        answers(tmp_path / ".pyenv" / "versions" / version / "bin" / "python3.6", version)
    found = pythons.find("3.6", {"PATH": "", "HOME": str(tmp_path)})
    assert (found.version, found.found_by) == ("3.6.15", "pyenv")


def test_none_at_all_is_said_within_five_seconds(tmp_path):
    """Fault: a long search, or advice that cannot be followed: nothing offers 3.6 for download any more."""
    for number in range(8):
        script(tmp_path / str(number) / "python3.6", "exec sleep 60")
    path = ":".join(f"{tmp_path}/{number}" for number in range(8))
    begin = time.monotonic()
    with pytest.raises(SuiteError) as caught:
        pythons.find("3.6", {"PATH": path, "HOME": str(tmp_path)})
    assert time.monotonic() - begin < 5
    assert caught.value.exit_code is Exit.NOT_PREPARED
    assert "pyenv install 3.6.15" in caught.value.next_step and "uv python install" not in caught.value.next_step


def test_a_named_python_must_run_and_be_of_the_minor(tmp_path):
    """Fault: PYTHON= of another version is used, or a traceback."""
    wrong = answers(tmp_path / "python", "3.9.1")
    with pytest.raises(SuiteError, match=r"this is Python 3\.9\.1, the stack needs 3\.6"):
        pythons.find("3.6", {}, named=str(wrong))
    with pytest.raises(SuiteError, match="this does not run: No such file"):
        pythons.find("3.6", {}, named=str(tmp_path / "nothing"))


def test_the_word_python_is_a_minor_or_a_path(tmp_path):
    """Fault: a minor without a lock is measured, or a path's minor is not looked at."""
    assert pythons.minor_of_word(None, ["3.6", "3.7"]) == ("3.6", None)
    assert pythons.minor_of_word("3.7", ["3.6", "3.7"]) == ("3.7", None)
    path = str(answers(tmp_path / "python", "3.7.16"))
    assert pythons.minor_of_word(path, ["3.6", "3.7"]) == ("3.7", path)
    with pytest.raises(SuiteError, match="has locks for 3.6 and 3.7"):
        pythons.minor_of_word("3.8", ["3.6", "3.7"])
    with pytest.raises(SuiteError) as caught:
        pythons.adopted(None)
    assert caught.value.exit_code is Exit.USAGE


def test_without_the_default_the_error_names_the_others(monkeypatch, tmp_path):
    """Fault: a machine that has 3.12 alone is told to install 3.11, although the stack has a lock for 3.12."""
    monkeypatch.setattr(pythons, "_from_uv", lambda *_: None)
    environ = {"PATH": "", "PYENV_ROOT": str(tmp_path), "COLDWARM_CACHE": str(tmp_path)}
    chosen = stack.load("tf2.18-cuda12.5")
    asked = words.parse({"stack": chosen.name, "engine": "local", "out": str(tmp_path)})
    with pytest.raises(SuiteError, match=r"no Python 3\.11 that runs was found") as caught:
        ready._prepare(asked, chosen, environ, tmp_path, None, Choice("local", "asked for"))
    assert caught.value.next_step.startswith(
        "tf2.18-cuda12.5 has locks for other minors, too: PYTHON=3.12. Get one"
    )


def test_a_folder_on_path_that_is_closed_is_passed_over(monkeypatch):
    """Fault: another user's private bin folder on PATH ends the search with a traceback."""

    def closed(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(pythons, "_from_uv", lambda *_: None)
        patched.setattr(os, "stat", closed)
        found = list(pythons._candidates("3.6", {"PATH": "/closed/bin", "PYENV_ROOT": "/closed"}))
    assert found == []
