# SPDX-License-Identifier: Apache-2.0
"""A stack's environment on this machine: made once from its hashed lock, proven by an import, then reused.

A stamp, written last, is what makes an environment one: a folder without it was never finished.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite import host, pythons
from suite.errors import SuiteError
from suite.exits import Exit
from suite.journal import write_atomically
from suite.stack import Stack, Wheels
from suite.worker_env import clean_environment

#: Part of the key: a change of how environments are made makes new ones.
RECIPE = 1
STAMP = "coldwarm.json"
#: What can build an sdist; they come from the lock, by hash, before anything that is built with them.
BUILD_TOOLS = ("setuptools", "wheel")
IMPORT_CHECK_S = 300.0


@dataclass(frozen=True)
class Environment:
    """An environment that can run its stack's worker."""

    python: Path
    folder: Path
    key: str
    lock_sha256: str
    python_version: str
    python_found_by: str
    wheels: str
    packages: dict[str, str]
    made: bool
    """Whether this very call made it."""

    def identity(self) -> dict[str, Any]:
        """Return what identifies it, for run.json: no path, so that a published run tells none."""
        python = self.python.relative_to(self.folder) if self.python.is_relative_to(self.folder) else self.python
        told = {**vars(self), "python": str(python)}
        del told["folder"]
        return told


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return where environments live: COLDWARM_CACHE, else coldwarm below the user's cache folder."""
    if environ.get("COLDWARM_CACHE"):
        return Path(environ["COLDWARM_CACHE"]).expanduser().absolute()
    home = Path(environ.get("HOME") or "~").expanduser()
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache").absolute() / "coldwarm"


def wheels_for(stack: Stack) -> Wheels:
    """Return "cuda" where CUDA's wheels are installed: in every case, or with an NVIDIA driver on this machine."""
    if stack.definition.install.cuda_included:
        return "cuda"
    return "cuda" if stack.has_cuda_wheels() and host.nvidia_driver_loaded() else "cpu"


def find_made(
    stack: Stack, minor: str, *, environ: Mapping[str, str], wheels: Wheels = "cpu"
) -> Environment | None:
    """Return an environment of this stack, minor and lock that is already made, or None. Reads only."""
    lock = _lock_bytes(stack, minor, wheels)
    for folder in sorted((cache_folder(environ) / "env").glob(f"{stack.name}-py{minor}-*")):
        made = _stamped(folder)
        if made and made.lock_sha256 == hashlib.sha256(lock).hexdigest() and folder.name == made.key:
            return made
    return None


def prepare(
    stack: Stack,
    minor: str,
    *,
    environ: Mapping[str, str],
    named: str | None,
    report: Callable[[str], None],
    wheels: Wheels = "cpu",
) -> Environment:
    """Return the stack's environment, making it where it does not exist yet.

    Safe to call twice at once (the second waits) and to interrupt: an unfinished folder is made again.
    A made environment needs neither network nor uv.

    Parameters
    ----------
    named
        PYTHON= of the user, or None to take what is found.

    Raises
    ------
    SuiteError
        NOT_PREPARED: no interpreter, not enough room, a package that cannot be installed or a framework that
        cannot be imported, in uv's or Python's own words.
    """
    if named is None:
        made = find_made(stack, minor, environ=environ, wheels=wheels)
        if made:
            return made
    interpreter = pythons.find(minor, environ, named)
    lock = _lock_bytes(stack, minor, wheels)
    folder = cache_folder(environ) / "env" / _key(stack, minor, lock, interpreter, wheels)
    made = _stamped(folder)
    if made:
        return made
    with _locked(folder, report):
        made = _stamped(folder)  # another run may have made it meanwhile
        if made:
            return made
        check_room(stack, folder.parent, wheels)
        size = size_mb(stack, wheels)
        with_cuda = ", with CUDA's wheels" if wheels == "cuda" else ""
        report(
            f"making the environment of {stack.name} for Python {interpreter.version}{with_cuda} ({size} MB, once)"
        )
        return _make(stack, folder, lock, interpreter, environ, wheels)


def adopt(stack: Stack, named: str | None, *, environ: Mapping[str, str]) -> Environment:
    """Return the environment of an interpreter as it is (ADOPT=1): nothing is installed, all is recorded.

    Raises
    ------
    SuiteError
        USAGE without PYTHON=, NOT_PREPARED where the interpreter or the framework does not start.
    """
    interpreter = pythons.adopted(named)
    version = _import(stack, interpreter.path, environ)
    packages = _packages(interpreter.path)
    packages[stack.definition.framework.package] = version
    return Environment(
        python=interpreter.path,
        folder=interpreter.path.parent.parent,
        key="adopted",
        lock_sha256="",
        python_version=interpreter.version,
        python_found_by=interpreter.found_by,
        wheels="adopted",
        packages=packages,
        made=False,
    )


