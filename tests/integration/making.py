# SPDX-License-Identifier: Apache-2.0
"""Run make as a person does, and look at what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from suite.stack import ROOT

STACK = "tf1.14-cuda10"


@dataclass
class Made:
    """A finished make: its own exit code, and what it printed."""

    code: int
    out: str
    err: str

    def exit_line(self) -> str:
        """Return the suite's last line on stderr."""
        lines = [line for line in self.err.splitlines() if line.startswith("coldwarm: exit ")]
        return lines[-1] if lines else ""


def environment(**changes: str) -> dict[str, str]:
    """Return this process's environment without what make would take for itself."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    # Whatever engines this machine has: a test that means another one says ENGINE=.
    return {**kept, "COLDWARM_ENGINE": "local", **changes}


def start(*words: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start make in a process group of its own, as a shell's foreground job is."""
    return subprocess.Popen(
        ["make", *words],
        cwd=cwd,
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def make(*words: str, cwd: Path = ROOT, env: dict[str, str] | None = None, timeout_s: float = 600) -> Made:
    """Run make to its end."""
    process = start(*words, cwd=cwd, env=env)
    out, err = process.communicate(timeout=timeout_s)
    return Made(process.returncode, out, err)


def finish(process: subprocess.Popen[str], timeout_s: float = 60) -> Made:
    """Wait for a started make."""
    out, err = process.communicate(timeout=timeout_s)
    return Made(process.returncode, out, err)


def until(condition: Callable[[], bool], timeout_s: float = 120) -> None:
    """Wait until ``condition`` holds; fail when it does not in time."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def lines(out: Path) -> list[dict[str, object]]:
    """Return the whole lines of the one run below ``out``; none where it has not begun."""
    found = list(out.glob(f"{STACK}/*/samples.jsonl"))
    if not found:
        return []
    text = found[0].read_bytes()
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


def folder(out: Path) -> Path:
    """Return the folder of the one run below ``out``."""
    [found] = (out / STACK).iterdir()
    return found


def processes(mark: str) -> list[int]:
    """Return the PIDs of living processes that have ``mark`` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().decode("utf-8", "replace")
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark in command and state != "Z":
            found.append(int(path.name))
    return found


def children(pid: int) -> list[int]:
    """Return the living children of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in text.split()]
