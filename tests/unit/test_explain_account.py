# SPDX-License-Identifier: Apache-2.0
"""The account's arithmetic, intervals, break-even, and what an ablation is made of."""

from __future__ import annotations

import random
import shutil

import msgspec
import pytest

from suite import ablation, levels, plan, ready, rows, stack
from suite.ablation import Ablation, Mechanism
from suite.errors import SuiteError
from suite.explain import arms, causes, general, intervals
from suite.explain.account import Cause, account, interaction
from suite.explain.break_even import break_even
from suite.explain.effects import Effect
from suite.mechanism import matches
from tests.unit.test_explain_synthetic import TUNING


def blocks(*values: float) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def test_steps_and_shares_sum_to_the_whole():
    """Fault: overlapping causes explain more than there is."""
    excess = blocks(1.0, 1.1, 0.9)
    steps = {"first": blocks(0.3, 0.3, 0.3), "shape": blocks(0.2, 0.25, 0.15)}
    causes = [
        Cause("a", "", blocks(0.9, 0.9, 0.9), ("shape", "first")),  # more than both hold
        Cause("b", "", blocks(0.4, 0.4, 0.4), ("first",)),  # nothing is left for it
        Cause("c", "", blocks(9, 9, 9), ("anew",)),
        Cause("d", "", blocks(9, 9, 9), ("anew",), lacks="no mechanism"),
    ]
    found = account(excess, steps, causes)
    drawn = {each.name: each.drawn.centre for each in found.entries}
    assert drawn == pytest.approx({"a": 0.5, "b": 0, "c": 0.5, "d": 0})
    assert found.explained.centre == pytest.approx(1) and found.unattributed_s.centre == pytest.approx(0)
    assert sum(each.centre for each in found.steps.values()) == pytest.approx(found.excess.centre)


@pytest.mark.parametrize("seed", range(40))
def test_never_beyond_the_whole(seed):
    """Fault: noise makes a step negative, and the others then sum to more than 100 %."""
    rng = random.Random(seed)
    draw = lambda: {block: rng.gauss(0.1, 0.3) for block in range(1, 6)}  # noqa: E731
    excess = {block: rng.uniform(0.5, 1.0) for block in range(1, 6)}
    causes = [Cause(name, "", draw(), ("shape", "first", "anew")) for name in "abc"]
    found = account(excess, {"first": draw(), "shape": draw()}, causes)
    total = sum(each.drawn.centre for each in found.entries)
    assert -1e-12 <= total <= found.excess.centre + 1e-12
    assert found.unattributed_s.centre == pytest.approx(found.excess.centre - total)


def test_what_is_missing_leaves_an_account():
    """Fault: an arm that failed takes the whole account with it."""
    found = account(blocks(1, 1), {}, [Cause("c", "", blocks(0.4, 0.4), ("anew",))])
    assert found.explained.centre == pytest.approx(0.4) and found.steps.keys() == {"anew"}
    assert account({}, {}, []) is None and account(blocks(-1, -1), {}, []) is None


def test_interaction_is_together_less_the_sum():
    """Fault: the overlap of causes is not said, or with the wrong sign."""
    found = interaction([blocks(1, 1), blocks(2, 2)], blocks(2.5, 2.5))
    assert found.centre == pytest.approx(-0.5)
    assert interaction([], blocks(1)) is None


def test_fiellers_interval_holds_the_share_as_often_as_it_says():
    """Fault: an interval of a ratio that is too narrow."""
    rng, held, many = random.Random(1), 0, 2000
    for _ in range(many):
        wholes = [rng.gauss(1.0, 0.1) for _ in range(5)]
        parts = [0.6 * each + rng.gauss(0, 0.05) for each in wholes]
        found = intervals.share(parts, wholes)
        held += found.low <= 0.6 <= found.high
    assert 0.93 <= held / many <= 0.97
    assert intervals.share([0.1], [1.0]).low is None


