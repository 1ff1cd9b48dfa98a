# SPDX-License-Identifier: Apache-2.0
"""An explanation as text: for a terminal of 80 columns, or Markdown. Same input, same bytes."""

from __future__ import annotations

from suite import units
from suite.explain import say
from suite.explain.explanation import Explained, Explanation, Instead
from suite.layout import heading_of_machine, items, notes_text, paragraph, table, title


def text(explanation: Explanation, style: str = "simple") -> str:
    """Return the whole sheet; ``style`` is "simple" or "github"."""
    markdown = style == "github"
    parts = [_heading(explanation, markdown)]
    for each in explanation.cells:
        parts += _cell(each, style)
    parts.append(notes_text(_notes(explanation), markdown))
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(explanation: Explanation, markdown: bool) -> str:
    experiment = explanation.experiment
    run = explanation.runs[experiment.arms[0].name]
    name = run.stack["name"]
    arms = len(experiment.arms)
    lines = [
        str(run.stack["title"]),
        f"explanation {experiment.id}: {arms} arms, {run.plan.samples} blocks of fresh processes, interleaved",
        *heading_of_machine(run),
    ]
    if explanation.sessions > 1:
        lines.append(f"measured in {explanation.sessions} sessions (RESUME=)")
    if explanation.missing:
        lines.append(f"PARTIAL: it ended before {explanation.missing} planned samples were taken")
    if markdown:
        return "\n".join([f"# Why the first run of {name} is slow", "", *(f"- {line}" for line in lines)])
    return "\n".join([name, *(paragraph(line) for line in lines)])


def _cell(each: Explained, style: str) -> list[str]:
    markdown = style == "github"
    name = say.cell(each.cell)
    if each.cold is None:
        reason = f": {each.count.reason.text}" if each.count.reason else ""
        body = paragraph(f"{each.count.text()}, {each.count.status}{reason}: nothing is explained")
        return [title(name, markdown) + body, _instead(each, style)]
    lines = [*say.verdict(each), *say.account_notes(each)]
    parts = [title(name, markdown) + "\n".join(paragraph(line) if not markdown else f"{line}\n" for line in lines)]
    parts.append(title(f"What cold was spent on ({name})", markdown) + _account(each, style))
    parts.append(title("What each ablation did", markdown) + _ablations(each, style))
    why = say.reasons(each)
    if why:
        parts.append(items(why, markdown))
    parts.append(title("Where the time of the first result went (median)", markdown) + _phases(each, style))
    parts.append(_remedies(each, style))
    parts.append(_instead(each, style))
    return [part for part in parts if part]


def account_rows(each: Explained) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the account: each cause, what it cost, its share, how sure that is."""
    body: list[list[str]] = []
    found = each.account
    if found is not None:
        for entry in found.entries:
            if entry.proven and entry.drawn.centre == 0:
                body.append([entry.name, "-", "-", "held above"])
            elif entry.proven:
                body.append([entry.name, say.seconds(entry.drawn), say.percent(entry.share), "proven"])
            else:
                body.append([entry.name, "-", "-", "not proven"])
        body.append(["unattributed", say.seconds(found.unattributed_s), say.percent(found.unattributed), ""])
        body.append(["excess", say.seconds(found.excess), "100 %", ""])
    return ["cause", "cost [95 %]", "of the excess", ""], body


def _account(each: Explained, style: str) -> str:
    if each.account is None:
        return "cold is not above warm, or no block is whole: there is nothing to account for"
    header, body = account_rows(each)
    return table(body, header, style, "lrll")


def ablation_rows(each: Explained) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the ablations: by how much cold falls, what warm is times, what follows."""
    body: list[list[str]] = []
    for effect in [*each.effects, *([each.together] if each.together else [])]:
        name = effect.ablation.name + (" *" if effect.ablation.over else "")
        if effect.saved is None:
            body.append([name, "-", "-", effect.count.status])
            continue
        what = "proven" if effect.proven else "not proven"
        if effect.ablation.what_if:
            what = "what if"
        if effect is each.together:
            what = ""
        if effect.arithmetic == "changes arithmetic":
            what = effect.arithmetic  # whether it is proven stands below
        warm = units.with_interval(effect.warm) if effect.warm else "-"
        body.append([name, say.seconds(effect.saved), warm, what])
    return ["taken away", "cold falls by [95 %]", "warm times", ""], body