def cuda_variables(stack: Stack, made: Environment, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which the framework finds CUDA's wheels; none where it looks for them itself.

    What the user has in a variable that is a list of folders stays, behind: a driver may be there.
    """
    if made.wheels != "cuda":
        return {}
    [packages] = (made.folder / "lib").glob("python*/site-packages")
    out = {}
    for name, value in stack.definition.install.cuda_environment.items():
        behind = environ.get(name) if name == "LD_LIBRARY_PATH" else None
        out[name] = ":".join(each for each in (value.replace("{packages}", str(packages)), behind) if each)
    return out


def size_mb(stack: Stack, wheels: Wheels) -> int:
    """Return what a made environment takes, in MB (10**6 bytes)."""
    return stack.definition.install.environment_mb + _cuda_mb(stack, wheels)


def check_room(stack: Stack, parent: Path, wheels: Wheels = "cpu") -> None:
    """Raise NOT_PREPARED where the file system of ``parent`` has too little room for the environment."""
    install = stack.definition.install
    needed = install.environment_mb + install.download_mb + 2 * _cuda_mb(stack, wheels)
    free = shutil.disk_usage(_existing(parent)).free // 10**6
    if free < needed:
        what = f"{parent}: {needed} MB are needed to make {stack.name}, {free} MB are free"
        raise SuiteError(Exit.NOT_PREPARED, what, "Free some, or name another folder: COLDWARM_CACHE=/path")


def _cuda_mb(stack: Stack, wheels: Wheels) -> int:
    return stack.definition.install.cuda_mb if wheels == "cuda" else 0


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def _lock_bytes(stack: Stack, minor: str, wheels: Wheels) -> bytes:
    """Return the bytes of all locks that make this environment, one after the other."""
    out = b""
    for path in stack.locks(minor, wheels):
        try:
            out += path.read_bytes()
        except OSError as error:
            what = f"{path.parent.name}/{path.name}: {error.strerror}"
            raise SuiteError(Exit.NOT_PREPARED, what, "nox -s lock makes it.") from error
    return out


def _key(stack: Stack, minor: str, lock: bytes, interpreter: pythons.Interpreter, wheels: Wheels) -> str:
    text = (str(interpreter.path), interpreter.version, wheels, str(RECIPE))
    parts = (lock, *(each.encode() for each in text))
    digest = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    return f"{stack.name}-py{minor}-{digest[:12]}"


def _stamped(folder: Path) -> Environment | None:
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        python = folder / "bin" / "python"
        if stamp["recipe"] != RECIPE or not os.access(python, os.X_OK):
            return None
        return Environment(
            python=python,
            folder=folder,
            key=stamp["key"],
            lock_sha256=stamp["lock_sha256"],
            python_version=stamp["python_version"],
            python_found_by=stamp["python_found_by"],
            wheels=stamp["wheels"],
            packages=stamp["packages"],
            made=False,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def _locked(folder: Path, report: Callable[[str], None]) -> Iterator[None]:
    import filelock

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder.parent / f".{folder.name}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            report("waiting for another run, which is making this environment")
            lock.acquire()
    except OSError as error:
        what = f"{folder.parent}: cannot write there: {error.strerror or error}"
        raise SuiteError(Exit.NOT_PREPARED, what, "Name another folder: COLDWARM_CACHE=/path") from error
    try:
        yield
    finally:
        lock.release()


def _make(
    stack: Stack,
    folder: Path,
    lock: bytes,
    interpreter: pythons.Interpreter,
    environ: Mapping[str, str],
    wheels: Wheels,
) -> Environment:
    minor = ".".join(interpreter.version.split(".")[:2])
    where = f"{stack.name}/{stack.locks(minor, wheels)[-1].name}"
    python = folder / "bin" / "python"
    _uv(["venv", "--clear", "--no-project", "--python", str(interpreter.path), str(folder)], where, environ)
    with tempfile.TemporaryDirectory() as scratch:
        whole, tools = Path(scratch) / "requirements.txt", Path(scratch) / "tools.txt"
        whole.write_bytes(lock)
        install = ["pip", "install", "--python", str(python), "--require-hashes", "--only-binary", ":all:"]
        sdists = stack.definition.install.sdists.get(minor, [])
        if sdists:
            tools.write_text(_only(lock.decode("utf-8"), BUILD_TOOLS), encoding="utf-8")
            _uv([*install, "-r", str(tools)], where, environ)
        for each in sdists:
            install += ["--no-binary", each, "--no-build-isolation-package", each]
        _uv([*install, "-r", str(whole)], where, environ)
    _compile(python)
    _check_import(stack, python, environ)
    packages = _packages(python)
    stamp = {
        "recipe": RECIPE,
        "key": folder.name,
        "lock_sha256": hashlib.sha256(lock).hexdigest(),
        "python_version": interpreter.version,
        "python_found_by": interpreter.found_by,
        "wheels": wheels,
        "packages": packages,
        "made_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    write_atomically(folder / STAMP, json.dumps(stamp, sort_keys=True, indent=1) + "\n")
    made = _stamped(folder)
    if made is None:
        raise SuiteError(
            Exit.NOT_PREPARED, f"{folder}: the environment vanished while it was made", "Run it again."
        )
    return Environment(**{**vars(made), "made": True})


def _only(lock: str, names: Sequence[str]) -> str:
    """Return the entries of ``names`` from a hashed lock: each a line and its indented continuation."""
    keep, out = False, []
    for line in lock.splitlines():
        if line and not line[0].isspace() and not line.startswith("#"):
            keep = re.split(r"[=\s\[;]", line)[0] in names
        if keep:
            out.append(line)
    return "\n".join(out) + "\n"


def _uv(arguments: list[str], where: str, environ: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", *arguments]
    # uv compiles bytecode with its own rules; what this user's uv is configured to do stays as it is.
    done = subprocess.run(
        command,
        env={**environ, "UV_NO_PROGRESS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    words = (done.stderr or done.stdout).strip()
    raise SuiteError(
        Exit.NOT_PREPARED,
        f"{where}: cannot be installed (uv's words above)",
        " ".join(each for each in (_uv_advice(words), _uv_settings(environ, Path.cwd())) if each),
        words,
    )


def _uv_settings(environ: Mapping[str, str], folder: Path) -> str:
    """Return a sentence that names the file that uv, run in ``folder``, takes settings from; "" where there is none.

    One that somebody left in a folder above holds for all below it (docs.astral.sh/uv, Configuration files).
    """
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/")) / ".config")
    named = environ.get("UV_CONFIG_FILE")
    found = (
        [Path(named)]
        if named
        else [*(each / "uv.toml" for each in (folder, *folder.parents)), home / "uv/uv.toml"]
    )
    return next((f"uv takes settings from {each}." for each in found if each.is_file()), "")


def _uv_advice(words: str) -> str:
    low = words.lower()
    if any(each in low for each in ("certificate", "dns", "connect", "timed out", "unreachable", "network")):
        return (
            "uv reads neither pip's settings nor its certificates: SSL_CERT_FILE names a CA file, "
            "UV_DEFAULT_INDEX a mirror."
        )
    if "hash" in low:
        return "The index gives another file than the lock names: do not install it; see where it comes from."
    if "no space left" in low:
        return "Free some room, or name another folder: COLDWARM_CACHE=/path"
    return ""


def _compile(python: Path) -> None:
    """Byte-compile all packages. Some ship files for other Pythons: those stay as they are."""
    subprocess.run(
        [str(python), "-I", "-m", "compileall", "-q", "-j", "0", str(python.parent.parent / "lib")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def _check_import(stack: Stack, python: Path, environ: Mapping[str, str]) -> None:
    wanted, version = stack.definition.framework.version, _import(stack, python, environ)
    # "2.11.0+cu130": the local part says how a wheel was built, and no index has it.
    if version.partition("+")[0] != wanted:
        what = f"{stack.name}: stack.toml says {wanted}, the lock installs {version}"
        raise SuiteError(Exit.NOT_PREPARED, what, "nox -s lock")


def _import(stack: Stack, python: Path, environ: Mapping[str, str]) -> str:
    """Import the framework as a worker does; return its version."""
    name = stack.definition.framework.import_name
    with tempfile.TemporaryDirectory() as home:
        try:
            done = subprocess.run(
                [str(python), "-I", "-B", "-c", f"import {name} as f; print(f.__version__)"],
                env=clean_environment(environ, Path(home), stack.definition.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=IMPORT_CHECK_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            what = f"{stack.name}: {name} was not imported within {IMPORT_CHECK_S:g} s"
            raise SuiteError(Exit.NOT_PREPARED, what) from error
    said = done.stdout.strip().splitlines()
    if done.returncode != 0 or not said:
        words = "\n".join(done.stderr.strip().splitlines()[-25:])
        what = f"{stack.name}: {name} cannot be imported (Python's words above)"
        raise SuiteError(Exit.NOT_PREPARED, what, "What is installed does not make a working stack.", words)
    return said[-1]


def _packages(python: Path) -> dict[str, str]:
    """Return name and version of each installed distribution, from the names of their metadata folders."""
    out: dict[str, str] = {}
    for path in sorted((python.parent.parent / "lib").glob("python*/site-packages/*.*-info")):
        name, _, version = path.stem.partition("-")
        out[name.lower().replace("_", "-")] = version.split("-")[0]
    return out
