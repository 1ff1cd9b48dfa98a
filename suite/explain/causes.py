# SPDX-License-Identifier: Apache-2.0
"""Which causes the account of a cell considers, in which order they draw, and what each lacks to be proven."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.explain import effects, intervals
from suite.explain.account import Cause
from suite.explain.effects import Effect, Side
from suite.explain.general import SAME_SHAPE, SECOND_SHAPE

#: Steps that an ablation's cause may be part of, in the order it draws, by its role.
STEPS_OF = {
    "tuning": ("shape", "first", "anew"),
    "driver_jit": ("first", "shape"),
    "first_use": ("first", "shape"),
    "other": ("shape", "first"),
}
#: What is most specific draws first.
ORDER = ("tuning", "driver_jit", "other", "first_use")
LIBRARIES = "libraries"


@dataclass(frozen=True)
class TunedCut:
    """The arms that tell a first use from tuning: choices kept, and beyond that a second shape. Both proven."""

    kept: Effect
    further: Effect


def tuned_cut(found: Sequence[Effect]) -> TunedCut | None:
    """Return the arms that cut the excess where they tell more than the nested ones; None where they do not.

    That is where both are proven, and keeping the choices took more of tuning away than any other way to do so.
    """
    best = one_a_cause(found)
    for further in found:
        if further.ablation.over and further.proven:
            for kept in best:
                if kept.ablation.name == further.ablation.over and kept.ablation.role == "tuning" and kept.proven:
                    return TunedCut(kept, further)
    return None


def steps(base: Side, sides: Mapping[str, Side], found: Sequence[Effect]) -> dict[str, dict[int, float]]:
    """Return the steps into which the nested arms cut the excess, each by block; those that were measured."""
    tuned = tuned_cut(found)
    if tuned:
        return {"tuning": dict(tuned.kept.by_block), "first": dict(tuned.further.by_block)}
    second, same = _arm(sides, SECOND_SHAPE.name), _arm(sides, SAME_SHAPE.name)
    out = {}
    if second:
        out["first"] = effects.differences(base.colds(), second.colds())
    if same:
        before = second.colds() if second else base.colds()
        out["shape"] = effects.differences(before, same.colds())
    return out


def causes(base: Side, sides: Mapping[str, Side], found: Sequence[Effect]) -> list[Cause]:
    """Return all causes of a cell, in the order in which they draw from the account."""
    tuned = tuned_cut(found)
    if tuned:
        return _causes_of_tuned(sides, found, tuned)
    found = [each for each in found if not each.ablation.over]
    out = [*_made_anew(_arm(sides, SAME_SHAPE.name) or base)]
    ranked = [each for role in ORDER for each in one_a_cause(found) if each.ablation.role == role]
    for effect in ranked:
        if effect.ablation.prepare:
            out += _first_use(base, sides, effect)
        else:
            out.append(_cause(effect, STEPS_OF[effect.ablation.role]))
    if not _arm(sides, SECOND_SHAPE.name):
        # Then the step of the shape holds what a second shape would take away.
        for effect in found:
            if effect.ablation.name == SAME_SHAPE.name:
                busy = effects.differences(base.touched("cpu_s"), sides[SAME_SHAPE.name].touched("cpu_s"))
                seconds = _at_most(effect.by_block, busy)
                text = "code that the process had not used before"
                out.append(Cause("first use", text, seconds, ("shape",), effect.lacks or _untold(seconds)))
    return out


def _causes_of_tuned(sides: Mapping[str, Side], found: Sequence[Effect], tuned: TunedCut) -> list[Cause]:
    """Return the causes where a first use is told with tuning away. What it costs beside tuning is not asked again."""
    kept, further = sides[tuned.kept.ablation.name], sides[tuned.further.ablation.name]
    out = [*_made_anew(further), _cause(tuned.kept, ("tuning",))]
    out.append(_used_first(kept, further, tuned.further))
    # The others are told beside unablated calls, and hold what candidates pay, too: that is in the step of tuning, so
    # they have at most what is left of a process's first use, and nothing of what is paid for each function.
    others = [
        each
        for each in found
        if not each.ablation.prepare and each.ablation.counts_as != tuned.kept.ablation.counts_as
    ]
    ranked = [each for role in ORDER for each in one_a_cause(others) if each.ablation.role == role]
    return [*out, *(_cause(effect, ("first",)) for effect in ranked)]


def _cause(effect: Effect, steps_: Sequence[str]) -> Cause:
    """Return what an ablation took away as a cause of the account."""
    return Cause(effect.ablation.counts_as, effect.ablation.takes_out, effect.by_block, steps_, effect.lacks)


def one_a_cause(found: Sequence[Effect]) -> list[Effect]:
    """Return the effects, of several ways to take the same cause away only the one that says most of it.

    That is the proven one that took most away; where none is proven, the first.
    """
    best: dict[str, Effect] = {}
    for effect in found:
        cause = effect.ablation.counts_as
        if cause not in best or _weight(effect) > _weight(best[cause]):
            best[cause] = effect
    return [each for each in found if best[each.ablation.counts_as] is each]


def _weight(effect: Effect) -> float:
    values = list(effect.by_block.values())
    return statistics.fmean(values) if values and effect.proven else float("-inf")


def _made_anew(of: Side) -> list[Cause]:
    """Return what each new function or graph pays, by the samples of the arm that pays least beside it.

    Taken away by calling the same one again: warm. What that takes away is more than compiling, so a cause has only the
    seconds that the compile log, or the clock around that very call of the framework, names.
    """
    saved = intervals.mean(list(effects.differences(of.colds(), of.warms()).values()))
    lacks = "" if intervals.excludes_zero(saved) else "a new function is not told from the same one called again"
    out = []
    compiling, source = effects.compile_s(of)
    if any(value > 0 for value in compiling.values()):
        again = _compiles_again(of)
        why = lacks or ("its sign (compiles) is seen in warm calls, too" if again else "")
        out.append(
            Cause("compiling", f"each new function or graph is compiled; {source}", compiling, ("anew",), why)
        )
    building = of.phase_s(["build"])
    if any(value > 0 for value in building.values()):
        text = "the call is traced, or added to the graph, by the clock around that very call"
        out.append(Cause("building", text, building, ("anew",), lacks))
    return out


def _first_use(base: Side, sides: Mapping[str, Side], effect: Effect) -> list[Cause]:
    """Return what a first use in the process cost, and what the shape's own code did.

    Their sign has no time of its own: libraries' code that is touched for the first time. So neither has more seconds
    than the CPU was busier: a process that waits is not loading code.
    """
    second, same = _arm(sides, SECOND_SHAPE.name), _arm(sides, SAME_SHAPE.name)
    out = []
    if second:
        out.append(_used_first(base, second, effect))
    if second and same:
        saved = effects.differences(second.colds(), same.colds())
        sign = SECOND_SHAPE.mechanism
        before, after = _median_kb(second), _median_kb(same)
        told = (f"samples of {SECOND_SHAPE.name}", f"samples of {SAME_SHAPE.name}")
        fallen = intervals.mean(list(saved.values())) if saved else None
        lacks = effects.lacking(sign, fallen, before, after, told)
        seconds = _at_most(saved, effects.differences(second.touched("cpu_s"), same.touched("cpu_s")))
        text = "code that only this shape uses"
        out.append(Cause("first use by shape", text, seconds, ("shape",), lacks or _untold(seconds)))
    return out


def _used_first(beside: Side, second: Side, effect: Effect) -> Cause:
    """Return what a first use in the process cost: at most what the CPU was busier by without a second shape."""
    seconds = _at_most(effect.by_block, effects.differences(beside.touched("cpu_s"), second.touched("cpu_s")))
    text = "code that the process had not used before, of whatever shape"
    return Cause("first use", text, seconds, ("first",), effect.lacks or _untold(seconds))


def _compiles_again(of: Side) -> int:
    """Return how many compiles were logged in warm calls, all samples together."""
    logged = [each.compiles or {} for each in of.prepared.values()]
    return sum(each["warm"].count for each in logged if "warm" in each)


def _untold(seconds: Mapping[int, float]) -> str:
    return "" if seconds else "how busy the CPU was is not told"


def _median_kb(of: Side) -> float | None:
    found = list(of.touched(LIBRARIES).values())
    return statistics.median(found) if found else None


def _at_most(saved: Mapping[int, float], busy: Mapping[int, float]) -> dict[int, float]:
    """Return the smaller of two, by their means over the blocks that both have."""
    both = sorted(set(saved) & set(busy))
    if not both:
        return {}
    smaller = saved if sum(saved[each] for each in both) <= sum(busy[each] for each in both) else busy
    return {block: smaller[block] for block in both}


def _arm(sides: Mapping[str, Side], name: str) -> Side | None:
    found = sides.get(name)
    return found if found is not None and found.usable else None
