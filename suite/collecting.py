# SPDX-License-Identifier: Apache-2.0
"""``collect`` over many folders: every usable run's tables again, every unusable one with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from suite import collect, compare, progress, selftest
from suite.errors import SuiteError
from suite.exits import Exit
from suite.explain import record
from suite.explain import run as explaining
from suite.journal import Unreadable


def collect_all(paths: Sequence[Path], stack: str | None, report: Callable[[str], None]) -> Exit:
    """Derive and print the tables of all runs and comparisons at or below ``paths``; a bad one never stops the others.

    Raises
    ------
    SuiteError
        USAGE where a path does not exist or there is no run at all.
    """
    for path in paths:
        if not path.exists():
            raise SuiteError(Exit.USAGE, f"{path}: there is no such folder", "Name a run's folder, or OUT=.")
    runs, comparisons = _below(paths, collect.run_folders), _below(paths, collect.comparison_folders)
    explanations = _below(paths, record.folders)
    # The arms of an explanation say nothing alone that its sheet does not.
    runs = [each for each in runs if each.parent not in explanations]
    if not runs and not comparisons and not explanations:  # a comparison of stored runs has none of its own
        where = ", ".join(str(path) for path in paths)
        raise SuiteError(Exit.USAGE, f"no run below {where}", "make bench STACK=... makes one.")
    good = bad = 0
    for derive, folders in ((_run, runs), (_comparison, comparisons), (_explanation, explanations)):
        for folder in folders:
            try:
                name, text = derive(folder)
            except (Unreadable, SuiteError) as error:
                progress.say(f"coldwarm: not used: {error}")
                bad += 1
                continue
            except OSError as error:
                progress.say(f"coldwarm: {folder}: the tables cannot be written: {error.strerror or error}")
                bad += 1
                continue
            if stack is None or name == stack:
                report(("\n" if good else "") + text)
                good += 1
    return Exit.CELLS_FAILED if bad else Exit.DONE


def _below(paths: Sequence[Path], find: Callable[[Path], Iterable[Path]]) -> list[Path]:
    return list(dict.fromkeys(found for path in paths for found in find(path)))


def _run(folder: Path) -> tuple[str, str]:
    run, samples, notes = collect.derive(folder)
    return str(run.stack.get("name")), collect.text(run, samples, notes)


def _comparison(folder: Path) -> tuple[str, str]:
    if selftest.read(folder).kind == "compare":
        text, compared = compare.derive(folder)
        return str(compared.baseline.run.stack["name"]), text
    text, rows = selftest.derive(folder)
    return rows[0].a.cell.stack if rows else "", text


def _explanation(folder: Path) -> tuple[str, str]:
    text, found = explaining.derive(folder)
    return str(found.runs[found.experiment.arms[0].name].stack["name"]), text
