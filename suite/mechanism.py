# SPDX-License-Identifier: Apache-2.0
"""How much of a cause's sign a sample shows: from what it told, what it wrote, and what its caches became."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from suite.ablation import Mechanism
from suite.events import Events
from suite.records import COLD_PHASES, Sample

#: No more of a file is read: a log of this length has long said what it says.
MOST_BYTES = 50_000_000


def counts(wanted: Mapping[str, Mechanism], sample: Sample, told: Events, folder: Path) -> dict[str, float | None]:
    """Return the count of each mechanism in one sample, by the name that it has in ``wanted``.

    ``folder`` holds the sample's raw files. None where the sign cannot be looked for: stderr is a pipe, say.
    """
    return {name: count(each, sample, told, folder) for name, each in wanted.items()}


def count(wanted: Mechanism, sample: Sample, told: Events, folder: Path) -> float | None:
    """Return how often a sample shows one mechanism; see :class:`suite.ablation.Mechanism`."""
    phases = wanted.phases or list(COLD_PHASES)
    if wanted.kind == "stderr":
        return _said(wanted, told, folder / "stderr.txt", phases)
    if wanted.kind == "cache":
        return _cached(wanted, sample)
    if wanted.kind == "file":
        return _matches(wanted.pattern, _read(folder / wanted.where))
    if wanted.kind in ("compiles", "compile_s"):
        found = [each for name, each in (sample.compiles or {}).items() if name in phases]
        if sample.compiles is None:
            return None
        return (
            sum(each.total_s for each in found)
            if wanted.kind == "compile_s"
            else float(sum(each.count for each in found))
        )
    if wanted.kind == "fact":
        fact = sample.facts.get(wanted.where)
        return None if fact is None else float(bool(re.search(wanted.pattern, str(fact))))
    touched = told.first("touched")
    if touched is None:
        return None
    return float(sum(touched["libraries"].values()) if wanted.kind == "libraries" else touched["threads"])


def matches(pattern: str, text: bytes) -> float:
    """Return how often ``pattern`` is in a text; different values of its group once each, where it has one."""
    compiled = re.compile(pattern.encode())
    found = list(compiled.finditer(text))
    if compiled.groups:
        return float(len({each.group(1) for each in found if each.group(1) is not None}))
    return float(len(found))


def _matches(pattern: str, text: bytes | None) -> float:
    return 0.0 if text is None else matches(pattern, text)


def _said(wanted: Mechanism, told: Events, stderr: Path, phases: list[str]) -> float | None:
    said = _read(stderr)
    if said is None:
        return None
    parts = []
    for event in told.every("phase"):
        begin, end = event.get("stderr_bytes") or (None, None)
        if begin is None or end is None:
            return None
        if event["name"] in phases:
            parts.append(said[begin:end])
    return matches(wanted.pattern, b"\n".join(parts))


def _cached(wanted: Mechanism, sample: Sample) -> float | None:
    if sample.caches is None:
        return None
    before, after = sample.caches.before, sample.caches.after
    changed = [path for path, size in after.items() if before.get(path) != size]
    return float(sum(1 for path in changed if re.search(wanted.pattern, path)))


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return None
