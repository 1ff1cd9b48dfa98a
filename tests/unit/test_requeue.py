# SPDX-License-Identifier: Apache-2.0
"""Which samples are taken again: the tagged ones, a few, beside the planned ones and never in their place."""

from __future__ import annotations

import msgspec
import pytest

from suite import requeue
from suite.records import Plan, Planned, Sample


def a_plan(samples: int = 3) -> Plan:
    return Plan("quick", ["CPU"], [], [50], samples, 10, 0.5, 600.0, 300.0, 1, 2, [], [])


def sample(
    number: int, tags=("contended",), kind="prepared", cell="CPU.device.50", status="ok", again=""
) -> Sample:
    planned = f"{kind}.{cell}.{number}"
    name, of = (f"{planned}.again.{again}", planned) if again else (planned, "")
    return Sample(name, kind, cell, number, number, "2024-01-01", status, tags=list(tags), again=of)


def ids(plan: Plan, samples) -> list[str]:
    return [planned.id for planned in requeue.additions(plan, samples)]


def test_a_tagged_sample_is_taken_again_once():
    """Fault: nobody repeats what a neighbour disturbed, or it is repeated until it looks right."""
    [added] = requeue.additions(a_plan(), [sample(1, ()), sample(2), sample(3, ())])
    assert added == Planned("prepared.CPU.device.50.2.again.1", "prepared", "CPU.device.50", 2)
    assert requeue.repeats(added) == "prepared.CPU.device.50.2"
    taken = msgspec.structs.replace(sample(2), id=added.id, again=requeue.repeats(added))
    assert ids(a_plan(), [sample(1, ()), sample(2), sample(3, ()), taken]) == []


def test_nothing_tagged_adds_nothing():
    """Fault: samples are added to every run."""
    assert ids(a_plan(), [sample(k, ()) for k in (1, 2, 3)]) == [] == ids(a_plan(), [])


@pytest.mark.parametrize(
    ("samples", "wanted"), [(1, 1), (2, 1), (3, 1), (5, 1), (6, 2), (10, 3), (20, 6), (1000, 333)]
)
def test_at_most_a_third_is_taken_again(samples, wanted):
    """Fault: on a busy machine a run has no end; or with few samples none can be taken again."""
    assert requeue.most(samples) == wanted
    all_tagged = [sample(k) for k in range(1, samples + 1)]
    assert ids(a_plan(samples), all_tagged) == [
        f"prepared.CPU.device.50.{k}.again.1" for k in range(1, wanted + 1)
    ]


def test_each_cell_and_kind_has_its_own_room():
    """Fault: one noisy cell uses up what another may add."""
    samples = [
        *(sample(k) for k in (1, 2)),
        *(sample(k, kind="fresh") for k in (1, 2)),
        *(sample(k, cell="GPU.device.50") for k in (1, 2)),
    ]
    assert ids(a_plan(), samples) == [
        "prepared.CPU.device.50.1.again.1",
        "fresh.CPU.device.50.1.again.1",
        "prepared.GPU.device.50.1.again.1",
    ]


def test_what_was_added_in_an_earlier_session_counts():
    """Fault: every RESUME= adds a third anew."""
    planned = [sample(1), sample(2), sample(3)]
    added = sample(1, again="1")
    assert ids(a_plan(), [*planned, added]) == [] == ids(a_plan(), [added, *planned])
    # With room for two the second is another sample, and the first is not taken a third time.
    six = [sample(k) for k in range(1, 7)]
    assert ids(a_plan(6), [*six, added]) == ["prepared.CPU.device.50.2.again.1"]


def test_an_added_sample_that_is_tagged_itself_is_not_repeated():
    """Fault: repeats of repeats."""
    assert ids(a_plan(9), [sample(1), sample(1, again="1")]) == []


@pytest.mark.parametrize("kind", ["probe", "pilot", "priming", "reproduce"])
def test_only_what_is_counted_is_taken_again(kind):
    """Fault: a pilot, which enters no figure, is repeated."""
    assert ids(a_plan(), [sample(1, kind=kind)]) == []


@pytest.mark.parametrize("status", ["crashed", "timeout", "not_cold", "interrupted", "unavailable"])
def test_a_sample_that_failed_is_not_taken_again(status):
    """Fault: a failure is repeated until it goes away."""
    assert ids(a_plan(), [sample(1, status=status)]) == []


@pytest.mark.parametrize(
    ("tags", "again"),
    [
        (("throttled: power",), False),
        (("throttled: power", "contended"), True),
        (("throttled: thermal",), True),
        (("idle_clock",), True),
    ],
)
def test_what_would_be_there_again_is_not_repeated(tags, again):
    """Fault: a chip at its power limit, which it will be in every sample, costs a third of a run more."""
    assert bool(ids(a_plan(), [sample(1, tags)])) is again


def test_the_order_is_that_of_the_tagged_ones():
    """Fault: another order in another session, so that budgets cut others off."""
    samples = [sample(k) for k in (5, 2, 9)]
    assert ids(a_plan(9), samples) == [f"prepared.CPU.device.50.{k}.again.1" for k in (5, 2, 9)]


def test_a_planned_id_repeats_itself():
    """Fault: an id without a mark is cut somewhere else."""
    planned = Planned("prepared.CPU.device.50.2", "prepared", "CPU.device.50", 2)
    assert requeue.repeats(planned) == planned.id
