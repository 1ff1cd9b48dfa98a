# SPDX-License-Identifier: Apache-2.0
"""``collect`` over whole trees: tables again, an index, a cell's history; every unusable file with its reason."""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import collect, entries, history, index, index_document, journal, progress, tree
from suite.collect import Derived
from suite.document import View
from suite.errors import SuiteError
from suite.exits import Exit
from suite.history import Wanted
from suite.index import Compared, Index
from suite.journal import Unreadable
from suite.tree import Refused

#: What reading a file raises that is JSON of the right types and still not what coldwarm writes.
_ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Asked:
    """What ``collect`` was asked for."""

    stack: str | None = None
    """Print only what is of this stack."""
    cell: Wanted | None = None
    """Print the history of this cell; nothing is written then."""
    tables: bool = False
    """Print every run's tables, not only the index."""
    view: View = View()


def collect_all(
    paths: Sequence[Path],
    stack: str | None,
    report: Callable[[str], None],
    *,
    cell: str = "",
    tables: bool = False,
    view: View | None = None,
) -> Exit:
    """Derive the tables of all runs and comparisons at or below ``paths``; a bad one never stops the others.

    Of one run or comparison its tables are printed, of trees the index; each tree also gets it as files. Files are
    written only where they are not there as they must be.

    Raises
    ------
    SuiteError
        USAGE where a path does not exist, there is nothing at all, no run has the cell, or its history is to be
        printed in another format than a terminal's.
    """
    asked = Asked(stack or None, history.parse(cell) if cell else None, tables, view or View())
    if asked.cell is not None and asked.view != View():
        what = "CELL= prints a history for a terminal: FORMAT= and LAYOUT= do not go with it"
        raise SuiteError(Exit.USAGE, what, "make export has every number.")
    for path in paths:
        if not path.exists():
            raise SuiteError(Exit.USAGE, f"{path}: there is no such folder", "Name a run's folder, or OUT=.")
    collection = _Collection(asked, report)
    tops = list({path.resolve(): path for path in paths}.values())
    indexes = [collection.read(top) for top in tops]
    if not any(each.entries or each.compared or each.explanations or each.refused for each in indexes):
        where = ", ".join(str(path) for path in paths)
        raise SuiteError(Exit.USAGE, f"no run below {where}", "make bench STACK=... makes one.")
    alone = len(tops) == 1 and any((tops[0] / name).exists() for name in journal.TOPS)
    if asked.cell is not None:
        collection.say_refused(indexes)
        every = [entry for each in indexes for entry in each.entries]
        report(history.text(asked.cell, history.lines(every)))
    elif alone:
        collection.say_refused(indexes)
    else:
        for each in indexes:
            collection.keep(each)
        report(("\n" if collection.printed else "") + index_document.text(indexes, asked.stack, asked.view.style))
    return Exit.CELLS_FAILED if collection.failed or any(each.refused for each in indexes) else Exit.DONE


