# SPDX-License-Identifier: Apache-2.0
"""Tables that can be sorted, and what their cells hold: a time with its interval, a status, tags. Nothing is hidden."""

from __future__ import annotations

from collections.abc import Sequence

from suite import units
from suite.report.markup import Child, Markup, element, joined, scrolled
from suite.rows import CellRow, Count
from suite.stats import Estimate

#: A column's name, and whether it is sorted as numbers; None: it is not sorted at all.
Head = tuple[str, bool | None]


def sortable(identity: str, name: str, caption: str, heads: Sequence[Head], body: Sequence[Markup]) -> Markup:
    """Return a table whose named columns are buttons; without the page's script they stay words.

    ``identity`` is the id of the line that says how it is sorted; rows give each value in ``data-value``, "" where
    there is none.
    """
    columns = [
        element("th", head, scope="col")
        if numbers is None
        else element(
            "th",
            element("button", head, type="button", disabled=True),
            scope="col",
            class_="number" if numbers else None,
            data_numbers=numbers,
        )
        for head, numbers in heads
    ]
    made = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", columns)),
        element("tbody", body),
        class_="cells sortable",
        data_said=identity,
    )
    said = element("p", id=identity, class_="under", role="status", aria_live="polite")
    return joined([scrolled(made, name), said])


def named(name: str, small: str = "", narrow: Sequence[str] = ()) -> Markup:
    """Return the head of a row.

    ``narrow``: what else names or qualifies it once more, where a phone shows it without scrolling; a screen reader
    has heard it.
    """
    under = element("small", small) if small else None
    marked = [element("small", each, class_="narrow", aria_hidden="true") for each in narrow]
    return element("th", name, under, *marked, scope="row", data_value=f"{name} {small}".rstrip())


def number(value: int) -> Markup:
    """Return a cell with a whole number."""
    return element("td", str(value), class_="number", data_value=value)


def word(text: str) -> Markup:
    """Return a cell with a word to sort by."""
    return element("td", text, data_value=text)


def time(estimate: Estimate | None, *under: Child, mark: str = "") -> Markup:
    """Return a cell with a time, its interval and what stands ``under`` it; a dash where there is none."""
    if estimate is None:
        return element("td", "-", *under, class_="number", data_value="")
    whole = units.seconds_with_interval(estimate)
    return _number(units.seconds(estimate.centre) + mark, whole, estimate, under)


def ratio(estimate: Estimate | None) -> Markup:
    """Return a cell with a ratio and its interval."""
    if estimate is None:
        return element("td", "-", class_="number", data_value="")
    return _number(units.significant(estimate.centre), units.with_interval(estimate), estimate)


def _number(text: str, whole: str, estimate: Estimate, under: Sequence[Child] = ()) -> Markup:
    begin = whole.find("[")
    interval = whole[begin : whole.find("]") + 1] if begin >= 0 else "no interval"
    return element(
        "td", text, element("small", interval), *under, class_="number", data_value=repr(estimate.centre)
    )


def status_text(count: Count) -> str:
    """Return how many samples are ok, with the status in front where the cell shows no time."""
    return count.text() if count.shows_times else f"{count.status} ({count.text()})"


def status(count: Count) -> Markup:
    """Return a cell with :func:`status_text`."""
    text = status_text(count)
    said = element("span", text, class_="status" if count.shows_times else "status bad")
    return element("td", said, data_value=text)


def tags(row: CellRow) -> Markup:
    """Return a cell with the :func:`marks` of a row."""
    return element("td", [element("span", each, class_="tag") for each in marks(row)])


def marks(row: CellRow) -> list[str]:
    """Return what qualifies a cell's numbers, in a few words each."""
    of = row.count.ok
    found = [f"* {state} {many}/{of}" for state, many in row.not_steady.items()]
    found += [f"! {tag} {many}/{row.count.planned}" for tag, many in row.tags.items()]
    found += [f"outlier: {name}, block {', '.join(map(str, at))}" for name, at in row.outliers.items()]
    if row.bytecode_incomplete:
        found.append("bytecode incomplete")
    if row.with_added is not None:
        found.append(f"{row.with_added.many} taken again")
    return found
