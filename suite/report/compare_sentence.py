# SPDX-License-Identifier: Apache-2.0
"""What a comparison says in a sentence, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence

from suite import units
from suite.comparison import QUANTITIES
from suite.report.compare_view import CompareView, Told, passed

#: Words that are a finding, and how a sentence says them.
FOUND = {"SLOWER": ("slower", "than"), "FASTER": ("faster", "than"), "SAME": ("the same", "as")}


def title(view: CompareView) -> str:
    """Return what was compared."""
    names = [arm.name for arm in view.compared.arms]
    if view.alike is not None:
        return f"{view.compared.baseline.run.stack['name']} beside itself"
    return f"{', '.join(names)} side by side" if len(names) <= 3 else f"{len(names)} stacks side by side"


def verdict(view: CompareView) -> str:
    """Return the sentence at the top of a comparison's report."""
    if view.alike is not None:
        return passed(view)
    others, told = view.compared.others(), view.told
    if not told:
        return f"Nothing could be set beside {view.compared.baseline.name}: no cell has times on both sides."
    baseline = view.compared.baseline.name
    one = len(others) == 1
    subjects = (others[0].name if one else f"the {len(others)} other stacks", "it" if one else "they")
    clauses: list[str] = []
    for quantity, who in zip(QUANTITIES, subjects, strict=True):
        mine = [each for each in told if each.judged.quantity == quantity]
        beside = baseline if not clauses else ""
        said = " and ".join(_said(mine, who, beside, "is" if one else "are"))
        clauses.append(f"{quantity}, {said or _nothing(who, beside)}")
    text = f"{'; '.join(clauses)}."
    text = text[0].upper() + text[1:]
    for word in ("AMBIGUOUS", "INCOMPARABLE"):
        many = sum(1 for each in told if each.judged.verdict.word == word)
        if many:
            text += f" {many} of {_many(len(told), 'verdict')} {'is' if many == 1 else 'are'} {word}."
    marked = sum(1 for each in told if each.judged.allowed)
    return text + (
        f" {marked} marked: what ALLOW= named differs too, so they are no plain speed-up." if marked else ""
    )


def _said(told: Sequence[Told], who: str, beside: str, verb: str) -> list[str]:
    """Return in how many cells each word holds, with the ratios; the first part has the subject."""
    parts: list[str] = []
    for word, (adjective, preposition) in FOUND.items():
        mine = [each for each in told if each.judged.verdict.word == word]
        if not mine:
            continue
        ratios = sorted(each.ratio.centre for each in mine if each.ratio)
        low, high = (units.significant(each) for each in (ratios[0], ratios[-1]))
        span = low if low == high else f"{low} to {high}"
        what = adjective
        if not parts:
            what = f"{who} {verb} {adjective}" + (f" {preposition} {beside}" if beside else "")
        many = f"{len(mine)} of {_many(len(told), 'cell')}" if not parts else str(len(mine))
        times = "" if word == "SAME" else f" ({span} times its time)"
        parts.append(f"{what} in {many}{times}")
    return parts


def _nothing(who: str, beside: str) -> str:
    return f"no difference between {who} and {beside} is sure" if beside else "no difference is sure"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