def test_break_even_follows_its_rules():
    """Fault: "never" where it cannot be told, or a number of calls where both are equally quick."""
    quick, slow = [1.0, 1.01, 0.99], [5.0, 5.05, 4.95]
    found = break_even(slow, [0.1, 0.101, 0.099], quick, [0.2, 0.201, 0.199])
    assert found.kind == "after" and found.calls.centre == pytest.approx(40, rel=0.01)
    assert found.calls.low < 40 < found.calls.high
    assert break_even(slow, [0.2, 0.201, 0.199], quick, [0.1, 0.101, 0.099]).kind == "never"
    assert break_even(quick, [0.1, 0.101, 0.099], slow, [0.2, 0.201, 0.199]).kind == "at once"
    assert break_even(slow, [0.1, 0.3, 0.2], quick, [0.1, 0.3, 0.2]).kind == "undetermined"
    assert break_even(slow[:1], [0.1], quick, [0.2]).kind == "undetermined"


def test_flags_are_added_to_those_that_are_there():
    """Fault: an ablation drops the flag that proves a compile, or the same flag is there twice."""
    base = {"TF_CPP_VMODULE": "xla_compilation_cache=1", "A": "1"}
    found = ablation.merged(base, {"TF_CPP_VMODULE": "gemm_thunk=4", "A": "2", "XLA_FLAGS": "--x"})
    assert found == {"TF_CPP_VMODULE": "xla_compilation_cache=1,gemm_thunk=4", "A": "2", "XLA_FLAGS": "--x"}
    assert ablation.merged(found, {"XLA_FLAGS": "--x"})["XLA_FLAGS"] == "--x"


def test_all_together_leaves_out_what_contradicts():
    """Fault: two ablations that set one variable both ways are measured together."""
    one = Ablation("one", "x", environment={"A": "1"})
    other = Ablation("other", "y", environment={"A": "2"})
    third = Ablation("third", "z", environment={"B": "1"})
    found = ablation.together([one, other, third, Ablation("what if", "w", what_if=True)])
    assert found.takes_out == "one, third" and found.environment == {"A": "1", "B": "1"}
    off, kept = Ablation("off", "x", cause="c"), Ablation("kept", "y", cause="c", level="process")
    assert ablation.together([off, kept]) is None  # one cause
    assert ablation.together([one, off, kept, third]).takes_out == "one, kept, third"
    assert ablation.together([general.SECOND_SHAPE, general.SAME_SHAPE]) is None  # the one holds the other
    assert ablation.together([general.SECOND_SHAPE, general.SAME_SHAPE, one]).prepare == "same_shape"


def test_candidates_of_gemm_thunk_are_counted():
    """Fault: a second pass over the same candidates, or a header line, is counted as more of them."""
    pattern = stack.load("tf1.14-cuda10").definition.ablations[0].mechanism.pattern
    assert matches(pattern, TUNING.encode()) == 25
    assert matches(pattern, (TUNING * 2).encode()) == 25
    assert matches(pattern, b"Autotuning cache hit, using algorithm (-1 stands for 'generic'): 7\n") == 0


def test_ablations_of_every_stack_are_sound():
    """Fault: a stack without the ablations of its time, two of one folder, or a role that no account knows."""
    for name in stack.names():
        definition = stack.load(name).definition
        names = {each.slug for each in definition.ablations}
        assert len(names) == len(definition.ablations)
        if definition.framework.import_name == "tensorflow":
            assert "autotuning-off" in names, name


def test_a_mechanism_is_seen_or_not():
    """Fault: a cause is proven although its sign is still there."""
    from suite.explain.effects import lacking

    sign, clear = Mechanism("file", "entries"), intervals.mean([1.0, 1.1, 0.9])
    assert lacking(sign, clear, 4, 0) == ""
    assert "still seen" in lacking(sign, clear, 4, 3)
    assert "not seen" in lacking(sign, clear, 0, 0)
    assert "cannot be looked for" in lacking(sign, clear, None, 0)
    assert lacking(None, clear, 4, 0) == "nothing shows its mechanism"
    assert lacking(sign, intervals.mean([1.0, -1.1, 0.9]), 4, 0) == "its interval holds 0"
    assert "no interval" in lacking(sign, intervals.mean([1.0]), 4, 0)


