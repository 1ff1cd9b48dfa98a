# SPDX-License-Identifier: Apache-2.0
"""The verb ``explain``: from the words to the sheet, and the sheet again from what was kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from suite import bench, journal, progress, ready, stack
from suite import words as words_module
from suite.ablation import Ablation
from suite.engines import WORKER
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.explain import arms, document, explanation, general, measuring, resume, sheet
from suite.explain.explanation import Explanation

#: What is measured where a word does not say.
SAMPLES, BUDGET_S, SHAPE = 5, 3600, 500
JSON, MARKDOWN = "explain.json", "explain.md"


def run(
    given: Mapping[str, str | None],
    environ: Mapping[str, str],
    command: Sequence[str],
    report: Callable[[str], None],
    *,
    worker: Path = WORKER,
    stacks: Path = stack.STACKS,
    recording: Path | None = None,
) -> tuple[Exit, Path]:
    """Measure why the first run of some cells is slow, or what is missing of that (RESUME=), and print the sheet.

    Returns the exit code and the explanation's folder. Raises SuiteError as ``bench`` does.
    """
    if given.get("resume"):
        earlier = resume.read(Path(str(given["resume"])), given)
        asked = words_module.parse(earlier.words(given))
        made = ready.make_ready(asked, environ, worker=worker, stacks=stacks, recording=recording)
        return _ended(measuring.go_on(made, earlier, environ), report)
    made = ready.make_ready(with_defaults(given), environ, worker=worker, stacks=stacks, recording=recording)
    cells = made.cells if made.words.placement == "all" else arms.default_placements(made.cells)
    if not cells:
        what = f"{made.chosen.name} has no such cell: {', '.join(made.words.targets)}"
        raise SuiteError(Exit.IMPOSSIBLE, what, "docker/<stack>/stack.toml lists a stack's placements.")
    made = dataclasses.replace(made, cells=cells)
    every = general.ablations(made.chosen.definition, cells)
    instead = arms.instead(cells, made.chosen)
    ablations = named(given.get("ablations"), every, [each.slug for each in instead])
    planned = arms.arms(cells, made.chosen, ablations, named_arms(given.get("ablations"), instead))
    kept = dict(made.words.given)
    if given.get(resume.OWN_WORD):
        kept[resume.OWN_WORD] = str(given[resume.OWN_WORD])
    return _ended(measuring.measure(made, planned, environ, command, kept), report)


def _ended(measured: measuring.Measured, report: Callable[[str], None]) -> tuple[Exit, Path]:
    text, _ = derive(measured.folder)
    report(text)
    progress.say_where(measured.folder, measured.interrupted)
    if measured.interrupted:
        measuring.say_how_to_go_on(measured.folder, measured.benches[0].run)
    return _exit(measured), measured.folder


def named(word: str | None, there: Sequence[Ablation], others: Sequence[str] = ()) -> list[Ablation]:
    """Return the ablations that ABLATIONS= names, by the names of their folders; all where it names none.

    One that goes beyond another brings that other one. ``others``: what else it may name.

    Raises
    ------
    SuiteError
        USAGE: a name that is none of those that say something about these cells.
    """
    wanted = words_module.listed(word)
    known = {each.slug: each for each in there}
    for each in wanted:
        if each not in [*known, *others]:
            raise SuiteError(Exit.USAGE, f"ABLATIONS={word}: {each!r} is none of {', '.join([*known, *others])}")
    under = {known[each].over for each in wanted if each in known}
    return [each for each in there if not wanted or each.slug in wanted or each.name in under]


def named_arms(word: str | None, instead: Sequence[arms.Arm]) -> list[arms.Arm]:
    """Return which of what could be used instead is measured: what ABLATIONS= names, all where it names nothing."""
    wanted = words_module.listed(word)
    return [each for each in instead if not wanted or each.slug in wanted]


def with_defaults(given: Mapping[str, str | None]) -> words_module.Words:
    """Return the words of one explanation: XLA's CPU target, one shape, SAMPLES blocks where nothing else is said."""
    asked = {name: value for name, value in given.items() if name != resume.OWN_WORD}
    asked["samples"] = given.get("samples") or str(SAMPLES)
    asked["budget"] = given.get("budget") or str(BUDGET_S)
    asked["shapes"] = given.get("shapes") or str(SHAPE)
    asked["targets"] = given.get("targets") or "XLA_CPU"
    return words_module.parse(asked)


def _exit(measured: measuring.Measured) -> Exit:
    """Return the exit code: of the cells themselves; an ablation that this stack or machine refuses is no failure."""
    first = measured.benches[0]
    return first_that_applies([bench.verdict(first.run, first.samples, bool(measured.interrupted))])


def derive(folder: Path, style: str = "simple") -> tuple[str, Explanation]:
    """Write explain.json and explain.md of a folder again; return its text and what it says.

    Raises
    ------
    journal.Unreadable
        experiment.json or the run.json of an arm cannot be used.
    SuiteError
        CELLS_FAILED where they cannot be written.
    """
    found = explanation.read(folder)
    try:
        journal.write_derived(folder / JSON, document.as_json(found))
        journal.write_derived(folder / MARKDOWN, sheet.text(found, "github"))
    except OSError as error:
        what = f"{folder}: the sheet cannot be written: {error.strerror or error}"
        raise SuiteError(Exit.CELLS_FAILED, what, "The samples are kept: make collect derives it.") from error
    return sheet.text(found, style), found
