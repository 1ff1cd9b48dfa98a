# SPDX-License-Identifier: Apache-2.0
"""Count compiles by phase: from what the framework wrote on stderr while each phase went on, or recorded itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.events import Events
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


def recorded(told: Events) -> dict[str, Compiles] | None:
    """Return the compiles in each phase that had any, as the framework itself recorded begin and length of each.

    Where several phases hold a moment (none should), the first of them is taken. None where it records none.
    """
    placement = told.first("placement")
    if placement is None or "compile_events" not in placement:
        return None
    found: dict[str, list[float]] = {}
    for each in placement["compile_events"]:
        for phase in told.every("phase"):
            if phase["begin_s"] <= each["begin_s"] <= phase["end_s"]:
                found.setdefault(str(phase["name"]), []).append(float(each["seconds"]))
                break
    return {name: Compiles(len(times), sum(times)) for name, times in found.items()}