def test_two_ways_to_take_one_cause_away_are_one_cause():
    """Fault: tuning taken away by a kept cache and by a flag, counted twice: 100 % explained by half of it."""

    def effect(name: str, cause: str, seconds: float, lacks: str = "") -> Effect:
        how = Ablation(name=name, cause=cause, takes_out="x", role="tuning")
        return Effect(how, rows.Count(3, 3, "ok"), lacks=lacks, by_block=blocks(seconds, seconds))

    off, kept = effect("off", "autotuning", 0.3), effect("kept", "autotuning", 0.9)
    other, unproven = effect("other", "", 0.1), effect("loud", "autotuning", 5.0, lacks="no mechanism")
    assert causes.one_a_cause([unproven, off, kept, other]) == [kept, other]
    assert causes.one_a_cause([unproven]) == [unproven]


def test_a_flag_names_a_folder_in_the_samples_own_cache():
    """Fault: a cache named by a flag that all samples share, so that only the first is cold."""
    value = general.TUNING_KEPT.watch["XLA_FLAGS"]
    assert f"{levels.CACHE}/{levels.FLAGGED}" in value
    assert " " not in value


@pytest.mark.parametrize("name", ["tf2.18-cuda12.5", "tf2.21-cuda12"])
def test_a_stacks_own_copy_of_an_ablation_is_the_general_one(name):
    """Fault: a flag corrected in one place only; the flag itself is in this stack's library, unlike in older ones."""
    [kept] = [each for each in stack.load(name).definition.ablations if each.name == general.TUNING_KEPT.name]
    own = {"watch": general.TUNING_KEPT.watch, "remedy": general.TUNING_KEPT.remedy} if "2.21" in name else {}
    assert msgspec.structs.replace(kept, **own) == general.TUNING_KEPT
    flags = kept.watch["XLA_FLAGS"].split(" ")
    assert {flag.partition("=")[2] for flag in flags} == {f"{levels.CACHE}/{levels.FLAGGED}"}
    assert all(flag.partition("=")[0] in kept.remedy for flag in flags)


def test_an_arm_that_keeps_its_caches_keeps_those_alone_that_it_is_about():
    """Fault: kept with the driver's JIT cache, XLA's choices make PTX pay for what tuning costs."""
    tuning, driver = general.TUNING_KEPT, general.JIT_CACHE_KEPT
    kept, emptied = f"{levels.CACHE}/{levels.FLAGGED}", f"{levels.CACHE}/{levels.SCRATCH}"

    def folder_in(name: str, kind: arms.ArmKind, of: Ablation | None) -> str:
        arm = arms.Arm(name, kind, [], fresh=False, ablation=of)
        return arms._watched(tuning, arm)["XLA_FLAGS"].partition("=")[2]

    assert folder_in(tuning.name, "ablation", tuning) == kept
    assert folder_in(driver.name, "ablation", driver) == emptied
    further = general.once_tuned(tuning)
    assert folder_in(further.name, "ablation", further) == kept and further.watch == {}
    assert folder_in("all together", "together", ablation.together([tuning, driver])) == kept
    assert (
        folder_in("second shape", "ablation", general.SECOND_SHAPE) == kept
    )  # each sample has a folder of its own
    assert folder_in("unablated", "unablated", None) == kept
    # And the other way round: PTX that is compiled no more is no tuning.
    own = arms.Arm(tuning.name, "ablation", [], fresh=False, ablation=tuning)
    assert arms._driver_cache(own) == {"CUDA_CACHE_PATH": emptied}
    for kind, of in (("ablation", driver), ("together", ablation.together([tuning, driver])), ("unablated", None)):
        assert arms._driver_cache(arms.Arm("x", kind, [], fresh=False, ablation=of)) == {}


