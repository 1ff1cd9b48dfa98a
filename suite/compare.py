# SPDX-License-Identifier: Apache-2.0
"""``compare``: stacks side by side, measured interleaved or read from stored runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import (
    compare_arms,
    compare_rows,
    compare_stored,
    compare_text,
    folders,
    gate,
    journal,
    progress,
    ready,
    resume,
    resume_compare,
    selftest,
    stack,
    together,
    verdict,
    words,
)
from suite.compare_rows import Compared
from suite.document import View, view
from suite.engines import WORKER
from suite.errors import SuiteError
from suite.exits import Exit, first_that_applies
from suite.progress import shown
from suite.records import Comparison, Judging
from suite.words import Words

FAIL_ON = ("ambiguous", "slower", "none")
#: Words of compare alone; all others are those of bench.
OWN_WORDS = ("stacks", "runs", "baseline", "margin", "allow", "fail_on", "format", "layout")
#: Words that say how it is shown or where it is kept, not what is compared.
NOT_KEPT = ("format", "layout", "fail_on", "out")


@dataclass(frozen=True)
class Asked:
    """The words of one compare, checked."""

    stacks: list[str]
    runs: list[str]
    judging: Judging
    fail_on: str
    view: View
    given: dict[str, str]
    """What was typed and says what is compared: by it the comparison can be made again."""


def parse(given: Mapping[str, str | None], stacks: Path = stack.STACKS) -> Asked:
    """Check the words that compare has beside those of bench.

    Raises
    ------
    SuiteError
        USAGE: names the word, what was typed and what may be.
    """
    names, runs = words.listed(given.get("stacks")), folders.listed(given.get("runs") or "", "RUNS")
    if bool(names) == bool(runs):
        what = "compare needs STACKS= (to measure) or RUNS= (stored runs), and not both"
        raise SuiteError(Exit.USAGE, what, 'make compare STACKS="tf1.14-cuda10 tf2.21-cuda12"')
    if names:
        for name in names:
            stack.load(name, stacks)
        if len(names) < 2:
            what = f"STACKS={names[0]}: at least two different stacks are needed"
            raise SuiteError(Exit.USAGE, what, "make selftest STACK=... measures one beside itself.")
    return Asked(
        stacks=names,
        runs=runs,
        judging=judging(given),
        fail_on=_one_of(given, "fail_on", FAIL_ON),
        view=view(given),
        given={name: value for name, value in given.items() if value and name not in NOT_KEPT},
    )


def judging(given: Mapping[str, str | None]) -> Judging:
    """Return how BASELINE=, MARGIN= and ALLOW= say that arms are judged. Raises SuiteError (USAGE)."""
    names = words.listed(given.get("stacks"))
    allow = words.listed(given.get("allow"))
    for field in allow:
        if field not in gate.FIELDS:
            raise SuiteError(Exit.USAGE, f"ALLOW={field}: {field!r} is none of {', '.join(gate.FIELDS)}")
    baseline = given.get("baseline") or (names[0] if names else "")
    if names and baseline not in names:
        raise SuiteError(Exit.USAGE, f"BASELINE={baseline}: {baseline!r} is none of {', '.join(names)}")
    return Judging(baseline, _margin(given.get("margin")), allow)


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
    """Measure stacks interleaved, or read stored runs, and print them side by side.

    Returns
    -------
    tuple
        The exit code and the comparison's folder.
    """
    if given.get("resume"):
        return _gone_on(given, environ, report, worker=worker, stacks=stacks, recording=recording)
    asked = parse(given, stacks)
    if asked.runs:
        return _stored(asked, given, command, report)
    each_given = {name: value for name, value in given.items() if name not in OWN_WORDS}
    arms = {
        name: ready.make_ready(
            _words_of(name, each_given, len(asked.stacks)),
            environ,
            worker=worker,
            stacks=stacks,
            recording=recording,
        )
        for name in asked.stacks
    }
    kept = dict(asked.given)
    engines = {made.choice.name for made in arms.values()}
    if len(engines) == 1 and recording is None:
        kept["engine"] = engines.pop()  # the command that is shown must not depend on what is installed later
    measured = together.measure(arms, "compare", environ, command, judging=asked.judging, given=kept)
    return _ended(measured, asked.view, asked.fail_on, report)


def _gone_on(
    given: Mapping[str, str | None],
    environ: Mapping[str, str],
    report: Callable[[str], None],
    *,
    worker: Path,
    stacks: Path,
    recording: Path | None,
) -> tuple[Exit, Path]:
    """Finish a comparison that ended early (RESUME=)."""
    printed, fail_on = view(given), _one_of(given, "fail_on", FAIL_ON)
    earlier = resume_compare.read(Path(str(given["resume"])), given)
    arms = {}
    for each in earlier.arms:
        made = ready.make_ready(
            words.parse(earlier.words_of(each)), environ, worker=worker, stacks=stacks, recording=recording
        )
        resume.check_identity(each.run, made.record(each.run.plan, each.run.command, arm=each.run.arm))
        arms[each.run.arm] = made
    return _ended(together.go_on(arms, earlier, environ), printed, fail_on, report)


def _ended(
    measured: together.Measured, printed: View, fail_on: str, report: Callable[[str], None]
) -> tuple[Exit, Path]:
    text, compared = derive(measured.folder, printed.style, printed.layout)
    report(text)
    codes = together.ended(measured)
    if measured.interrupted:
        progress.say("what is missing is taken by:")
        progress.say_line(f"make compare RESUME={shlex.quote(shown(measured.folder))}")
    return first_that_applies([*codes, *exits(compared, fail_on)]), measured.folder


def _stored(
    asked: Asked, given: Mapping[str, str | None], command: Sequence[str], report: Callable[[str], None]
) -> tuple[Exit, Path]:
    measured_with = [name for name, value in given.items() if value and name not in (*OWN_WORDS, "out")]
    if measured_with:
        word = measured_with[0].upper()
        raise SuiteError(Exit.USAGE, f"{word}= says what to measure: RUNS= compares what is stored")
    stored = compare_stored.compare(asked.runs, asked.judging, words.parse(given).out, command, asked.given)
    report(compare_text.text(stored.comparison, stored.compared, asked.view.style, asked.view.layout))
    compare_stored.report_refused(stored)
    try:
        compare_stored.keep(stored)
    except OSError as error:
        what = f"{stored.folder}: the comparison cannot be kept: {error.strerror or error}"
        raise SuiteError(Exit.CELLS_FAILED, what, "Name another folder with OUT=.") from error
    progress.say(f"kept: {shown(stored.folder)}")
    codes = exits(stored.compared, asked.fail_on)
    return first_that_applies([*codes, *([Exit.CELLS_FAILED] if stored.refused else [])]), stored.folder


def _words_of(name: str, given: Mapping[str, str | None], many: int) -> Words:
    """Return the words of one stack. BUDGET is for all together; its default is one run's for each."""
    out = words.parse({**given, "stack": name})
    if given.get("budget"):
        return out
    return words.parse({**given, "stack": name, "budget": repr(many * out.budget_s)})


