# SPDX-License-Identifier: Apache-2.0
"""RESUME= of ``compare``: cut anywhere, it is finished in the order that was planned, or refused for what changed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal

import pytest

from suite import compare, journal, resume, resume_compare, rows, selftest
from suite.collect import COMPARISON
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT
from tests.comparing import CPU, LATER, NEW, OLD, model, played, stacks, stored, together
from tests.resuming import IDENTITY, change, cut, files, lines
from tests.synthetic import RECORDING, Synthetic

#: Three stacks, a probe and a pilot each, then three blocks of a prepared and a fresh sample of each.
ASKED = {"stacks": f"{OLD} {NEW} {LATER}", "samples": "3"}
PLANNED = 3 * (2 + 3 * 2)


@pytest.fixture(scope="module")
def folder_of_stacks(tmp_path_factory):
    return stacks(tmp_path_factory.mktemp("docker"))


def by_stack():
    return {
        OLD: Synthetic({CPU: model()}, seed=1),
        NEW: Synthetic({CPU: model(cold_s=0.10)}, seed=2),
        LATER: Synthetic({CPU: model(warm_s=1e-4)}, seed=3),
    }


@pytest.fixture(scope="module")
def uncut(tmp_path_factory, folder_of_stacks):
    return together(tmp_path_factory.mktemp("uncut"), folder_of_stacks, by_stack(), **ASKED)


@pytest.fixture
def folder(uncut, tmp_path):
    to = tmp_path / "compare" / uncut.folder.name
    shutil.copytree(uncut.folder, to)
    return to


def go_on(folder, folder_of_stacks, synthetic=None, **given):
    printed: list[str] = []
    with played(synthetic or by_stack()):
        code, kept = compare.run(
            {"resume": str(folder), **given},
            {},
            ["compare"],
            printed.append,
            recording=RECORDING,
            stacks=folder_of_stacks,
        )
    assert kept == folder
    return code, "".join(printed)


def cut_after(folder, steps: int, torn: int = 0) -> None:
    """Leave of each arm what was journaled when the first ``steps`` of the planned order had ended."""
    order = selftest.read(folder).order
    left = {0: 0, 1: 0, 2: 0}
    for number, _ in order[:steps]:
        left[number] += 1
    for number, name in enumerate((OLD, NEW, LATER)):
        in_flight = torn and steps < len(order) and order[steps][0] == number
        cut(folder / name, left[number], torn if in_flight else 0)
    for path in folder.glob("table.*"):
        path.unlink()


@pytest.mark.parametrize("torn", [0, 200])
@pytest.mark.parametrize("steps", [0, 1, 3, 5, 6, 7, 13, PLANNED - 1])
def test_a_comparison_cut_anywhere_is_finished(uncut, folder, folder_of_stacks, steps, torn):
    """Fault: a sample is lost or taken twice, an arm stays short of its blocks, or another order is taken."""
    assert len(selftest.read(folder).order) == PLANNED
    before_judging = (folder / COMPARISON).read_bytes()
    cut_after(folder, steps, torn)
    synthetic = by_stack()
    code, text = go_on(folder, folder_of_stacks, synthetic)
    assert code is uncut.code and "PARTIAL" not in text
    assert (folder / COMPARISON).read_bytes() == before_judging
    for number, name in enumerate((OLD, NEW, LATER)):
        run, (samples, notes) = journal.read_run(folder / name), journal.read_samples(folder / name)
        assert notes == [] and rows.missing(run, samples) == 0
        assert {sample.session for sample in samples} <= {0, 1}
        planned = [each for each in samples if ".session-" not in each.id]
        assert len({each.id for each in samples}) == len(samples) and len(planned) == PLANNED / 3
        taken = [name for place, name in selftest.read(folder).order[steps:] if place == number]
        assert [each.id for each in planned if each.session == 1] == taken
    # The same seed and sample are the same times, whenever they are taken.
    for now, then in zip(compare.derive(folder)[1].judged, uncut.compared.judged, strict=True):
        assert (now.arm, now.quantity, now.verdict.word) == (then.arm, then.quantity, then.verdict.word)
        if then.verdict.ratio:
            assert now.verdict.ratio.centre == pytest.approx(then.verdict.ratio.centre, rel=1e-6)
    assert "measured in 2 sessions (RESUME=)" in " ".join(text.split()) or steps == 0


def test_a_complete_comparison_gains_nothing_but_probes(uncut, folder, folder_of_stacks):
    """Fault: RESUME= of a complete comparison measures again what it has."""
    before = {name: lines(folder / name) for name in (OLD, NEW, LATER)}
    code, _ = go_on(folder, folder_of_stacks)
    assert code is uncut.code
    for name, had in before.items():
        assert lines(folder / name)[: len(had)] == had
        assert [each["id"] for each in lines(folder / name)[len(had) :]] == ["probe.session-1"]


def test_all_arms_share_one_session(folder, folder_of_stacks):
    """Fault: an arm that was cut before its first sample calls the second session its first."""
    cut_after(folder, 2)
    go_on(folder, folder_of_stacks)
    cut(folder / LATER, 0)
    earlier = resume_compare.read(folder, {})
    assert {arm.session for arm in earlier.arms} == {2}


@pytest.mark.parametrize("number", [1, 5, 12])
def test_ctrl_c_says_how_to_go_on(tmp_path, folder_of_stacks, uncut, capsys, number):
    """Fault: whoever pressed Ctrl-C must look for the folder; or a folder's name breaks the command."""
    count = [0]

    def pressed(name, environment):
        count[0] += 1
        if count[0] == number:
            os.kill(os.getpid(), signal.SIGINT)

    synthetic = by_stack()
    for each in synthetic.values():
        each.started = pressed
    ended = together(tmp_path / "d'été & 2", folder_of_stacks, synthetic, **ASKED)
    assert ended.code is Exit.INTERRUPTED and "PARTIAL" in ended.text
    [command] = [line for line in capsys.readouterr().err.splitlines() if "RESUME=" in line]
    words = shlex.split(command)
    assert words[:2] == ["make", "compare"] and words[2] == f"RESUME={ended.folder}"
    code, text = go_on(ended.folder, folder_of_stacks)
    assert code is uncut.code and "PARTIAL" not in text


