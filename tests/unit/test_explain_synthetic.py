# SPDX-License-Identifier: Apache-2.0
"""The whole of ``explain`` on workers whose causes are known: what is claimed is what was planted, and no more."""

from __future__ import annotations

import json
from types import MappingProxyType
from unittest import mock

import msgspec
import pytest

from suite import collecting, stack
from suite.ablation import Ablation, Mechanism
from suite.errors import SuiteError
from suite.exits import Exit
from suite.explain import general
from suite.explain import run as explaining
from tests.explaining import Arm, explained
from tests.synthetic import STACK, lognormal

#: Lines as TensorFlow 1.14 writes them with TF_CPP_VMODULE=gemm_thunk=4, composed from its public source
#: (tensorflow/compiler/xla/service/gpu/gemm_thunk.cc): not recorded on a GPU.
TUNING = "".join(
    f"2026-12-02 07:11:38.{n:06d}: I tensorflow/compiler/xla/service/gpu/gemm_thunk.cc:164] cublas gemm algorithm "
    f"{n} {'failed.' if n % 3 == 0 else f'took {n}.25ms'}\n"
    for n in range(25)
)


def test_a_hidden_sleep_is_unattributed(tmp_path):
    """Fault: a second that no cause explains is called compiling because the log mentions a compile."""
    slept = Arm(cold=lognormal(1.06, 0.01))
    done = explained(tmp_path, {"unablated": slept, "plain-CPU": Arm(cold=0.02)})
    account = done.cell.account
    assert done.code is Exit.DONE and account is not None
    # What the log of the recorded sample names, 32 ms, and the 10 % of cold that building takes.
    assert done.entry("compiling").drawn.centre == pytest.approx(0.032, abs=1e-3)
    assert account.unattributed_s.centre == pytest.approx(1.058 - 0.032 - 0.106, abs=0.02)
    assert account.unattributed.centre > 0.8 and "unattributed" in done.words


@pytest.mark.parametrize("busy", [pytest.param(0.06, id="slept"), pytest.param(1.06, id="worked")])
def test_a_sleep_in_the_first_such_call_of_a_process_is_no_first_use(tmp_path, busy):
    """Fault: what a second shape takes away is called first use of code although the process only waited."""
    arms = {
        "unablated": Arm(cold=lognormal(1.06, 0.01), libraries_kb=3000, cpu_s=busy),
        **{name: Arm(cold=lognormal(0.06, 0.01)) for name in ("second-shape", "same-shape-again", "plain-CPU")},
    }
    done = explained(tmp_path, arms)
    entry = done.entry("first use")
    assert entry.proven
    assert entry.drawn.centre == pytest.approx(1.0 if busy > 1 else 0.0, abs=0.03)
    assert (done.cell.account.unattributed.centre > 0.8) == (busy < 1)


def test_an_ablation_without_its_mechanism_is_not_proven(tmp_path):
    """Fault: whatever a second shape makes quicker is a cause, seen or not."""
    arms = {"unablated": Arm(cold=lognormal(0.5, 0.01)), "second-shape": Arm(cold=lognormal(0.06, 0.01))}
    done = explained(tmp_path, arms, ablations="second-shape")
    [effect] = done.cell.effects
    assert effect.saved.low > 0.4 and not effect.proven and "not seen in unablated samples" in effect.lacks
    assert done.entry("first use").drawn.centre == 0 and "not proven" in done.words


def test_what_a_nested_cause_lacks_is_said_of_the_arm_that_lacks_it(tmp_path):
    """Fault: "not seen in unablated samples" beside an effect that has just seen it there."""
    arms = {
        "unablated": Arm(cold=lognormal(0.5, 0.01), libraries_kb=3000),
        "second-shape": Arm(cold=lognormal(0.5, 0.01)),
        "same-shape-again": Arm(cold=lognormal(0.06, 0.01)),
    }
    done = explained(tmp_path, arms, ablations="second-shape,same-shape-again")
    assert "not seen in samples of second shape" in done.words and "not seen in unablated" not in done.words


