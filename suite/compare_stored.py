# SPDX-License-Identifier: Apache-2.0
"""``compare RUNS=``: stored runs side by side. Nothing is measured; the same runs give the same bytes."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from suite import collect, compare_arms, compare_rows, compare_text, journal, progress, selftest
from suite.compare_arms import Arm
from suite.compare_rows import Compared
from suite.errors import SuiteError
from suite.exits import Exit
from suite.journal import Unreadable
from suite.records import Arm as ArmRecord
from suite.records import Comparison, Judging, to_json


@dataclass(frozen=True)
class Stored:
    """Stored runs that were set side by side, and the folder that keeps what they say."""

    folder: Path
    comparison: Comparison
    compared: Compared
    refused: Sequence[str]
    """Runs below a folder that was named, that cannot be used, each with its reason."""


@dataclass(frozen=True)
class _Found:
    """The runs that RUNS= leads to: folders with their arms, still without names."""

    folders: list[Path]
    arms: list[Arm]
    refused: list[str]


def compare(
    named: Sequence[str], judging: Judging, out: Path, command: Sequence[str], given: dict[str, str]
) -> Stored:
    """Read the runs and judge them beside the baseline; nothing is written yet.

    Parameters
    ----------
    named
        Folders: each a run's, or one with runs below it, which are then all taken; or a single comparison's, whose
        arms are compared block by block, as they were measured.
    given
        The words that were typed.

    Raises
    ------
    SuiteError
        USAGE where a folder does not exist, a run is named twice or the baseline is none of them; IMPOSSIBLE where
        a run that was named cannot be used, or fewer than two can.
    """
    folders = [Path(each).expanduser().absolute() for each in named]
    for text, folder in zip(named, folders, strict=True):
        if not folder.exists():
            raise SuiteError(Exit.USAGE, f"RUNS: {text}: there is no such folder", "Name runs' folders.")
    interleaved = len(folders) == 1 and (folders[0] / collect.COMPARISON).is_file()
    found = _of_comparison(folders[0]) if interleaved else _read(named, folders)
    paired = interleaved and selftest.read(folders[0]).paired
    arms = _named(found.arms)
    baseline = _baseline(judging.baseline, arms, found.folders)
    judging = msgspec.structs.replace(judging, baseline=baseline)
    comparison_id = _id(arms, judging, paired)
    kept = out / "compare" / comparison_id
    comparison = Comparison(
        id=comparison_id,
        kind="compare",
        created_utc=max(arm.run.created_utc for arm in arms),
        command=list(command),
        seed=0,
        arms=[
            ArmRecord(arm.name, os.path.relpath(folder, kept), arm.run.run_id)
            for arm, folder in zip(arms, found.folders, strict=True)
        ],
        order=[],
        judging=judging,
        words=given,
        paired=paired,
    )
    return Stored(kept, comparison, compare_rows.compare(arms, judging, paired=paired), found.refused)


def keep(stored: Stored) -> None:
    """Write the comparison's folder. Raises OSError where it cannot be."""
    stored.folder.mkdir(parents=True, exist_ok=True)
    journal.write_atomically(stored.folder / collect.COMPARISON, to_json(stored.comparison, indent=1) + "\n")
    for name, text in compare_text.files(stored.comparison, stored.compared).items():
        journal.write_derived(stored.folder / name, text)


def report_refused(stored: Stored, say: Callable[[str], None] = progress.say) -> None:
    """Say each run that was found and cannot be used, with its reason."""
    for each in stored.refused:
        say(f"coldwarm: not used: {each}")


def _of_comparison(folder: Path) -> _Found:
    try:
        record = selftest.read(folder)
        folders = [folder / arm.folder for arm in record.arms]
        return _Found(folders, [compare_arms.read(each, "") for each in folders], [])
    except Unreadable as error:
        raise _impossible(str(error)) from error


def _read(named: Sequence[str], folders: Sequence[Path]) -> _Found:
    taken: list[Path] = []
    arms: list[Arm] = []
    refused: list[str] = []
    seen: dict[str, Path] = {}
    for text, folder in zip(named, folders, strict=True):
        below = collect.run_folders(folder)
        if not below:
            raise SuiteError(
                Exit.USAGE, f"RUNS: {text}: no run there or below", "A run's folder holds a run.json."
            )
        by_name = below == [folder]
        for each in below:
            try:
                arm = compare_arms.read(each, "")
            except Unreadable as error:
                if by_name:
                    raise _impossible(str(error)) from error
                refused.append(str(error))
                continue
            twin = seen.get(arm.run.run_id)
            if twin is not None:
                what = f"{each}: run {arm.run.run_id} a second time, as in {twin}"
                if by_name:
                    raise SuiteError(Exit.USAGE, f"RUNS: {what}", "Name each run once.")
                refused.append(what)
                continue
            seen[arm.run.run_id] = each
            taken.append(each)
            arms.append(arm)
    if len(arms) < 2:
        why = f": {'; '.join(refused)}" if refused else ""
        raise _impossible(f"{len(arms)} usable run{'' if len(arms) == 1 else 's'}, two are needed{why}")
    return _Found(taken, arms, refused)


def _impossible(what: str) -> SuiteError:
    return SuiteError(Exit.IMPOSSIBLE, f"RUNS: {what}", "make collect lists the runs that can be used.")


def _named(arms: Sequence[Arm]) -> list[Arm]:
    """Name each arm by its stack, with a number where that comes several times."""
    stacks = [str(arm.run.stack["name"]) for arm in arms]
    many = Counter(stacks)
    count: dict[str, int] = {}
    out = []
    for arm, name in zip(arms, stacks, strict=True):
        count[name] = count.get(name, 0) + 1
        out.append(arm.renamed(f"{name}:{count[name]}" if many[name] > 1 else name))
    return out


def _baseline(wanted: str, arms: Sequence[Arm], folders: Sequence[Path]) -> str:
    """Return the name of the arm that BASELINE= means: its name, its run's id or its folder; else the first's."""
    if not wanted:
        return arms[0].name
    path = Path(wanted).expanduser().absolute()
    for arm, folder in zip(arms, folders, strict=True):
        if wanted in (arm.name, arm.run.run_id) or path == folder:
            return arm.name
    known = ", ".join(arm.name for arm in arms[:10])
    what = f"BASELINE={wanted}: {wanted!r} is none of the runs"
    raise SuiteError(Exit.USAGE, what, f"They are: {known}; a run's id or folder will do, too.")


def _id(arms: Sequence[Arm], judging: Judging, paired: bool) -> str:
    """Return an id that says the same of the same runs, judged in the same way."""
    identity = to_json([[arm.run.run_id for arm in arms], judging, paired])
    return f"stored-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
