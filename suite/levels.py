# SPDX-License-Identifier: Apache-2.0
"""What *cold* means: the cold levels, what each does before a sample, and how each is proven.

``process``: a new process; its on-disk JIT caches are kept: a folder of the run's own for each cell, filled by one
priming sample and unchanged afterwards. ``jit``: every cache folder is new and empty. ``disk``: that, and the
framework's files dropped from the page cache.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.records import Caches, Cell, Kind, Proof, Status

LEVELS = ("process", "jit", "disk")
#: What a cell's level reads where its target has no on-disk JIT cache: ``process`` and ``jit`` are the same there.
NOT_APPLICABLE = "not_applicable"

#: Folders below a sample's cache folder, by the variable that points there.
CACHE_VARIABLES = {
    "HOME": "home",
    "XDG_CACHE_HOME": "xdg",
    "XDG_CONFIG_HOME": "config",
    "CUDA_CACHE_PATH": "cuda",
    "JAX_COMPILATION_CACHE_DIR": "jax",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TMPDIR": "tmp",
}
#: Made beside them for what is named by a flag: its path stands in a variable's value as ``CACHE`` and this.
FLAGGED = "flagged"
#: What stands for a sample's cache folder in the value of a variable.
CACHE = "{cache}"
#: Not a cache: empty before every sample, whatever the level.
SCRATCH = "tmp"

#: Share of what a process holds of the framework's files that it must itself have read from the disk.
LEAST_READ = 0.9


def of_cell(level: str, has_jit_cache: bool) -> str:
    """Return the level of a cell whose target has an on-disk JIT cache, or none."""
    return level if has_jit_cache or level == "disk" else NOT_APPLICABLE


@dataclass(frozen=True)
class Folders:
    """Where the cache folders of a run's samples are."""

    kept: Path
    """Holds one folder a cell of level ``process``, between its samples."""
    begins_with: Path | None = None
    """The ``kept`` of another run, whose caches a priming sample begins with: only what it lacks is made anew."""

    def lay_out(self, sample_folder: Path, cell: Cell | None, kind: Kind) -> Path:
        """Give a sample its cache folder, new or kept; return its path.

        A kept folder is moved to where new ones are made, because a container sees nothing but the sample's folder.
        A priming sample begins with none, or with a copy of another run's: where one is kept already, a kill came
        between it and its line.
        """
        cache = sample_folder / "cache"
        kept = self._kept(cell)
        if kept is not None and kind not in ("prepared", "fresh"):
            shutil.rmtree(kept, ignore_errors=True)
            others = self._others(cell)
            if kind == "priming" and others is not None:
                shutil.copytree(others, cache, ignore=shutil.ignore_patterns(SCRATCH))
        elif kept is not None and kept.is_dir():
            kept.rename(cache)
            shutil.rmtree(cache / SCRATCH, ignore_errors=True)
        for below in (*CACHE_VARIABLES.values(), FLAGGED):
            (cache / below).mkdir(parents=True, exist_ok=True)
        return cache

    def begun(self, cell: Cell | None) -> dict[str, int]:
        """Return what a priming sample of this cell begins with, as :func:`listing` does."""
        others = self._others(cell)
        return listing(others) if others is not None else {}

    def _others(self, cell: Cell | None) -> Path | None:
        if self.begins_with is None or cell is None:
            return None
        found = self.begins_with / cell.id
        return found if found.is_dir() else None

    def clear(self, cache: Path, cell: Cell | None, *, keep: bool) -> None:
        """Take a sample's cache folder away: back to where it is kept, or, unless ``keep``, for good."""
        kept = self._kept(cell)
        if kept is not None and keep:
            kept.parent.mkdir(parents=True, exist_ok=True)
            cache.rename(kept)
        else:
            shutil.rmtree(cache, ignore_errors=True)

    def recover(self, raw: Path, cells: Sequence[Cell]) -> None:
        """Bring back the kept folders that a killed run had lent to a sample; ``raw`` holds the samples' folders."""
        for cell in cells:
            kept = self._kept(cell)
            if kept is None or kept.is_dir():
                continue
            lent = [cache for kind in ("prepared", "fresh") for cache in raw.glob(f"{kind}.{cell.id}.*/cache")]
            if lent:
                kept.parent.mkdir(parents=True, exist_ok=True)
                lent[0].rename(kept)

    def discard(self) -> None:
        """Remove what was kept: a run that is complete needs it no more."""
        shutil.rmtree(self.kept, ignore_errors=True)

    def _kept(self, cell: Cell | None) -> Path | None:
        return self.kept / cell.id if cell is not None and cell.level == "process" else None