def test_tuning_is_proven_by_ablation_and_log(tmp_path):
    """Fault: autotuning, 90 % of a cold call, stays unattributed; or its price in warm calls is not said."""
    arms = {
        "unablated": Arm(cold=lognormal(6.1, 0.01), warm=0.02, said=TUNING),
        "second-shape": Arm(cold=lognormal(6.0, 0.01), warm=0.02, said=TUNING),
        "same-shape-again": Arm(cold=lognormal(0.3, 0.01), warm=0.02),
        "autotuning-off": Arm(cold=lognormal(0.43, 0.01), warm=0.14),
        "all-together": Arm(cold=lognormal(0.3, 0.01), warm=0.14),
        "plain-GPU": Arm(cold=0.03, warm=0.02),
    }
    done = explained(tmp_path, arms, targets="XLA_GPU", ablations="second-shape,same-shape-again,autotuning-off")
    effect = next(each for each in done.cell.effects if each.ablation.name == "autotuning off")
    assert (effect.seen_before, effect.seen_after) == (25, 0) and effect.proven
    entry = done.entry("autotuning")
    assert entry.drawn.centre == pytest.approx(5.67, abs=0.1) and 0.9 < entry.share.centre < 0.95
    assert done.cell.account.explained.low > 0.9
    assert effect.warm.centre == pytest.approx(7, rel=0.02) and "times slower" in done.words
    assert "export XLA_FLAGS=--xla_gpu_disable_autotune" in done.text
    # 5.67 + 5.8 alone, 5.8 together.
    assert done.cell.interaction.centre == pytest.approx(-5.67, abs=0.15)


#: What tuned stacks have: the choices of an earlier process, here seen by the lines of :data:`TUNING`.
KEPT = msgspec.structs.replace(
    general.TUNING_KEPT,
    watch={},
    mechanism=Mechanism("stderr", "candidates", pattern=r"cublas gemm algorithm (\d+) (?:took|failed)"),
)
TUNED = "second-shape,same-shape-again,autotuning-kept,second-shape-once-tuned"


def tuned(
    out,
    *,
    kept=0.17,
    busy_s=0.17,
    kept_kb=10_000,
    ablations=(KEPT,),
    others=MappingProxyType({}),
    names=TUNED,
    **given,
):
    """Explain a process whose tuning varies by more than its first use of code, 90 ms, costs."""
    tuning = lognormal(2.8, 0.05)
    arms = {
        "unablated": Arm(cold=tuning, warm=0.02, said=TUNING, cpu_s=7.0, libraries_kb=5000),
        "second-shape": Arm(cold=tuning, warm=0.02, said=TUNING, cpu_s=7.0),
        "same-shape-again": Arm(cold=lognormal(0.08, 0.01), warm=0.02, cpu_s=0.08),
        "autotuning-kept": Arm(
            cold=lognormal(kept, 0.01), warm=0.02, cpu_s=busy_s, libraries_kb=kept_kb, chooses={"one": 7}
        ),
        "second-shape-once-tuned": Arm(
            cold=lognormal(0.08, 0.01), warm=0.02, cpu_s=0.08, chooses={"one": 8, "other": 9}
        ),
        "all-together": Arm(cold=lognormal(0.08, 0.01), warm=0.02, cpu_s=0.08),
        **others,
    }
    with mock.patch.dict(general.OF_FRAMEWORK, {"tensorflow": list(ablations)}):
        return explained(out, arms, targets="XLA_GPU", ablations=names, **given)


def test_a_first_use_is_told_where_no_tuning_varies(tmp_path):
    """Fault: what a first use costs, 90 ms, is lost beside tuning that varies by 140 ms, and stays unattributed."""
    done = tuned(tmp_path, kept=0.17)
    account = done.cell.account
    assert account.steps.keys() == {"tuning", "first", "anew"}
    further = next(each for each in done.cell.effects if each.ablation.over)
    # Beside the arm that it goes beyond.
    assert further.proven and further.saved.centre == pytest.approx(0.09, abs=0.005)
    assert further.warm.centre == pytest.approx(1, rel=0.02)
    entries = [each.name for each in account.entries]
    assert entries.count("first use") == entries.count("autotuning") == 1
    assert done.entry("first use").drawn.centre == pytest.approx(0.09, abs=0.005)
    assert done.entry("autotuning").drawn.centre == pytest.approx(2.63, abs=0.2)
    assert account.explained.low > 0.97
    assert "for tuning" in done.words and "beyond what autotuning kept takes away" in done.words
    assert "* second shape once tuned: beside autotuning kept" in done.words
    assert "10000 with autotuning kept alone, 0 with it" in done.words
    # Never part of all together, which it would be counted twice in.
    assert "once tuned" not in done.cell.together.ablation.takes_out


def test_a_wait_once_tuned_is_no_first_use(tmp_path):
    """Fault: 90 ms in which the process only waited are called first use of code."""
    done = tuned(tmp_path, kept=0.17, busy_s=0.08)
    assert done.entry("first use").drawn.centre == pytest.approx(0, abs=1e-3)
    assert done.cell.account.unattributed_s.centre == pytest.approx(0.09 + 0.02, abs=0.02)


def test_without_its_sign_a_second_shape_once_tuned_proves_nothing(tmp_path):
    """Fault: what it lacks is said of unablated samples, which it is not told beside."""
    done = tuned(tmp_path, kept=0.17, kept_kb=0)
    assert not done.entry("first use").proven
    assert "is not seen in samples of autotuning kept" in done.words


