# SPDX-License-Identifier: Apache-2.0
"""``compare``: runs that cannot be used and words that make no sense are refused with their reason."""

from __future__ import annotations

import json
import shlex

import pytest

from suite import compare, journal
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT
from tests.comparing import (
    LATER,
    NEW,
    OLD,
    copied,
    stacks,
    stored,
    three_runs,
)
from tests.synthetic import RECORDING


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, folder):
    return three_runs(tmp_path_factory.mktemp("runs"), folder)


def _newer(path):
    run = json.loads((path / journal.RUN).read_text())
    (path / journal.RUN).write_text(json.dumps({**run, "schema": 99}))


def _truncated(path):
    data = (path / journal.RUN).read_bytes()
    (path / journal.RUN).write_bytes(data[: len(data) // 2])


def _nan(path):
    text = (path / journal.RUN).read_text()
    (path / journal.RUN).write_text(text.replace('"budget_s": 600.0', '"budget_s": NaN'))


def _of_reproduce(path):
    run = json.loads((path / journal.RUN).read_text())
    (path / journal.RUN).write_text(json.dumps({**run, "protocol": "reproduce"}))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(_newer, "a newer coldwarm wrote it"), (_truncated, "not JSON"), (_nan, "NaN"), (_of_reproduce, "reproduce")],
)
def test_a_damaged_run_is_refused_with_its_reason(tmp_path, runs, capsys, damage, reason):
    """Fault: half a file is read as a run, or a newer format as if it were this one."""
    other = copied(runs[1], tmp_path / "tree" / "other", lambda fields: None)
    damage(other)
    with pytest.raises(SuiteError) as caught:
        stored(tmp_path, runs[0], other)
    assert caught.value.exit_code is Exit.IMPOSSIBLE and reason in caught.value.what
    assert str(other) in caught.value.what
    # Below a folder that was named it is listed, and stops nothing.
    for index, run in enumerate(runs[:2]):
        copied(run, tmp_path / "tree" / f"good{index}", lambda fields: None, f"20260101T00000{index}Z-abcdef")
    ended = stored(tmp_path, tmp_path / "tree", fail_on="none")
    assert len(ended.compared.arms) == 2 and ended.code is Exit.CELLS_FAILED
    said = " ".join(capsys.readouterr().err.split())
    assert "not used:" in said and reason in said


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stacks": f"{OLD} {NEW}", "runs": "x"},
        {"stacks": OLD},
        {"stacks": f"{OLD} {OLD}"},
        {"stacks": f"{OLD} tf0.1"},
        {"stacks": f"{OLD} {NEW}", "baseline": LATER},
        {"stacks": f"{OLD} {NEW}", "allow": "weather"},
        {"stacks": f"{OLD} {NEW}", "margin": "-1"},
        {"stacks": f"{OLD} {NEW}", "margin": "much"},
        {"stacks": f"{OLD} {NEW}", "margin": "nan"},
        {"stacks": f"{OLD} {NEW}", "fail_on": "rain"},
        {"stacks": f"{OLD} {NEW}", "format": "pdf"},
        {"stacks": f"{OLD} {NEW}", "layout": "round"},
        {"runs": "there/is no/such"},
        {"runs": "'open"},
        {"runs": str(ROOT / "results"), "samples": "3"},
    ],
)
def test_words_that_make_no_sense_are_usage(tmp_path, folder, given):
    """Fault: a word that is passed over, so that something else is compared than was asked for."""
    with pytest.raises(SuiteError) as caught:
        compare.run({**given, "out": str(tmp_path)}, {}, [], print, stacks=folder, recording=RECORDING)
    assert caught.value.exit_code is Exit.USAGE
    assert list(tmp_path.iterdir()) == []


def test_the_same_run_twice_is_no_comparison(tmp_path, runs):
    """Fault: a run beside a copy of itself is SAME, to the last digit."""
    copy = copied(runs[0], tmp_path / "copy", lambda fields: None, runs[0].name)
    with pytest.raises(SuiteError) as caught:
        stored(tmp_path, runs[0], copy)
    assert caught.value.exit_code is Exit.USAGE and "a second time" in caught.value.what


def test_folders_with_spaces_in_their_names(tmp_path, runs):
    """Fault: results of a project whose folder has a space in its name cannot be compared."""
    first, second = (
        copied(run, tmp_path / f"my results {place}", lambda fields: None, f"20260101T00000{place}Z-abcdef")
        for place, run in enumerate(runs[:2])
    )
    asked = {"runs": f"{shlex.quote(str(first))} {shlex.quote(str(second))}", "out": str(tmp_path / "out")}
    code, _ = compare.run(asked, {}, [], lambda text: None)
    assert code is Exit.SLOWER


def test_a_run_of_one_stack_is_pointed_to_selftest(tmp_path, folder):
    """Fault: one stack twice is refused without saying what does that."""
    with pytest.raises(SuiteError) as caught:
        compare.run({"stacks": OLD, "out": str(tmp_path)}, {}, [], print, stacks=folder)
    assert "selftest" in caught.value.next_step
