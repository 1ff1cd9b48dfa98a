# SPDX-License-Identifier: Apache-2.0
"""RESUME= of ``explain``: go on with an explanation that ended early, to the same arms and blocks, or refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite import journal, resume, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.explain import record
from suite.explain.record import Experiment
from suite.records import Planned
from suite.resume import MAY_BE_GIVEN, Earlier

#: The word that explain has beside those of bench.
OWN_WORD = "ablations"


@dataclass(frozen=True)
class EarlierExplanation:
    """An explanation that ended early, as its folder tells it: each arm as a run that ended early."""

    folder: Path
    experiment: Experiment
    arms: list[Earlier]

    def words(self, given: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the words of bench that it was begun with, on the engine that it was begun on."""
        begun: dict[str, str | None] = {**of_bench(self.experiment.words)}
        begun["engine"] = str(self.arms[0].run.engine["name"])
        begun["python"] = given.get("python") or begun.get("python")
        begun["out"] = str(self.folder.parent.parent)
        return begun

    def order(self) -> list[tuple[int, Planned]]:
        """Return every planned sample with the number of its arm, in the order that was planned."""
        return resume.in_order(self.folder, self.arms, self.experiment.order)

    def read_again(self) -> EarlierExplanation:
        """Return the same as its folders tell it now that no other process can add to them."""
        return replace(self, arms=resume.one_session([resume.read_again(arm) for arm in self.arms]))


def read(folder: Path, given: Mapping[str, str | None]) -> EarlierExplanation:
    """Read the explanation to go on with.

    Raises
    ------
    SuiteError
        USAGE where ``folder`` holds no usable explanation, or where words are given that its plan has fixed.
    """
    folder = folder.expanduser().absolute()  # workers run elsewhere
    try:
        experiment = record.read(folder)
        arms = resume.read_arms([folder / arm.folder for arm in experiment.arms])
    except journal.Unreadable as error:
        raise SuiteError(Exit.USAGE, f"RESUME={folder}: {error}", "Name the folder of an explanation.") from error
    if not experiment.words:
        what = f"RESUME={folder}: its words were not kept"
        raise SuiteError(Exit.USAGE, what, "Measure it again as a whole.")
    found = EarlierExplanation(folder, experiment, arms)
    found.order()
    stack = str(arms[0].run.stack["name"])
    if given.get("stack") and given["stack"] != stack:
        what = f"STACK={given['stack']}: {folder} is an explanation of {stack}"
        raise SuiteError(Exit.USAGE, what, f"STACK={stack}")
    for name, value in given.items():
        if value and name not in MAY_BE_GIVEN and _contradicts(found, name, value):
            kept = arms[0].run.engine["name"] if name == "engine" else experiment.words.get(name, "its default")
            what = f"{name.upper()}={value}: the plan of {folder} has {kept}"
            raise SuiteError(Exit.USAGE, what, "RESUME= finishes a plan as it is; leave the other words out.")
    return found


def of_bench(given: Mapping[str, str]) -> dict[str, str]:
    """Return those of an explanation's words that bench has, too."""
    return {name: value for name, value in given.items() if name != OWN_WORD}


def _contradicts(found: EarlierExplanation, name: str, value: str) -> bool:
    """Tell whether a word means another thing than the explanation was begun with."""
    kept = found.experiment.words
    if name == "engine":
        return value != str(found.arms[0].run.engine["name"])
    if name == OWN_WORD:
        return set(words.listed(value)) != set(words.listed(kept.get(name)))
    begun, now = words.parse(of_bench(kept)), words.parse({**of_bench(kept), name: value})
    return replace(begun, given={}) != replace(now, given={})
