# SPDX-License-Identifier: Apache-2.0
"""RESUME= of ``compare``: go on with a comparison that ended early, in the order that was planned, or refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite import journal, resume, selftest, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Comparison, Planned
from suite.resume import Earlier

#: What may be said beside RESUME=: how it is shown and what fails, not what is measured.
MAY_BE_GIVEN = ("resume", "out", "format", "layout", "fail_on")
#: Words that are compared part by part, whatever their order among commas and spaces.
LISTS = ("stacks", "allow")


@dataclass(frozen=True)
class EarlierComparison:
    """A comparison that ended early, as its folder tells it: each arm as a run that ended early."""

    folder: Path
    comparison: Comparison
    arms: list[Earlier]

    def words_of(self, arm: Earlier) -> dict[str, str | None]:
        """Return the words that an arm was begun with, on the engine that it was begun on."""
        begun: dict[str, str | None] = dict(arm.run.words)
        return {**begun, "engine": str(arm.run.engine["name"]), "out": str(self.folder.parent.parent)}

    def order(self) -> list[tuple[int, Planned]]:
        """Return every planned sample with the number of its arm, in the order that was planned."""
        return resume.in_order(self.folder, self.arms, self.comparison.order)

    def read_again(self) -> EarlierComparison:
        """Return the same as its folders tell it now that no other process can add to them."""
        return replace(self, arms=resume.one_session([resume.read_again(arm) for arm in self.arms]))


def read(folder: Path, given: Mapping[str, str | None]) -> EarlierComparison:
    """Read the comparison to go on with.

    Raises
    ------
    SuiteError
        USAGE where ``folder`` holds no usable comparison, where nothing of it was to be measured, or where words
        are given that its plan has fixed.
    """
    folder = folder.expanduser().absolute()  # workers run elsewhere
    try:
        comparison = selftest.read(folder)
        arms = resume.read_arms([folder / arm.folder for arm in comparison.arms])
    except journal.Unreadable as error:
        raise SuiteError(Exit.USAGE, f"RESUME={folder}: {error}", "Name the folder of a comparison.") from error
    if comparison.kind != "compare":
        what = f"RESUME={folder}: a {comparison.kind}: only a comparison of stacks can be gone on with"
        raise SuiteError(Exit.USAGE, what, "Run it again as a whole.")
    if not comparison.order:
        what = f"RESUME={folder}: it compares stored runs, nothing of it was to be measured"
        raise SuiteError(Exit.USAGE, what, "make compare RUNS=... compares them again.")
    found = EarlierComparison(folder, comparison, arms)
    found.order()
    for name, value in given.items():
        if value and name not in MAY_BE_GIVEN and _contradicts(found, name, value):
            kept = comparison.words.get(name) or "its default"
            what = f"{name.upper()}={value}: the plan of {folder} has {kept}"
            raise SuiteError(Exit.USAGE, what, "RESUME= finishes a plan as it is; leave the other words out.")
    return found


def _contradicts(found: EarlierComparison, name: str, value: str) -> bool:
    """Tell whether a word means another thing than the comparison was begun with."""
    from suite import compare

    kept = found.comparison.words
    if name == "engine":
        return any(value != str(arm.run.engine["name"]) for arm in found.arms)
    if name in LISTS:
        return words.listed(value) != words.listed(kept.get(name))
    if name in compare.OWN_WORDS:
        if name == "runs":
            return True
        asked = compare.judging(kept), compare.judging({**kept, name: value})
        return asked[0] != asked[1]
    of_bench = {key: each for key, each in kept.items() if key not in compare.OWN_WORDS}
    begun, now = words.parse(of_bench), words.parse({**of_bench, name: value})
    return replace(begun, given={}) != replace(now, given={})