def test_where_tuning_is_not_proven_the_nested_arms_cut_as_ever(tmp_path):
    """Fault: an account cut by a cause that was not found."""
    done = tuned(tmp_path, kept=2.8)
    assert done.cell.account.steps.keys() == {"first", "shape", "anew"}
    entries = [each.name for each in done.cell.account.entries]
    assert entries.count("first use") == 1 and "second shape once tuned" not in entries


def test_what_goes_beyond_another_begins_with_its_choices(tmp_path):
    """Fault: it chose another kernel than the arm that it is told beside, once for all blocks: no interval shows it."""
    done = tuned(tmp_path, samples="2")
    taken = {
        arm: [json.loads(line) for line in (done.folder / arm / "samples.jsonl").read_text().splitlines()]
        for arm in ("autotuning-kept", "second-shape-once-tuned")
    }
    [priming] = [each for each in taken["second-shape-once-tuned"] if each["kind"] == "priming"]
    assert priming["caches"]["before"] == {"flagged/one": 7} and "added to" in priming["proofs"]["cold"]["text"]
    choices = {
        arm: [each["caches"]["before"] for each in samples if each["kind"] == "prepared"]
        for arm, samples in taken.items()
    }
    assert choices["autotuning-kept"] == [{"flagged/one": 7}] * 2
    assert choices["second-shape-once-tuned"] == [{"flagged/one": 7, "flagged/other": 9}] * 2


#: A driver's PTX that is proven beside unablated calls, where candidates have most of it.
PTX = Ablation(
    name="PTX kept",
    takes_out="PTX",
    targets=["XLA_GPU"],
    mechanism=Mechanism("stderr", "PTX", pattern=r"took (\d)"),
    role="driver_jit",
)


def test_what_is_told_beside_unablated_calls_never_goes_beyond_the_process(tmp_path):
    """Fault: 300 ms of candidates' PTX, in tuning's step already, laid on a sleep of the last step: explained twice."""
    arms = {
        "second-shape-once-tuned": Arm(cold=lognormal(0.48, 0.01), warm=0.02, cpu_s=0.08),
        "autotuning-kept": Arm(cold=lognormal(0.57, 0.01), warm=0.02, cpu_s=0.17, libraries_kb=10_000),
        "ptx-kept": Arm(cold=lognormal(2.0, 0.001), warm=0.02),
    }
    names = "autotuning-kept,second-shape-once-tuned,ptx-kept"
    done = tuned(tmp_path, ablations=(KEPT, PTX), others=arms, names=names)
    assert next(each for each in done.cell.effects if each.ablation == PTX).proven
    assert done.entry("PTX kept").drawn.centre == pytest.approx(0, abs=0.01)
    assert done.entry("first use").drawn.centre == pytest.approx(0.09, abs=0.01)
    # 0.48 less warm, what the log names of compiling (32 ms) and what building takes (48 ms).
    assert done.cell.account.unattributed_s.centre == pytest.approx(0.38, abs=0.02)


def test_tuning_that_another_way_takes_more_of_is_cut_as_ever(tmp_path):
    """Fault: a cache that keeps half of the choices hides what switching tuning off proves."""
    off = stack.load(STACK).definition.ablations[0]
    assert off.name == "autotuning off"
    arms = {
        "autotuning-kept": Arm(cold=lognormal(1.5, 0.01), warm=0.02, cpu_s=1.6, libraries_kb=10_000),
        "second-shape-once-tuned": Arm(cold=lognormal(1.4, 0.01), warm=0.02, cpu_s=1.4),
        "autotuning-off": Arm(cold=lognormal(0.1, 0.01), warm=0.02),
    }
    names = "autotuning-kept,autotuning-off,second-shape-once-tuned"
    done = tuned(tmp_path, ablations=(KEPT, off), others=arms, names=names)
    assert "tuning" not in done.cell.account.steps
    # All but what the log names of compiling, and the tenth that building takes; keeping choices takes 1.3 s away.
    assert done.entry("autotuning").drawn.centre == pytest.approx(2.48, abs=0.2)


def test_the_interaction_counts_of_two_ways_the_one_that_is_in_all_together(tmp_path):
    """Fault: switching tuning off saves more and is not in it, so that tuning is in no sum at all."""
    off = stack.load(STACK).definition.ablations[0]
    arms = {
        "autotuning-kept": Arm(cold=lognormal(1.5, 0.01), warm=0.02),
        "autotuning-off": Arm(cold=lognormal(0.1, 0.01), warm=0.02),
    }
    names = "same-shape-again,autotuning-kept,autotuning-off"
    done = tuned(tmp_path, ablations=(KEPT, off), others=arms, names=names)
    assert done.cell.together.ablation.takes_out == "same shape again, autotuning kept"
    # 2.72 together, less 2.72 and 1.3 alone.
    assert done.cell.interaction.centre == pytest.approx(-1.3, abs=0.2)


