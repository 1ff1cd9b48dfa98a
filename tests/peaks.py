# SPDX-License-Identifier: Apache-2.0
"""Run a command as a process of its own and say how long it took and how much memory it held at most."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: A child's peak begins with that of the process that it was forked from: so a small one stands between.
_BETWEEN = """
import json, os, sys
pid = os.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
sys.stderr.write("\\n" + json.dumps([code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


@dataclass(frozen=True)
class Ran:
    """What a command printed, its exit code, seconds of wall and CPU time and its peak in MB (10^6 bytes)."""

    code: int
    out: str
    err: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def ran(command: Sequence[str], cwd: str, environ: Mapping[str, str] | None = None) -> Ran:
    """Run a command to its end."""
    begin = time.monotonic()
    between = [sys.executable, "-I", "-S", "-c", _BETWEEN, *command]
    done = subprocess.run(
        between, cwd=cwd, env=environ, capture_output=True, text=True, encoding="utf-8", check=True
    )
    wall_s = time.monotonic() - begin
    err, _, told = done.stderr.rpartition("\n")
    code, cpu_s, peak_kib = json.loads(told)
    return Ran(code, done.stdout, err, wall_s, cpu_s, peak_kib * 1024 / 1e6)