@pytest.mark.parametrize("name", ["jax0.11-cuda13", "tf2.18-cuda12.5", "tf2.21-cuda12"])
def test_what_goes_beyond_another_differs_from_it_in_the_preparatory_call_alone(name, tmp_path):
    """Fault: with JAX's own cache on, or PTX kept, its arm takes out more than a first use."""
    chosen = stack.load(name)
    cells = plan.cells(
        chosen,
        ["XLA_GPU"],
        "jit",
        [50],
        dtype="float32",
        precision="default",
        level="jit",
        python="3.12",
        engine="local",
    )[:1]
    every = general.ablations(chosen.definition, cells)
    planned = arms.arms(cells, chosen, every)
    bare = ready.Ready(
        *(None, chosen, None, None, cells, {}, lambda home, more: dict(more), "isolated", tmp_path)  # type: ignore[arg-type]
    )
    kept, further = (
        next(arm for arm in planned if arm.name == which)
        for which in (general.TUNING_KEPT.name, "second shape once tuned")
    )
    made = {arm.name: arms.made_for(arm, bare, planned) for arm in (kept, further)}
    environments = [each.environment(tmp_path, {}) for each in made.values()]
    assert environments[0] == environments[1] and f"{levels.CACHE}/{levels.FLAGGED}" in str(environments[0])
    assert [arm.cells for arm in (kept, further)] == [kept.cells] * 2 and kept.cells[0].level == "process"
    asked = [each.asked(kept.cells[0]) for each in made.values()]
    assert asked == [{"watch": True}, {"watch": True, "prepare_n": 58}]
    assert [each.begins_with for each in made.values()] == ["", kept.folder]


def test_the_drivers_cache_is_kept_without_inductors():
    """Fault: Inductor's whole compile is saved by its own cache, and the sheet says to keep the driver's."""
    of_torch = {each.name: each for each in general.OF_FRAMEWORK["torch"]}
    driver, compiler = of_torch["JIT cache kept"], of_torch["compile cache kept"]
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        assert driver.environment[name].startswith(f"{levels.CACHE}/{levels.SCRATCH}/")
        assert compiler.environment[name] == f"{levels.CACHE}/{levels.CACHE_VARIABLES[name]}"
        assert name in compiler.remedy
    assert "CUDA_CACHE_PATH" in driver.remedy and compiler.own_cache
    assert compiler.applies("GPU", "jit") and not compiler.applies("GPU", "device")
    # Never both at once: the one switches off what the other keeps.
    both = ablation.together([general.SAME_SHAPE, driver, compiler])
    assert both.takes_out == f"{general.SAME_SHAPE.name}, {driver.name}"


def test_a_stack_may_not_go_beyond_another_ablation(tmp_path):
    """Fault: an arm that is measured, told beside nothing, and in no account."""
    folder = tmp_path / "tf2.18-cuda12.5"
    shutil.copytree(stack.STACKS / folder.name, folder)
    file = folder / "stack.toml"
    file.write_text(
        file.read_text().replace('name = "oneDNN off"', 'name = "oneDNN off"\nover = "autotuning off"', 1)
    )
    with pytest.raises(SuiteError, match="ablations: oneDNN off: over: expected none"):
        stack.load(folder.name, tmp_path)


#: What XLA of TensorFlow 2.15 to 2.18 writes (xla/autotune_results.proto as text): a product whose candidates were
#: timed, and one whose first candidate was taken untried, which is how it is written where autotuning is off.
TIMED = """results {
  device: "CUDA: 9.0, Cores: 132, GPU clock: 1.98 GHz, Memory bandwidth: 4916 GB/s, L2 cache: 60 MB"
  hlo: "{ tmp_0 = f32[15000,15000]{1,0} parameter(0) ... }"
  result {
    run_time {
      nanos: 19651584
    }
    gemm {
      algorithm: -1
    }
  }
}
"""
UNTRIED = """results {
  device: "CUDA: 9.0, Cores: 132, GPU clock: 1.98 GHz, Memory bandwidth: 4916 GB/s, L2 cache: 60 MB"
  hlo: "{ tmp_0 = f32[15000,15000]{1,0} parameter(0) ... }"
  result {
    run_time {
    }
    triton {
      block_m: 32
    }
  }
}
"""


@pytest.mark.parametrize("name", ["tf2.15-cuda12.2", "tf2.18-cuda12.5"])
def test_a_choice_that_was_not_timed_is_no_tuning(name):
    """Fault: with autotuning off XLA writes its untried choices, too: the sign seems to stay, nothing is proven."""
    [off] = [each for each in stack.load(name).definition.ablations if each.name == "autotuning off"]
    assert matches(off.mechanism.pattern, ("version: 3\n" + TIMED + TIMED + UNTRIED).encode()) == 2
    assert matches(off.mechanism.pattern, ("version: 3\n" + UNTRIED).encode()) == 0
    slow = TIMED.replace("nanos: 19651584", "seconds: 1\n      nanos: 5")
    assert matches(off.mechanism.pattern, slow.encode()) == 1