@pytest.mark.parametrize("broken", ["autotuning-kept", "second-shape-once-tuned"])
def test_an_arm_that_is_not_usable_is_said_and_takes_no_account_with_it(tmp_path, broken):
    """Fault: samples of the one are blamed for the other, or the cell has no account at all."""
    wrong = Arm(cold=0.1, ratios={"rows": 90.0, "last": 90.0, "scalar": 90.0})
    done = tuned(tmp_path, others={broken: wrong})
    assert done.cell.account.steps.keys() == {"first", "shape", "anew"}
    further = next(each for each in done.cell.effects if each.ablation.over)
    named = "samples of autotuning kept" if broken == "autotuning-kept" else "its samples"
    assert further.saved is None and further.count.status == "wrong_result"
    assert further.lacks == f"{named} are not usable: wrong_result"


def test_naming_what_goes_beyond_another_names_that_other_one(tmp_path):
    """Fault: an arm that is told beside one that was not measured."""
    done = tuned(tmp_path, names="second-shape-once-tuned")
    names = [each.name for each in done.explanation.experiment.arms]
    assert names == ["unablated", "autotuning kept", "second shape once tuned"]
    assert done.cell.account.explained.low > 0.97


def test_a_log_alone_is_not_proven(tmp_path):
    """Fault: candidates are logged, so tuning is the cause, although switching it off changes nothing."""
    slow = Arm(cold=lognormal(6.1, 0.01), said=TUNING)
    arms = {"unablated": slow, "autotuning-off": Arm(cold=lognormal(6.1, 0.01))}
    done = explained(tmp_path, arms, targets="XLA_GPU", ablations="autotuning-off")
    [effect] = done.cell.effects
    assert effect.seen_before == 25 and effect.lacks == "its interval holds 0"
    assert not done.entry("autotuning").proven


def test_other_arithmetic_is_said(tmp_path):
    """Fault: a remedy looks quick because it multiplies with fewer bits."""
    exact = {"rows": 0.2, "last": 0.1, "scalar": 0.1}
    arms = {
        "unablated": Arm(said=TUNING, cold=1.0, ratios=exact),
        "autotuning-off": Arm(cold=0.1, ratios={"rows": 1e-3, "last": 1e-3, "scalar": 1e-3}),
    }
    done = explained(tmp_path, arms, targets="XLA_GPU", ablations="autotuning-off")
    assert done.cell.effects[0].arithmetic in ("same", "other rounding")  # both well within float32


def test_the_same_samples_make_the_same_sheet(tmp_path):
    """Fault: what collect derives is not what was printed, or the arms are listed as runs of their own."""
    done = explained(tmp_path, {})
    kept = {name: (done.folder / name).read_bytes() for name in (explaining.JSON, explaining.MARKDOWN)}
    texts: list[str] = []
    assert collecting.collect_all([done.folder], None, texts.append) is Exit.DONE
    assert texts == [done.text]
    assert collecting.collect_all([tmp_path], None, texts.append) is Exit.DONE
    assert f"{done.folder.relative_to(tmp_path)}: explain" in texts[1]
    assert "Runs" not in texts[1]
    assert kept == {name: (done.folder / name).read_bytes() for name in kept}


def test_every_arm_is_in_every_block(tmp_path):
    """Fault: an ablation is measured after the others, so that drift of the machine is taken for its effect."""
    done = explained(tmp_path, {}, samples="3")
    order = [
        (done.explanation.experiment.arms[number].name, sample)
        for number, sample in done.explanation.experiment.order
        if sample.startswith("prepared")
    ]
    many = len(done.explanation.experiment.arms)
    blocks = [{name for name, _ in order[begin : begin + many]} for begin in range(0, len(order), many)]
    assert blocks == [{each.name for each in done.explanation.experiment.arms}] * 3
    assert [name for name, _ in order[:many]] != [name for name, _ in order[many : 2 * many]]


def test_what_ablations_names_is_all_that_is_measured(tmp_path):
    """Fault: a third of a GPU's minutes goes to plain targets that nobody asked for, in shares that fit no arm."""
    done = explained(
        tmp_path, {}, targets="XLA_GPU", ablations="autotuning-off,plain-gpu", samples="2", budget="900"
    )
    arms = done.explanation.experiment.arms
    assert [each.name for each in arms] == ["unablated", "autotuning off", "plain GPU"]
    plans = {name: run.plan for name, run in done.explanation.runs.items()}
    assert sum(each.budget_s for each in plans.values()) == pytest.approx(900)
    per_sample = {round(each.budget_s / len(each.planned), 6) for each in plans.values()}
    assert len(per_sample) == 1
    with pytest.raises(SuiteError, match="is none of .*plain-gpu"):
        explained(tmp_path, {}, targets="XLA_GPU", ablations="plain-tpu")