@pytest.mark.parametrize("arm", [OLD, LATER])
@pytest.mark.parametrize(("path", "value", "said"), IDENTITY, ids=[".".join(each[0]) for each in IDENTITY])
def test_nothing_is_measured_where_any_arm_has_changed(folder, folder_of_stacks, path, value, said, arm):
    """Fault: the first stacks are gone on with before the change of the last one is seen; or it is passed over."""
    cut_after(folder, 9, 40)
    change(folder / arm, *path, to=value)
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder, folder_of_stacks)
    assert caught.value.exit_code is Exit.NOT_PREPARED and f"{said}: " in caught.value.what
    assert journal.read_run(folder / arm).run_id in caught.value.what
    assert files(folder) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("stacks", f"{OLD} {NEW}"), ("runs", "x"), ("baseline", NEW), ("margin", "10%"), ("allow", "threads")),
        *(("samples", "4"), ("shapes", "100"), ("targets", "XLA_CPU"), ("level", "process"), ("budget", "60")),
        *(("engine", "docker"), ("profile", "full"), ("gpu", "1")),
    ],
)
def test_a_word_that_contradicts_the_plan_is_named(folder, folder_of_stacks, name, value):
    """Fault: RESUME= SHAPES=100 is read as either of the two, and the other is passed over in silence."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder, folder_of_stacks, **{name: value})
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what.startswith(f"{name.upper()}={value}: the plan of {folder} has ")
    assert files(folder) == before


@pytest.mark.parametrize(
    "given",
    [
        {"stacks": f"{OLD},{NEW}, {LATER}"},
        {"samples": "3", "shapes": "50 50", "level": "jit", "baseline": OLD, "margin": "5%"},
        {"format": "csv", "layout": "long", "fail_on": "none", "out": "/nowhere", "engine": "replay"},
    ],
)
def test_a_word_that_says_the_same_is_taken(folder, given):
    """Fault: the command that began a comparison is refused when RESUME= is put behind it."""
    assert resume_compare.read(folder, given).folder == folder


def test_fail_on_and_format_are_those_of_this_command(folder, folder_of_stacks):
    """Fault: FORMAT= and FAIL_ON= beside RESUME= are passed over."""
    code, text = go_on(folder, folder_of_stacks, fail_on="none", format="csv")
    assert code is Exit.DONE and text == (folder / "table.csv").read_text()


def test_what_cannot_be_gone_on_with_is_refused(folder, tmp_path, folder_of_stacks):
    """Fault: a traceback, or something measured, for what RESUME= cannot finish."""
    ended = stored(tmp_path / "stored", folder / OLD, folder / NEW)
    other = tmp_path / "selftest"
    shutil.copytree(folder, other)
    change_comparison(other, kind="selftest")
    shorter = tmp_path / "shorter"
    shutil.copytree(folder, shorter)
    change_comparison(shorter, order=json.loads((folder / COMPARISON).read_text())["order"][:-1])
    without = tmp_path / "without"
    shutil.copytree(folder, without)
    (without / NEW / journal.RUN).unlink()
    cases = {
        ended.folder: "it compares stored runs",
        other: "only a comparison of stacks",
        shorter: "its order is not that of the plan of",
        without: "No such file or directory",
        folder / OLD: "No such file or directory",
        tmp_path / "nowhere": "No such file or directory",
    }
    for where, why in cases.items():
        with pytest.raises(SuiteError) as caught:
            go_on(where, folder_of_stacks)
        assert caught.value.exit_code is Exit.USAGE, where
        assert caught.value.what.startswith(f"RESUME={where}: ") and why in caught.value.what


def change_comparison(folder, **fields) -> None:
    path = folder / COMPARISON
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_an_arm_alone_points_to_the_comparison(folder):
    """Fault: an arm is finished by itself, block by block of nothing."""
    with pytest.raises(SuiteError) as caught:
        resume.read(folder / NEW, {})
    assert caught.value.next_step == f"make compare RESUME={folder}"


def test_a_comparison_that_is_being_measured_is_left_alone(folder, folder_of_stacks):
    """Fault: two processes measure into one comparison."""
    cut_after(folder, 9)
    held = journal.Journal(folder / NEW)
    before = files(folder)
    try:
        with pytest.raises(SuiteError) as caught:
            go_on(folder, folder_of_stacks)
        assert caught.value.exit_code is Exit.NOT_PREPARED
        assert "another process is measuring into this run" in caught.value.what
    finally:
        held.close()
    assert files(folder) == before
    go_on(folder, folder_of_stacks)


def test_what_another_session_took_meanwhile_is_not_taken_again(folder, folder_of_stacks, monkeypatch):
    """Fault: a comparison that was read while its last session was still measuring gets those samples twice."""
    cut_after(folder, 9)
    read = resume_compare.read

    def late(*given):
        found = read(*given)
        monkeypatch.setattr(resume_compare, "read", read)
        go_on(folder, folder_of_stacks)
        return found

    monkeypatch.setattr(resume_compare, "read", late)
    go_on(folder, folder_of_stacks)
    for name in (OLD, NEW, LATER):
        ids = [each["id"] for each in lines(folder / name)]
        assert len(ids) == len(set(ids)) == PLANNED / 3 + (2 if ids[-1] == "probe.session-2" else 1)


def test_a_folder_is_found_by_a_relative_path(folder, folder_of_stacks, monkeypatch):
    """Fault: the path that the message names is below this folder, and workers run in another."""
    cut_after(folder, 9)
    monkeypatch.chdir(folder.parent.parent)
    with played(by_stack()):
        _, kept = compare.run(
            {"resume": f"compare/{folder.name}"},
            {},
            [],
            lambda _: None,
            recording=RECORDING,
            stacks=folder_of_stacks,
        )
    assert kept == folder and "PARTIAL" not in (folder / "table.md").read_text()


def test_the_page_tells_of_it():
    """Fault: nobody knows that a comparison can be finished."""
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    assert "make compare RESUME=" in page
