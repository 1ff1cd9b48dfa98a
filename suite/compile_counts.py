# SPDX-License-Identifier: Apache-2.0
"""Count XLA's compiles by phase, from what the framework wrote on stderr while each phase went on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.records import Compiles
from suite.stack import CompileLog


def count(log: CompileLog | None, phases: Sequence[Mapping[str, Any]], stderr: Path) -> dict[str, Compiles] | None:
    """Return the compiles in each phase that had any; None where they cannot be counted.

    Parameters
    ----------
    log
        How the stack's framework says that it compiled; None where it does not.
    phases
        The worker's events of phases and pairs, each with its name. ``stderr_bytes`` of each are the sizes of its
        stderr at begin and end: what lies between was written meanwhile. None where stderr is no file of its own.
    stderr
        That file.
    """
    if log is None:
        return None
    try:
        said = stderr.read_bytes()
    except OSError:
        return None
    pattern = re.compile(log.pattern.encode())
    found: dict[str, list[float]] = {}
    for phase in phases:
        if "name" not in phase:
            continue
        begin, end = phase.get("stderr_bytes") or (None, None)
        if begin is None or end is None:
            return None
        for match in pattern.finditer(said[begin:end]):
            found.setdefault(phase["name"], []).append(float(match.group(1)) * log.seconds)
    return {name: Compiles(len(times), sum(times)) for name, times in found.items()}
