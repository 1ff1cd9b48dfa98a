# SPDX-License-Identifier: Apache-2.0
"""The reproduce protocol's rows, its verdict by the rule, and what it says of the numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from suite import pair_tables, pairs, plan, stack
from suite.question import question
from suite.records import PASSES, Interval, Pair, Plan, Planned, Reason, Run, Sample

SIZES = [50, 10000, 15000]
TARGETS = ["CPU", "XLA_GPU", "GPU", "XLA_CPU"]
#: First and rerun seconds of the question's own machine, and a GPU beside it.
SLOW_FIRST = {"CPU": (0.01, 0.02), "XLA_GPU": (90.0, 5.0), "GPU": (0.3, 0.2), "XLA_CPU": (0.06, 0.05)}


def run(repeats: int = 1, by_name: bool = False) -> Run:
    tf114 = stack.load("tf1.14-cuda10")
    cells = plan.cells(
        tf114,
        TARGETS,
        "device",
        SIZES,
        dtype="float32",
        precision="default",
        level="jit",
        python="3.6",
        engine="x",
    )
    planned = [Planned("probe", "probe", "", 0)]
    planned += [Planned(f"reproduce.{k}", "reproduce", "", k) for k in range(1, repeats + 1)]
    return Run(
        run_id="20261202T000000Z-abcdef",
        created_utc="2026-12-02T00:00:00Z",
        command=["reproduce"],
        coldwarm={},
        stack={"name": tf114.name, "title": "t", "definition": msgspec.to_builtins(tf114.definition)},
        environment={"python_version": "3.6.15"},
        engine={"name": "x", "why": "a test"},
        host={
            "cpu_model": "C",
            "effective_cpus": 2.0,
            "nvidia": {"present": False, "why": "no driver", "gpus": []},
        },
        worker_environment={},
        plan=Plan(
            "reproduce",
            TARGETS,
            TARGETS if by_name else [],
            SIZES,
            repeats,
            0,
            0.0,
            600,
            300,
            0,
            0,
            cells,
            planned,
        ),
        protocol="reproduce",
    )


def sample(number: int = 1, times: dict[str, tuple[float, float]] | None = None, **changes: Any) -> Sample:
    found = SLOW_FIRST if times is None else times
    told = [
        Pair(
            which,
            f"/device:{target}:0",
            n,
            "ok",
            taken_s=found[target][k],
            scalar=1.0,
            compiles=3 if "XLA" in target else 0,
        )
        for k, which in enumerate(PASSES)
        for target in TARGETS
        if target in found
        for n in SIZES
    ]
    values: dict[str, Any] = {
        "id": f"reproduce.{number}",
        "kind": "reproduce",
        "cell": "",
        "block": number,
        "order": number,
        "started_utc": "2026-12-02T00:00:00.0Z",
        "status": "ok",
        "pairs": told,
        "phases": [Interval("import", 0.0, 0.8), Interval("first_pass", 1.0, 9.0)],
        "devices": [f"/device:{target}:0" for target in found],
    }
    return Sample(**{**values, **changes})


def judged(*samples: Sample, repeats: int = 1) -> pairs.Verdict:
    return pairs.verdict(pairs.rows(run(repeats), list(samples), question()), question())


def test_the_question_itself_reproduces_the_question():
    """Fault: a rule that its own numbers do not meet, or a digit lost on the way into the data."""
    asked = question()
    times = {target: asked.asked(target, 15000) for target in ("CPU", "XLA_GPU")}
    found = judged(sample(times={name: each for name, each in times.items() if each}))
    assert found.kind == "reproduced"
    assert "17.7 at 15000" in found.text and "0.861 at 15000" in found.text
    assert asked.shapes() == [50, 100, 500, 1000, 10000, 15000]
    assert asked.asked("GPU", 50) is None and asked.asked("XLA_GPU", 51) is None


def test_a_quick_first_pass_is_not_reproduced_and_that_is_valid():
    """Fault: a verdict that knows only yes."""
    assert judged(sample(times={**SLOW_FIRST, "XLA_GPU": (0.3, 0.2)})).kind == "not_reproduced"


def test_a_cpu_that_is_slow_at_first_too_is_not_reproduced():
    """Fault: a disk or a swapped-out machine makes every first pass slow, and the GPU is blamed."""
    assert judged(sample(times={**SLOW_FIRST, "CPU": (9.0, 1.0)})).kind == "not_reproduced"


def test_without_the_device_it_cannot_be_tested():
    """Fault: a machine without a GPU says that the question is not reproduced."""
    unavailable = [
        Pair(which, f"/device:{t}:0", n, "unavailable")
        for which in PASSES
        for t in ("XLA_GPU", "GPU")
        for n in SIZES
    ]
    here = sample(times={"CPU": (1.0, 1.0), "XLA_CPU": (2.0, 1.0)})
    here = msgspec.structs.replace(here, pairs=[*here.pairs, *unavailable])
    found = judged(here)
    assert found.kind == "cannot_be_tested" and "no XLA_GPU: the framework sees CPU:0, XLA_CPU:0" in found.text
    text = pair_tables.text(run(), [here])
    assert "CANNOT BE TESTED HERE" in text and "What XLA_CPU shows instead of XLA_GPU" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_what_was_over_budget_has_a_row_and_its_reason():
    """Fault: a size that did not fit is silently cut, or counted as a failure."""
    here = sample()
    kept = [each for each in here.pairs if each.n != 15000]
    cut = [
        Pair(w, f"/device:{t}:0", 15000, "over_budget", reason="about 60 s, 3 s left")
        for w in PASSES
        for t in TARGETS
    ]
    here = msgspec.structs.replace(here, pairs=kept + cut)
    rows = {(row.cell.target, row.cell.n): row for row in pairs.rows(run(), [here], question())}
    assert rows["CPU", 15000].status == "over_budget" and rows["CPU", 15000].reason == "about 60 s, 3 s left"
    assert rows["CPU", 10000].status == "ok"
    assert judged(here).kind == "cannot_be_tested"


def test_what_was_cut_off_keeps_the_pairs_before_it():
    """Fault: a process that was killed in its rerun loses its first pass, or shows half a ratio."""
    here = sample()
    half = [each for each in here.pairs if each.which == "first" or each.n == 50]
    here = msgspec.structs.replace(here, pairs=half, status="interrupted", reason=Reason("interrupted", "Ctrl-C"))
    rows = {(row.cell.target, row.cell.n): row for row in pairs.rows(run(), [here], question())}
    assert rows["CPU", 50].status == "ok" and rows["CPU", 50].ratio is not None
    assert rows["CPU", 15000].status == "interrupted" and rows["CPU", 15000].ratio is None
    assert "Time taken" in pair_tables.text(run(), [here])


def test_repeats_give_an_interval_and_one_process_none():
    """Fault: an interval from one process, or five processes pooled into one number."""
    one = pairs.rows(run(), [sample()], question())[0]
    assert one.ratio and one.ratio.low is None
    slower = {name: (2 * first, rerun) for name, (first, rerun) in SLOW_FIRST.items()}
    two = pairs.rows(run(2), [sample(), sample(2, slower)], question())[0]
    assert two.ratio and two.ratio.low is not None and two.ratio.n == 2
    assert two.ratio.centre == pytest.approx(0.5 * 2**0.5)


def test_a_missing_process_is_said():
    """Fault: REPEATS=2 interrupted after the first shows a whole run."""
    assert {row.status for row in pairs.rows(run(2), [sample()], question())} == {"interrupted"}


def test_lessons_follow_from_the_numbers():
    """Fault: a text that is printed whatever was measured."""
    rows = pairs.rows(run(), [sample()], question())
    text = " ".join(pairs.lessons(run(), [sample()], rows))
    assert "800 ms went by before" in text
    assert "9 compiles in the first pass over 3 shapes and 9 in the rerun" in text
    assert "GPU:0 runs kernels" in text and "What XLA_CPU shows instead" not in text
    none = msgspec.structs.replace(sample(), pairs=[])
    assert pairs.lessons(run(), [none], pairs.rows(run(), [none], question())) == []