def derive(folder: Path, style: str = "simple", layout: str = "wide") -> tuple[str, Compared]:
    """Write the tables of one comparison's folder again; return its text and what it says.

    Raises
    ------
    journal.Unreadable
        comparison.json or the run.json of an arm cannot be used.
    SuiteError
        CELLS_FAILED where the tables cannot be written.
    """
    comparison = selftest.read(folder)
    compared = judged(folder, comparison)
    try:
        for name, content in compare_text.files(comparison, compared).items():
            journal.write_derived(folder / name, content)
    except OSError as error:
        what = f"{folder}: the tables cannot be written: {error.strerror or error}"
        raise SuiteError(
            Exit.CELLS_FAILED, what, "The samples are kept: make collect derives the tables."
        ) from error
    return compare_text.text(comparison, compared, style, layout), compared


def judged(folder: Path, comparison: Comparison) -> Compared:
    """Read the arms of a comparison and judge them. Raises :class:`suite.journal.Unreadable`."""
    arms = [compare_arms.read(folder / arm.folder, arm.name) for arm in comparison.arms]
    return compare_rows.compare(arms, comparison.judging, paired=comparison.paired)


def exits(compared: Compared, fail_on: str = FAIL_ON[0]) -> list[Exit]:
    """Return the exit codes that apply to a comparison.

    IMPOSSIBLE where the gate refuses a cell, or a stack has no cell to set beside the baseline's, whatever FAIL_ON
    says; SLOWER and AMBIGUOUS as it says.
    """
    found = []
    told = [each.verdict.word for each in compared.judged]
    without = {arm.name for arm in compared.others()} - {each.arm for each in compared.judged}
    if "INCOMPARABLE" in told or without:
        found.append(Exit.IMPOSSIBLE)
    if "SLOWER" in told and fail_on != "none":
        found.append(Exit.SLOWER)
    if "AMBIGUOUS" in told and fail_on == "ambiguous":
        found.append(Exit.AMBIGUOUS)
    return found


def _one_of(given: Mapping[str, str | None], word: str, known: tuple[str, ...]) -> str:
    value = given.get(word) or known[0]
    if value not in known:
        raise SuiteError(Exit.USAGE, f"{word.upper()}={value}: {value!r} is none of {', '.join(known)}")
    return value


def _margin(text: str | None) -> float | None:
    """Return the share that MARGIN= names: 0.05 or 5%, or None for "none"."""
    if not text:
        return verdict.MARGIN
    if text == "none":
        return None
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1 or "_" in text:
        raise SuiteError(Exit.USAGE, f"MARGIN={text}: {text!r} is no share such as 0.05 or 5%, and not none")
    return value