def _ablations(each: Explained, style: str) -> str:
    header, body = ablation_rows(each)
    notes = [line if style == "github" else paragraph(line) for line in say.beside_another(each)]
    return "\n\n".join([table(body, header, style, "lrll"), *notes])


def phase_rows(each: Explained) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the phases: of fresh samples up to the first result, and of those that make up cold."""
    names = list(dict.fromkeys([*each.phases_s, *each.cold_phases_s]))
    body = [
        [
            name,
            units.seconds(each.phases_s[name]) if name in each.phases_s else "-",
            units.seconds(each.cold_phases_s[name]) if name in each.cold_phases_s else "-",
        ]
        for name in names
    ]
    return ["phase", "fresh", "in cold"], body


def _phases(each: Explained, style: str) -> str:
    header, body = phase_rows(each)
    return table(body, header, style, "lrr")


def remedy_rows(each: Explained) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of what was measured as a remedy, or is there to be used instead."""
    body = [["as it is", say.centre(each.first), say.centre(each.cold), say.centre(each.warm), each.precision]]
    for effect in each.effects:
        if effect.ablation.remedy and effect.saved is not None:
            times = (effect.first, effect.cold, effect.warm_s)
            body.append([effect.ablation.name, *map(say.centre, times), effect.precision])
    for other in each.instead:
        if other.warm is not None:
            times = (other.first, other.cold, other.warm)
            body.append([other.name, *map(say.centre, times), other.precision])
    return ["remedy", "first result", "cold", "warm", "precision"], body


def remedy_lines(each: Explained) -> list[str]:
    """Return what to paste for each remedy, and what a warm-up call buys."""
    found = [effect for effect in each.effects if effect.ablation.remedy and effect.saved is not None]
    return [*(f"{effect.ablation.name}: {effect.ablation.remedy}" for effect in found), *say.warm_up(each)]


def _remedies(each: Explained, style: str) -> str:
    markdown = style == "github"
    header, body = remedy_rows(each)
    bought = say.warm_up(each)
    # What is to be pasted is not wrapped on a terminal: somebody copies it.
    lines = "\n".join(
        [*(f"- {line}" for line in remedy_lines(each) if line not in bought), items(bought, markdown)]
    ).rstrip("\n")
    return (
        title("Remedies, measured in fresh processes", markdown)
        + table(body, header, style, "lrrrl")
        + f"\n\n{lines}"
    )


def break_even_lines(each: Explained) -> list[str]:
    """Return from which call on the cell has taken less time than each of what could be used instead."""
    return [_break_even(each, other) for other in each.instead]


def _instead(each: Explained, style: str) -> str:
    lines = break_even_lines(each)
    markdown = style == "github"
    return title("Break-even", markdown) + items(lines, markdown) if lines else ""


def _break_even(each: Explained, other: Instead) -> str:
    name = say.cell(each.cell)
    if other.warm is None:
        reason = f": {other.count.reason.text}" if other.count.reason else ""
        return f"beside {other.name}: it has no times ({other.count.status}{reason})"
    found = other.break_even
    if found is None:
        return f"beside {other.name}: not told, for precisions differ ({each.precision}, {other.precision})"
    if found.kind == "after" and found.calls is not None:
        return f"beside {other.name}: {name} has taken less time from call {units.with_interval(found.calls)} on"
    return f"beside {other.name}: {found.kind} ({found.why})"


def _notes(explanation: Explanation) -> list[str]:
    return [
        "cold, first result, warm: docs/values.md; cause, proven, unattributed: docs/explain.md",
        *explanation.notes,
    ]
