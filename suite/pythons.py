# SPDX-License-Identifier: Apache-2.0
"""Find an interpreter of one Python minor that really runs, on machines where many only look as if."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.exits import Exit

#: Seconds that one candidate may take to say its version, and the whole search.
PROBE_S = 1.5
SEARCH_S = 4.0

_ASK = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.executable)"


class NotFound(SuiteError):
    """No interpreter of a minor was found."""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter that ran: its path, its full version and how it was found."""

    path: Path
    version: str
    found_by: str


def find(minor: str, environ: Mapping[str, str], named: str | None = None) -> Interpreter:
    """Return an interpreter of ``minor`` ("3.6").

    Looked for in this order: ``named`` (PYTHON=), each pythonX.Y on PATH, pyenv's version folders, uv.

    Raises
    ------
    SuiteError
        NOT_PREPARED (:class:`NotFound`) within 5 s, naming what was looked at and passed over, and why.
    """
    if named:
        return _named(named, minor)
    until = time.monotonic() + SEARCH_S
    passed_over: list[str] = []
    for path, found_by in _candidates(minor, environ):
        left = until - time.monotonic()
        if left <= 0:
            passed_over.append("the search ran out of time")
            break
        version, executable, why = probe(path, min(PROBE_S, left))
        if version and _minor_of(version) == minor:
            return Interpreter(Path(executable), version, found_by)
        passed_over.append(f"{path}: {why or f'is Python {version}'}")
    raise NotFound(Exit.NOT_PREPARED, f"no Python {minor} that runs was found", _advice(minor, passed_over))


def minor_of_word(named: str | None, minors: Sequence[str]) -> tuple[str, str | None]:
    """Return which of a stack's minors PYTHON= asks for, and the path in it, if it is one.

    PYTHON= is a minor ("3.7") or an interpreter's path; unset, the first of ``minors`` is taken.

    Raises
    ------
    SuiteError
        NOT_PREPARED where it does not run or is of a minor that the stack has no lock for.
    """
    if named is None:
        return minors[0], None
    path = None
    minor = named
    if not re.fullmatch(r"3\.\d+", named):
        path = named
        minor = _minor_of(_runs(named, " or ".join(minors)).version)
    if minor not in minors:
        what = f"PYTHON={named}: this is Python {minor}, the stack has locks for {' and '.join(minors)}"
        raise SuiteError(Exit.NOT_PREPARED, what, "ADOPT=1 uses an interpreter as it is, with its packages.")
    return minor, path


def probe(path: Path, timeout_s: float = PROBE_S) -> tuple[str, str, str]:
    """Ask an interpreter for its version; return (version, its real executable, "") or ("", "", why not)."""
    try:
        done = subprocess.run(
            [str(path), "-I", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", "", f"did not answer within {timeout_s:.1f} s"
    except OSError as error:
        return "", "", error.strerror or str(error)
    words = done.stdout.strip().split(" ", 1)
    if done.returncode != 0 or len(words) != 2 or words[0].count(".") != 2:
        said = (done.stderr.strip().splitlines() or [""])[0][:80]
        return "", "", f"exit code {done.returncode}" + (f": {said}" if said else "")
    return words[0], words[1], ""


def likely(minor: str, environ: Mapping[str, str]) -> bool | None:
    """Tell whether an interpreter of ``minor`` lies where :func:`find` looks. Quick: runs nothing.

    None where there are scripts of that name only: a version manager's shim says nothing until it is run.
    """
    scripts = False
    for path, found_by in _lying(minor, environ):
        if found_by == "pyenv" or not _is_script(path):
            return True
        scripts = True
    data = Path(environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".local" / "share")
    managed = Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    try:
        if any(managed.glob(f"cpython-{minor}.*/bin/python{minor}")):
            return True
    except OSError:
        pass
    return None if scripts else False


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def _candidates(minor: str, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    yield from _lying(minor, environ)
    found = _from_uv(minor, environ)
    if found:
        yield found, "uv"


def _lying(minor: str, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    name = f"python{minor}"
    for folder in environ.get("PATH", "").split(os.pathsep):
        path = Path(folder or ".") / name
        # Not Path.is_file(): it raises where a folder on PATH is closed to this user.
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            yield path.absolute(), "PATH"
    root = Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME") or "~").expanduser() / ".pyenv")
    try:
        versions = sorted(root.glob(f"versions/{minor}.*"), key=_patch, reverse=True)
    except OSError:
        versions = []
    for version in versions:
        path = version / "bin" / name
        if os.path.isfile(path):  # noqa: PTH113
            yield path, "pyenv"


def _patch(folder: Path) -> int:
    last = folder.name.rpartition(".")[2]
    return int(last) if last.isdigit() else -1


def _from_uv(minor: str, environ: Mapping[str, str]) -> Path | None:
    """Ask uv, which knows its own installations; any error, at a broken shim say, means "not found"."""
    command = [sys.executable, "-m", "uv", "python", "find", minor, "--no-python-downloads", "--no-project"]
    try:
        done = subprocess.run(
            command,
            env={**environ, "UV_PYTHON_DOWNLOADS": "never"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    path = Path(done.stdout.strip())
    return path if done.returncode == 0 and path.is_file() else None


def _named(named: str, minor: str) -> Interpreter:
    found = _runs(named, minor)
    if _minor_of(found.version) != minor:
        what = f"PYTHON={named}: this is Python {found.version}, the stack needs {minor}"
        raise SuiteError(Exit.NOT_PREPARED, what, f"Name a Python {minor} by its path.")
    return found


def _runs(named: str, wanted: str) -> Interpreter:
    path = Path(named).expanduser().absolute()
    version, executable, why = probe(path, SEARCH_S)
    if not version:
        what = f"PYTHON={named}: this does not run: {why}"
        raise SuiteError(Exit.NOT_PREPARED, what, f"Name a Python {wanted} by its path.")
    return Interpreter(Path(executable), version, "PYTHON=")


def adopted(named: str | None) -> Interpreter:
    """Return the interpreter that PYTHON= names, for ADOPT=1. Raises SuiteError: USAGE, NOT_PREPARED."""
    if named is None:
        raise SuiteError(Exit.USAGE, "ADOPT=1 needs PYTHON=, the interpreter to use as it is")
    return _runs(named, "interpreter")


def _minor_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


#: The last release of the minors that no download offers any more.
_LAST = {"3.6": "3.6.15", "3.7": "3.7.17", "3.8": "3.8.20"}


def _advice(minor: str, passed_over: list[str]) -> str:
    exact = _LAST.get(minor, minor)
    ways = [f"pyenv install {exact}", f"conda create -p ./py python={minor}, then PYTHON=./py/bin/python"]
    if minor not in ("3.6", "3.7"):
        ways.insert(0, f"uv python install {minor}")
    looked = "Looked on PATH, in pyenv's versions and at uv's"
    if passed_over:
        looked += "; passed over: " + "; ".join(passed_over)
    return f"Get one: {', or '.join(ways)}; or name one: PYTHON=/path/to/python{minor}. {looked}."
