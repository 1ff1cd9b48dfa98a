# SPDX-License-Identifier: Apache-2.0
"""RESUME=: go on with a run that ended early, to the same cells, or refuse because something is no longer the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite import journal, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Planned, Run, Sample

#: What may be said beside RESUME=: where the same things are, not what is measured.
MAY_BE_GIVEN = ("resume", "stack", "python", "out")

#: Fields that identify what is measured and where; a run is not gone on with where one of them has changed.
IDENTITY: tuple[tuple[str, ...], ...] = (
    ("stack", "name"),
    ("stack", "sha256"),
    ("environment", "key"),
    ("environment", "lock_sha256"),
    ("environment", "python_version"),
    ("environment", "wheels"),
    ("environment", "image"),
    ("environment", "packages"),
    ("engine", "name"),
    ("coldwarm", "worker_tree_sha256"),
    ("host", "cpu_model"),
    ("host", "effective_cpus"),
    ("host", "memory_bytes"),
    ("host", "kernel"),
    ("worker_environment",),
)


@dataclass(frozen=True)
class Earlier:
    """A run that ended early, as its folder tells it."""

    folder: Path
    run: Run
    samples: list[Sample]
    session: int
    """The number of the session that now begins: 1 for the first RESUME=."""

    def words(self, given: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the words that the run was begun with, on the engine that it was begun on."""
        begun: dict[str, str | None] = {**dict.fromkeys(given), **self.run.words}
        begun["engine"] = str(self.run.engine["name"])
        begun["python"] = given.get("python") or begun.get("python")
        begun["out"] = str(self.folder.parent.parent)
        return begun


def read(folder: Path, given: Mapping[str, str | None]) -> Earlier:
    """Read the run to go on with.

    Raises
    ------
    SuiteError
        USAGE where ``folder`` holds no usable run, where its protocol has nothing to go on with, or where words are
        given that its plan has fixed.
    """
    folder = folder.expanduser().absolute()  # workers run elsewhere
    try:
        run = journal.read_run(folder)
    except journal.Unreadable as error:
        raise SuiteError(Exit.USAGE, f"RESUME={folder}: {error}", "Name the folder of a run.") from error
    if run.protocol != "isolated" or run.arm:
        what = f"RESUME={folder}: only a run of bench can be gone on with"
        raise SuiteError(Exit.USAGE, what, _with_the_others(folder, run) or "Run it again as a whole.")
    if not run.words:
        what = f"RESUME={folder}: an earlier version wrote it, which did not keep its words"
        raise SuiteError(Exit.USAGE, what, "Run it again as a whole.")
    for name, value in given.items():
        if value and name not in MAY_BE_GIVEN and _contradicts(run, name, value):
            kept = run.engine["name"] if name == "engine" else run.words.get(name, "its default")
            what = f"{name.upper()}={value}: the plan of {folder} has {kept}"
            raise SuiteError(Exit.USAGE, what, "RESUME= finishes a plan as it is; leave the other words out.")
    if given.get("stack") and given["stack"] != run.stack["name"]:
        what = f"STACK={given['stack']}: {folder} is a run of {run.stack['name']}"
        raise SuiteError(Exit.USAGE, what, f"STACK={run.stack['name']}")
    samples, _ = journal.read_samples(folder)
    return Earlier(folder, run, samples, next_session(samples))


def _with_the_others(folder: Path, run: Run) -> str:
    """Return the command that finishes an arm together with the others, interleaved; "" where there are none."""
    if run.arm and (folder.parent / journal.COMPARISON).is_file():
        return f"make compare RESUME={folder.parent}"
    if run.arm and (folder.parent / journal.EXPERIMENT).is_file():
        return f"make explain STACK={run.stack['name']} RESUME={folder.parent}"
    return ""


def read_arms(folders: Sequence[Path]) -> list[Earlier]:
    """Read runs that are measured interleaved, all with the number of the session that now begins.

    Raises :class:`suite.journal.Unreadable`.
    """
    arms = []
    for folder in folders:
        samples, _ = journal.read_samples(folder)
        arms.append(Earlier(folder, journal.read_run(folder), samples, next_session(samples)))
    return one_session(arms)


def one_session(arms: Sequence[Earlier]) -> list[Earlier]:
    """Return the arms with the number of the session that now begins: the same for all, though one has no sample."""
    session = max(arm.session for arm in arms)
    return [replace(arm, session=session) for arm in arms]


def in_order(folder: Path, arms: Sequence[Earlier], order: Sequence[tuple[int, str]]) -> list[tuple[int, Planned]]:
    """Return every planned sample with the number of its arm, in the order that was planned.

    Raises
    ------
    SuiteError
        USAGE where the order names what the arms' plans have not, or the reverse.
    """
    for number, arm in enumerate(arms):
        ordered = sorted(name for place, name in order if place == number)
        if ordered != sorted(each.id for each in arm.run.plan.planned):
            what = f"RESUME={folder}: its order is not that of the plan of {arm.run.arm}"
            raise SuiteError(Exit.USAGE, what, "Measure it again as a whole.")
    by_id = [{each.id: each for each in arm.run.plan.planned} for arm in arms]
    return [(number, by_id[number][name]) for number, name in order]


def read_again(earlier: Earlier) -> Earlier:
    """Return the same run as its folder tells it now that no other process can add to it."""
    samples, _ = journal.read_samples(earlier.folder)
    return replace(earlier, samples=samples, session=next_session(samples))


def check_identity(before: Run, now: Run) -> None:
    """Refuse to go on where something that identifies the run has changed.

    Raises
    ------
    SuiteError
        NOT_PREPARED, naming each field with both values.
    """
    changed = []
    for path in (*IDENTITY, ("gpus",)):
        old, new = _value(before, path), _value(now, path)
        if old != new:
            changed.append(f"{'.'.join(path)}: {_short(old, new)}")
    if changed:
        what = f"{before.run_id} cannot be gone on with: {'; '.join(changed)}"
        raise SuiteError(Exit.NOT_PREPARED, what, "What was measured is kept: make collect. Start a new run.")


def _contradicts(run: Run, name: str, value: str) -> bool:
    """Tell whether a word means another thing than the run was begun with; the same in other letters does not."""
    if name == "engine":
        return value != str(run.engine["name"])
    begun, now = words.parse(run.words), words.parse({**run.words, name: value})
    return replace(begun, given={}) != replace(now, given={})


def next_session(samples: Sequence[Sample]) -> int:
    """Return the number of the session that begins after these samples: 1 for the first RESUME=."""
    return 1 + max((sample.session for sample in samples), default=0)


def _value(run: Run, path: tuple[str, ...]) -> Any:
    if path == ("gpus",):
        nvidia = run.host.get("nvidia", {})
        return [(gpu.get("uuid"), gpu.get("driver_version")) for gpu in nvidia.get("gpus", [])]
    found: Any = getattr(run, path[0])
    for name in path[1:]:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _short(old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted(name for name in {**old, **new} if old.get(name) != new.get(name))
        return ", ".join(f"{name} was {old.get(name)!r}, is {new.get(name)!r}" for name in names[:3])
    return f"was {old!r}, is {new!r}"
