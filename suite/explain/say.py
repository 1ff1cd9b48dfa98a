# SPDX-License-Identifier: Apache-2.0
"""The sentences of an explanation's sheet, in plain words."""

from __future__ import annotations

import math

from suite import units
from suite.explain import intervals
from suite.explain.effects import Effect
from suite.explain.explanation import Explained
from suite.records import Cell
from suite.stats import Estimate

#: Warm that differs by less than this is not worth a sentence.
WARM_CHANGED = 1.05


def cell(of: Cell) -> str:
    """Return a cell as a person names it."""
    return f"{of.target} via {of.placement} at {of.n}"


def seconds(estimate: Estimate) -> str:
    """Return a time with its interval, in the unit of the largest of the three: a difference may be near 0."""
    if estimate.low is not None and estimate.high is not None:
        estimate = Estimate(estimate.centre, *units.outward(estimate), estimate.n)
    ends = (estimate.centre, estimate.low, estimate.high)
    size = max(abs(each) for each in ends if each is not None and math.isfinite(each))
    scale, unit = next(
        ((s, u) for s, u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if size >= 0.9995 * s), (1e-6, "us")
    )
    centre_, low, high = (
        None if each is None else _rounded(each / scale) for each in (estimate.centre, estimate.low, estimate.high)
    )
    return f"{centre_}{f' [{low}, {high}]' if low is not None else ''} {unit}"


def _rounded(value: float) -> str:
    """Return three digits at most, and no more than three behind the point."""
    text = (
        f"{value:.{0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.9995 else 3}f}"
    )
    return "0" if float(text) == 0 else text


def centre(estimate: Estimate | None) -> str:
    """Return the centre of a time, "-" without one."""
    return units.seconds(estimate.centre) if estimate else "-"


def percent(estimate: Estimate) -> str:
    """Return a share in whole percent with its interval: "83 [80, 86] %"."""
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.centre:.0f} %"
    low, high = (f"{100 * each:.0f}" for each in (estimate.low, estimate.high))
    return f"{100 * estimate.centre:.0f} [{low}, {high}] %"


def speed(flops: float) -> str:
    """Return FLOP/s for people: "48.7 TFLOP/s", "160 GFLOP/s"."""
    return f"{flops / 1e12:.3g} TFLOP/s" if flops >= 1e12 else f"{flops / 1e9:.3g} GFLOP/s"


def verdict(each: Explained) -> list[str]:
    """Return what a cell's first run was spent on, in sentences."""
    out = []
    if each.cold and each.warm and each.ratio:
        rate = f", {speed(each.flops)}" if each.flops else ""
        out.append(
            f"Its first call takes {seconds(each.cold)}, a warm one {seconds(each.warm)}: "
            f"{units.with_interval(each.ratio)} times ({each.precision}{rate} warm)."
        )
    found = each.account
    if found is not None:
        drawn = sorted((entry for entry in found.entries if entry.proven), key=lambda one: -one.drawn.centre)
        main = [f"{entry.name} ({percent(entry.share)})" for entry in drawn if entry.share.centre >= 0.005]
        spent = f"The {seconds(found.excess)} more went to " + ", ".join(main) if main else "No cause is proven"
        out.append(f"{spent}; explained {percent(found.explained)}, unattributed {percent(found.unattributed)}.")
    if each.first and each.start_up:
        share = ""
        if each.start_up_explained is not None:
            share = f", of which proven causes explain {percent(each.start_up_explained)}"
        out.append(
            f"A fresh process has its first result after {seconds(each.first)}; "
            f"{seconds(each.start_up)} of it is start-up, paid once whatever the shape{share}."
        )
    return out


def headline(each: Explained) -> str:
    """Return one short sentence: how many times slower, and what that went to."""
    if each.ratio is None or each.account is None:
        return f"{cell(each.cell)}: nothing is explained."
    drawn = sorted((entry for entry in each.account.entries if entry.proven), key=lambda one: -one.drawn.centre)
    main = [f"{entry.name} {100 * entry.share.centre:.0f} %" for entry in drawn if entry.share.centre >= 0.005]
    rest = f"unattributed {100 * each.account.unattributed.centre:.0f} %"
    times = units.significant(each.ratio.centre)
    return f"{cell(each.cell)}: a first call takes {times} times a warm one; {', '.join([*main, rest])} of the excess."