def listing(cache: Path) -> dict[str, int]:
    """Return every file below a sample's cache folder with its size in bytes, scratch left out."""
    return {
        path.relative_to(cache).as_posix(): path.lstat().st_size
        for path in sorted(cache.rglob("*"))
        if not path.is_dir() and path.relative_to(cache).parts[0] != SCRATCH
    }


def proof(
    level: str,
    kind: Kind,
    caches: Caches | None,
    primed: Mapping[str, int] | None = None,
    disk: Mapping[str, Any] | None = None,
) -> tuple[Proof, Status | None]:
    """Judge whether a sample was as cold as its level says.

    ``primed`` is what the cell's priming sample left in its caches; of a priming sample itself, what it was to begin
    with. ``disk`` is what the worker told of its reads:
    ``read_bytes`` over import and first call, ``used_bytes`` that it holds of the framework's files.
    """
    if level == NOT_APPLICABLE:
        return Proof("not_applicable", "this target has no on-disk JIT cache"), None
    if caches is None:
        return _not_cold("the caches were not listed")
    if level == "process" and kind not in ("pilot", "priming"):
        return _kept(caches, primed)
    if kind == "priming" and primed:
        return _added_to(caches, primed)
    if caches.before:
        return _not_cold(f"{len(caches.before)} files in the caches before the start")
    if level == "disk":
        return _dropped(disk)
    if kind == "priming":
        return Proof("ok", f"filled the cell's caches: {_files(caches.after)}"), None
    return Proof("ok", "the caches were empty before"), None


def _kept(caches: Caches, primed: Mapping[str, int] | None) -> tuple[Proof, Status | None]:
    if primed is None:
        return _not_cold("no priming sample has filled the cell's caches")
    for when, found in (("before", caches.before), ("during", caches.after)):
        changed = {name for name in {**primed, **found} if primed.get(name) != found.get(name)}
        if changed:
            return _not_cold(f"{len(changed)} files of the kept caches changed {when} the sample: {min(changed)}")
    return Proof("ok", f"caches kept and unchanged: {_files(primed)}"), None


def _added_to(caches: Caches, begun: Mapping[str, int]) -> tuple[Proof, Status | None]:
    for when, found in (("before", caches.before), ("during", {name: caches.after.get(name) for name in begun})):
        changed = {name for name in {**begun, **found} if begun.get(name) != found.get(name)}
        if changed:
            what = "files of the caches that it was to begin with changed"
            return _not_cold(f"{len(changed)} {what} {when} the sample: {min(changed)}")
    return Proof("ok", f"added to the cell's caches: {_files(begun)} before, {_files(caches.after)} after"), None


def _dropped(disk: Mapping[str, Any] | None) -> tuple[Proof, Status | None]:
    if not disk or disk.get("read_bytes") is None or not disk.get("used_bytes"):
        return _not_cold("the worker could not tell what it read from the disk")
    read, used = float(disk["read_bytes"]), float(disk["used_bytes"])
    text = f"read {read / 1e6:.0f} MB from the disk, holds {used / 1e6:.0f} MB of the framework's files"
    return (Proof("ok", text), None) if read >= LEAST_READ * used else _not_cold(text)


def _files(listed: Mapping[str, int]) -> str:
    return f"{len(listed)} files, {sum(listed.values()) / 1e6:.3g} MB"


def _not_cold(text: str) -> tuple[Proof, Status | None]:
    return Proof("failed", text), "not_cold"
