# SPDX-License-Identifier: Apache-2.0
"""What lies below a folder of results: runs, comparisons, and what looks like one and is none. Nothing is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suite.journal import COMPARISON, EXPERIMENT, RAW, RUN, SAMPLES


@dataclass(frozen=True)
class Refused:
    """A file or folder that cannot be used, and why."""

    path: Path
    why: str


@dataclass(frozen=True)
class Tree:
    """Everything below one folder, each list sorted by path."""

    runs: list[Path] = field(default_factory=list)
    """Folders that hold a run.json."""
    comparisons: list[Path] = field(default_factory=list)
    """Folders that hold a comparison.json."""
    explanations: list[Path] = field(default_factory=list)
    """Folders that hold an experiment.json; their arms, which say nothing alone, are not among the runs."""
    refused: list[Refused] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)
    """Links to folders: never followed, so nothing is found twice and no circle is run through."""


def walk(top: Path) -> Tree:
    """Find what lies at or below ``top``; that itself may be a link.

    A run's folder holds nothing else, a comparison's its arms. Never raises OSError: what cannot be looked at is
    refused.
    """
    found = Tree()
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda each: each.name)
        except OSError as error:
            found.refused.append(Refused(folder, error.strerror or str(error)))
            continue
        # The last that is put there is the first to be taken: so paths come in order.
        waiting += reversed(_look_at(folder, inside, found))
    found.refused.sort(key=lambda each: each.path)
    return found


def _look_at(folder: Path, inside: Sequence[os.DirEntry[str]], found: Tree) -> list[Path]:
    """Note what a folder holds; return the folders below that are to be looked at."""
    names = {each.name: each for each in inside}
    for name, into in ((RUN, found.runs), (COMPARISON, found.comparisons), (EXPERIMENT, found.explanations)):
        if name in names:
            why = _unusable(names[name])
            if why:
                found.refused.append(Refused(folder / name, why))
            else:
                into.append(folder)
    if RUN in names or EXPERIMENT in names:
        return []
    if SAMPLES in names:
        found.refused.append(Refused(folder / SAMPLES, f"no {RUN} beside it"))
    return [folder / each.name for each in inside if each.name != RAW and _leads_on(folder, each, found)]


def _leads_on(folder: Path, entry: os.DirEntry[str], found: Tree) -> bool:
    """Tell whether an entry is a folder to be looked at; a link to one is noted."""
    try:
        if not entry.is_symlink():
            return entry.is_dir()
        if entry.is_dir():
            found.links.append(folder / entry.name)
    except OSError as error:  # a link in a circle
        found.refused.append(Refused(folder / entry.name, error.strerror or str(error)))
    return False


def _unusable(entry: os.DirEntry[str]) -> str:
    """Return why a file of the right name cannot be one of ours, or ""."""
    if entry.is_symlink():
        return "a link: files are read where they lie"
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError as error:
        return error.strerror or str(error)
    return "" if stat.S_ISREG(mode) else "not a regular file"