def account_notes(each: Explained) -> list[str]:
    """Return how the excess is cut by the nested arms, and how far ablations overlap."""
    found = each.account
    if found is None:
        return []
    anew = "for each new function or graph"
    if "tuning" in found.steps:
        anew = "for this shape and each new function or graph"
    names = {"tuning": "for tuning", "first": "once a process", "shape": "once for this shape", "anew": anew}
    cut = ", ".join(f"{seconds(step)} {names[name]}" for name, step in found.steps.items())
    out = [f"By nested arms: {cut}."]
    if each.interaction is not None:
        saved = f"{seconds(each.together.saved)}" if each.together and each.together.saved else "-"
        out.append(
            f"All together cold falls by {saved}; interaction {seconds(each.interaction)} "
            f"(that less the sum of each alone; below 0: they overlap)."
        )
    return out


def reasons(each: Explained) -> list[str]:
    """Return a line for each ablation that needs one: what a cause lacks, and what else it changed."""
    out = []
    for effect in each.effects:
        lines = _changed(effect)
        if effect.saved is None or (effect.lacks and not effect.ablation.what_if):
            lines.insert(0, f"not proven: {effect.lacks}")
        elif not effect.ablation.what_if and effect.ablation.mechanism is not None:
            sign = effect.ablation.mechanism.seen_as
            without = f"with {effect.ablation.over} alone" if effect.ablation.over else "without it"
            counts = f"{_count(effect.seen_before)} {without}, {_count(effect.seen_after)} with it"
            lines.insert(0, f"proven: {sign}: {counts}")
        if effect.saved is None and effect.count.reason is not None:
            lines.append(effect.count.reason.text)
        if lines:
            out.append(f"{effect.ablation.name} (takes out {effect.ablation.takes_out}): {'; '.join(lines)}")
    if each.account is not None:
        listed = {effect.ablation.counts_as for effect in each.effects}
        for entry in each.account.entries:
            if entry.name not in listed:
                out.append(
                    f"{entry.name}: {entry.text}" + ("" if entry.proven else f"; not proven: {entry.lacks}")
                )
    return out


def beside_another(each: Explained) -> list[str]:
    """Return what the rows of ablations that are not told beside the cell as it is are told beside."""
    over = [(effect.ablation.name, effect.ablation.over) for effect in each.effects if effect.ablation.over]
    return [f"* {name}: beside {other}, not beside the cell as it is" for name, other in over]


def _changed(effect: Effect) -> list[str]:
    out = []
    if effect.arithmetic == "changes arithmetic":
        out.append(f"changes arithmetic: {effect.precision} by its entries' errors")
    warm = effect.warm
    if warm is not None and warm.low is not None and warm.high is not None:
        if warm.low > WARM_CHANGED:
            out.append(f"warm {units.with_interval(warm)} times slower{_rate(effect)}")
        elif warm.high < 1 / WARM_CHANGED:
            quicker = Estimate(1 / warm.centre, 1 / warm.high, 1 / warm.low, warm.n)
            out.append(f"warm {units.with_interval(quicker)} times quicker{_rate(effect)}")
    if effect.started is not None and effect.started.low is not None and not _holds_zero(effect.started):
        less = "falls" if effect.started.centre > 0 else "grows"
        size = effect.started
        if size.centre < 0 and size.high is not None and size.low is not None:
            size = Estimate(-size.centre, -size.high, -size.low, size.n)
        out.append(f"start-up {less} by {seconds(size)}")
    return out


def _holds_zero(estimate: Estimate) -> bool:
    reverse = Estimate(
        -estimate.centre,
        None if estimate.high is None else -estimate.high,
        None if estimate.low is None else -estimate.low,
        estimate.n,
    )
    return not intervals.excludes_zero(estimate) and not intervals.excludes_zero(reverse)


def _rate(effect: Effect) -> str:
    return f" ({speed(effect.flops)})" if effect.flops else ""


def _count(value: float | None) -> str:
    return "not told" if value is None else f"{value:g}"


def warm_up(each: Explained) -> list[str]:
    """Return what a warm-up call buys, by the unablated samples alone."""
    out = []
    if each.first_call is not None and each.cold is not None:
        out.append(
            f"a tiny warm-up call (8 x 8): the cell's own first call then takes {centre(each.cold)} "
            f"instead of {centre(each.first_call)}"
        )
    if each.cold is not None and each.warm is not None:
        out.append(f"a warm-up call of the same function and shape: the next takes {centre(each.warm)}")
    return out