class _Collection:
    """Reads trees one run after the other; of each run only an entry is kept."""

    def __init__(self, asked: Asked, report: Callable[[str], None]) -> None:
        self._asked = asked
        self._report = report
        self._seen: dict[str, Path] = {}
        self._looked_at: set[Path] = set()
        self.printed = False
        self.failed = False

    def read(self, top: Path) -> Index:
        """Read a tree and, unless a cell was asked for, write the tables of what it holds."""
        found = tree.walk(top)
        out = Index(top, refused=list(found.refused))
        out.notes += [f"{out.below(each)}: a link, not followed" for each in found.links]
        # A comparison's own text is enough where it alone was named.
        alone = found.comparisons == [top]
        for folder in found.runs:
            self._one(out, folder, folder / journal.RUN, self._run, show=not alone)
        for folder in found.comparisons:
            self._one(out, folder, folder / journal.COMPARISON, self._comparison, show=True)
        for folder in found.explanations:
            self._one(out, folder, folder / journal.EXPERIMENT, self._explanation, show=True)
        return out

    def keep(self, each: Index) -> None:
        """Write a tree's index into it."""
        try:
            journal.write_derived(each.top / index.INDEX_MD, index.as_markdown(each), durable=False)
            journal.write_derived(each.top / index.INDEX_CSV, index.as_csv(each), durable=False)
        except OSError as error:
            self.failed = True
            progress.say(f"coldwarm: {each.top}: the index cannot be written: {error.strerror or error}")

    def say_refused(self, indexes: Sequence[Index]) -> None:
        """Say on stderr what cannot be used, where no index says it."""
        for each in indexes:
            for refused in each.refused:
                progress.say(f"coldwarm: not used: {index.plain(f'{refused.path}: {refused.why}')}")

    def _one(
        self, out: Index, folder: Path, file: Path, take: Callable[[Index, Path, bool], None], *, show: bool
    ) -> None:
        real = folder.resolve()
        if real in self._looked_at and file.name == journal.RUN:  # one tree lies within another
            return
        self._looked_at.add(real)
        try:
            take(out, folder, show and (self._asked.tables or folder == out.top or not _is_tree(out.top)))
        except Unreadable as error:
            out.refused.append(Refused(file, _without(str(error), file)))
        except SuiteError as error:
            out.refused.append(Refused(folder, _without(error.what, folder)))
        except OSError as error:
            what = f"the tables cannot be written: {error.strerror or error}"
            out.refused.append(Refused(folder, what))
        except _ODD as error:
            what = f"not what coldwarm writes: {type(error).__name__}: {error}"
            out.refused.append(Refused(file, what))

    def _run(self, out: Index, folder: Path, show: bool) -> None:
        derived = collect.read(folder)
        run_id = derived.run.run_id
        twin = self._seen.get(run_id)
        if twin is not None:
            self._twin(out, folder, twin, run_id)
            return
        entry = entries.of(folder, derived, self._asked.cell if self._named(derived) else None)
        if self._asked.cell is None:
            collect.write(folder, derived, durable=False)
        # Only now: a run that could not be used is nobody's twin.
        self._seen[run_id] = folder
        out.entries.append(entry)
        if show and self._named(derived) and self._asked.cell is None:
            self._print(derived.text(self._asked.view))

    def _named(self, derived: Derived) -> bool:
        return self._asked.stack in (None, derived.run.stack["name"])

    def _twin(self, out: Index, folder: Path, twin: Path, run_id: str) -> None:
        """Note a second folder of one run: a copy is left out, another one's numbers are nobody's to choose from."""
        pairs = [(folder / name, twin / name) for name in (journal.RUN, journal.SAMPLES)]
        if all(a.is_file() and b.is_file() and filecmp.cmp(a, b, shallow=False) for a, b in pairs):
            out.notes.append(f"{out.below(folder)}: a copy of {out.below(twin)}")
            return
        what = f"run {run_id} a second time, with other contents than {out.below(twin)}"
        out.refused.append(Refused(folder, what))

    def _comparison(self, out: Index, folder: Path, show: bool) -> None:
        from suite import compare, selftest  # and with them all that measures

        comparison = selftest.read(folder)
        out_of = Compared(folder, comparison)
        if self._asked.cell is not None:
            out.compared.append(out_of)
            return
        if comparison.kind == "compare":
            text, compared = compare.derive(folder, self._asked.view.style, self._asked.view.layout)
            name = str(compared.baseline.run.stack["name"])
        else:
            text, rows = selftest.derive(folder, self._asked.view.style)
            name = rows[0].a.cell.stack if rows else ""
        out.compared.append(out_of)
        if show and self._asked.stack in (None, name):
            self._print(text)

    def _explanation(self, out: Index, folder: Path, show: bool) -> None:
        if self._asked.cell is not None:
            return
        from suite.explain import run as explaining

        text, found = explaining.derive(folder)
        name = str(found.runs[found.experiment.arms[0].name].stack["name"])
        out.explanations.append(folder)
        if show and self._asked.stack in (None, name):
            self._print(text)

    def _print(self, text: str) -> None:
        self._report(("\n" if self.printed else "") + text)
        self.printed = True


def _is_tree(top: Path) -> bool:
    return not any((top / name).exists() for name in journal.TOPS)


def _without(text: str, path: Path) -> str:
    """Return a message without the path that it begins with: a list names that itself."""
    return text.removeprefix(f"{path}: ")
