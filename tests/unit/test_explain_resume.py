# SPDX-License-Identifier: Apache-2.0
"""RESUME= of ``explain``: ended anywhere, it is finished to the same arms and blocks, or refused for what changed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suite import journal, resume, rows
from suite.errors import SuiteError
from suite.exits import Exit
from suite.explain import record
from suite.explain import resume as explain_resume
from suite.explain import run as explaining
from suite.records import SCHEMA
from suite.stack import ROOT
from tests.explaining import Arm, ByArm, explained
from tests.resuming import IDENTITY, change, cut, files, lines
from tests.synthetic import RECORDING, STACK, in_place, lognormal

ARMS = {"unablated": Arm(cold=lognormal(0.5, 0.01)), "second-shape": Arm(cold=lognormal(0.06, 0.01))}
#: Two arms beside the cell itself ("second shape" and plain CPU), three blocks.
ASKED = {"ablations": "second-shape,plain-cpu", "samples": "3"}
FOLDERS = ("unablated", "second-shape", "plain-CPU")


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    return explained(tmp_path_factory.mktemp("uncut"), ARMS, **ASKED)


@pytest.fixture
def folder(uncut, tmp_path):
    to = tmp_path / "explain" / uncut.folder.name
    shutil.copytree(uncut.folder, to)
    return to


def go_on(folder, started=None, **given):
    printed: list[str] = []
    with in_place(ByArm(arms=ARMS, started=started)):
        code, kept = explaining.run(
            {"resume": str(folder), **given}, {}, ["explain"], printed.append, recording=RECORDING
        )
    assert kept == folder
    return code, "".join(printed)


def cut_after(folder, steps: int, torn: int = 0) -> None:
    """Leave of each arm what was journaled when the first ``steps`` of the planned order had ended."""
    order = record.read(folder).order
    for number, name in enumerate(FOLDERS):
        in_flight = torn and steps < len(order) and order[steps][0] == number
        cut(folder / name, sum(1 for place, _ in order[:steps] if place == number), torn if in_flight else 0)
    for name in (explaining.JSON, explaining.MARKDOWN):
        (folder / name).unlink()


def check_whole(folder) -> None:
    """Every planned sample of every arm is there once, and beside them only probes of later sessions."""
    experiment = record.read(folder)
    assert [each.folder for each in experiment.arms] == list(FOLDERS)
    for number, name in enumerate(FOLDERS):
        run, (samples, notes) = journal.read_run(folder / name), journal.read_samples(folder / name)
        assert notes == [] and rows.missing(run, samples) == 0
        ended = [each["id"] for each in lines(folder / name) if each["status"] != "interrupted"]
        assert len(ended) == len(set(ended)), "taken twice"
        planned = [each for each in ended if ".session-" not in each]
        assert planned == [sample for place, sample in experiment.order if place == number]


LENGTH = 1 + 2 + 3 * 5


@pytest.mark.parametrize("torn", [0, 200])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 9, LENGTH - 1])
def test_an_explanation_cut_anywhere_is_finished(uncut, folder, steps, torn):
    """Fault: a sample is lost or taken twice, an arm stays short of its blocks, or causes are told of other samples."""
    assert len(record.read(folder).order) == LENGTH
    before = (folder / journal.EXPERIMENT).read_bytes()
    cut_after(folder, steps, torn)
    code, text = go_on(folder)
    assert code is Exit.DONE and "PARTIAL" not in text
    assert (folder / journal.EXPERIMENT).read_bytes() == before
    check_whole(folder)
    # The same seed and sample are the same times, and so the same signs, whenever they are taken.
    _, found = explaining.derive(folder)
    for now, then in zip(found.cells[0].effects, uncut.cell.effects, strict=True):
        assert now.saved.centre == pytest.approx(then.saved.centre, rel=1e-6)
        assert (now.seen_before, now.seen_after, now.lacks) == (then.seen_before, then.seen_after, then.lacks)
    assert "measured in 2 sessions (RESUME=)" in " ".join(text.split()) or steps == 0


def test_a_complete_explanation_gains_nothing_but_a_probe(folder):
    """Fault: RESUME= of a complete explanation measures again what it has."""
    before = {name: lines(folder / name) for name in FOLDERS}
    assert go_on(folder)[0] is Exit.DONE
    gained = {name: [each["id"] for each in lines(folder / name)[len(had) :]] for name, had in before.items()}
    assert gained == {"unablated": ["probe.session-1"], "second-shape": [], "plain-CPU": []}


@pytest.mark.parametrize("number", [1, 3, 8])
def test_ctrl_c_says_how_to_go_on(tmp_path, capsys, number):
    """Fault: whoever pressed Ctrl-C must look for the folder; or the sample in flight stays interrupted."""
    count = [0]

    def pressed(name, environment):
        count[0] += 1
        if count[0] == number:
            os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "d'été & 2"
    given = {"stack": STACK, "targets": "XLA_CPU", "shapes": "500", "out": str(out), **ASKED}
    texts: list[str] = []
    with in_place(ByArm(arms=ARMS, started=pressed)):
        code, folder = explaining.run(given, {}, ["explain"], texts.append, recording=RECORDING)
    assert code is Exit.INTERRUPTED and "PARTIAL" in texts[0]
    [command] = [line for line in capsys.readouterr().err.splitlines() if "RESUME=" in line]
    assert shlex.split(command) == ["make", "explain", f"STACK={STACK}", f"RESUME={folder}"]
    code, text = go_on(folder)
    assert code is Exit.DONE and "PARTIAL" not in text
    check_whole(folder)


def test_a_full_disk_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    """Fault: an explanation that a full disk has ended is lost to whoever does not know its folder."""
    append, count = journal.Journal.append, [0]

    def full(log, sample):
        count[0] += 1
        if count[0] == 7:
            raise SuiteError(Exit.CELLS_FAILED, f"{log.folder}: No space left on device")
        append(log, sample)

    monkeypatch.setattr(journal.Journal, "append", full)
    with pytest.raises(SuiteError, match="No space left"):
        explained(tmp_path, ARMS, **ASKED)
    [command] = [line for line in capsys.readouterr().err.splitlines() if "RESUME=" in line]
    folder = Path(shlex.split(command)[-1].removeprefix("RESUME="))
    assert go_on(folder)[0] is Exit.DONE
    check_whole(folder)


def test_what_was_over_budget_stays_so(tmp_path):
    """Fault: RESUME= measures half of a plan that BUDGET had left out, beside cells that say over_budget."""
    done = explained(tmp_path, ARMS, **ASKED, budget="1")
    before = {name: lines(done.folder / name) for name in FOLDERS}
    assert {each["status"] for each in before["unablated"][1:]} == {"over_budget"}
    go_on(done.folder)
    check_whole(done.folder)
    assert lines(done.folder / "unablated")[:-1] == before["unablated"]


def test_what_a_kept_cache_holds_outlives_ctrl_c(tmp_path):
    """Fault: Ctrl-C empties the caches of an arm that keeps them, and RESUME= measures ``not_cold`` samples only."""
    arms = {"unablated": Arm(), "JIT-cache-kept": Arm()}
    count = [0]

    def started(name, environment):
        count[0] += 1
        if count[0] == 11:
            os.kill(os.getpid(), signal.SIGINT)
        if name.startswith("priming"):
            (Path(environment["CUDA_CACHE_PATH"]) / "compiled").write_text("kernel")

    given = {"stack": STACK, "targets": "XLA_GPU", "out": str(tmp_path), "samples": "3"}
    devices = [f"/device:{name}:0" for name in ("CPU", "GPU", "XLA_CPU", "XLA_GPU")]
    asked = {**given, "ablations": "jit-cache-kept"}
    for ended in (Exit.INTERRUPTED, Exit.DONE):
        with in_place(ByArm(arms=arms, started=started, devices=devices)):
            code, folder = explaining.run(asked, {}, ["explain"], lambda _: None, recording=RECORDING)
        assert code is ended
        asked = {"resume": str(folder)}
    samples, _ = journal.read_samples(folder / "jit-cache-kept")
    assert [each.status for each in samples] == ["ok"] * len(samples) and len(samples) == 1 + 3 + 3
    assert {each.session for each in samples} == {0, 1}
    assert not (folder / "jit-cache-kept" / "caches").exists()


#: Begins an explanation and is killed when its sixth or so process has started.
KILLED = """
import os, signal, sys
from pathlib import Path
from suite.explain import run as explaining
from tests.synthetic import RECORDING, in_place
from tests.unit.test_explain_resume import ARMS, ByArm

count = [0]
def started(name, environment):
    count[0] += 1
    if count[0] == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

with in_place(ByArm(arms=ARMS, started=started)):
    if sys.argv[1] == "begin":
        given = {"stack": "tf1.14-cuda10", "targets": "XLA_CPU", "out": sys.argv[2], "samples": "3"}
        given["ablations"] = "second-shape,plain-cpu"
    else:
        given = {"resume": sys.argv[2]}
    explaining.run(given, {}, ["explain"], print, recording=RECORDING)
"""


def test_an_explanation_that_is_killed_twice_is_finished(tmp_path):
    """Fault: SIGKILL loses more than the sample in flight, or leaves what RESUME= cannot finish."""

    def killed(what, where, number):
        command = [sys.executable, "-c", KILLED, what, str(where), str(number)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode

    assert killed("begin", tmp_path, 7) == -signal.SIGKILL
    [folder] = (tmp_path / "explain").iterdir()
    assert sum(len(lines(folder / name)) for name in FOLDERS) == 6
    assert killed("resume", folder, 5) == -signal.SIGKILL
    # Of the second session the probe, and three that were missing.
    assert sum(len(lines(folder / name)) for name in FOLDERS) == 10
    assert go_on(folder)[0] is Exit.DONE
    check_whole(folder)


@pytest.mark.parametrize("arm", ["unablated", "plain-CPU"])
@pytest.mark.parametrize(("path", "value", "said"), IDENTITY, ids=[".".join(each[0]) for each in IDENTITY])
def test_nothing_is_measured_where_any_arm_has_changed(folder, path, value, said, arm):
    """Fault: arms measured on two machines, or by two workers, are taken for one explanation."""
    cut_after(folder, 9, 40)
    change(folder / arm, *path, to=value)
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.NOT_PREPARED and f"{said}: " in caught.value.what
    assert journal.read_run(folder / arm).run_id in caught.value.what
    assert files(folder) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ablations", "same-shape-again"), ("samples", "4"), ("shapes", "100"), ("targets", "CPU")),
        *(("budget", "60"), ("engine", "docker"), ("gpu", "1"), ("precision", "ieee")),
    ],
)
def test_a_word_that_contradicts_the_plan_is_named(folder, name, value):
    """Fault: RESUME= ABLATIONS=... is read as either of the two, and the other is passed over in silence."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder, **{name: value})
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what.startswith(f"{name.upper()}={value}: the plan of {folder} has ")
    assert files(folder) == before


@pytest.mark.parametrize(
    "given",
    [
        {"stack": STACK, "ablations": "second-shape, plain-cpu", "out": "/nowhere"},
        {"samples": "3", "shapes": "500 500", "targets": "XLA_CPU", "budget": "3600", "engine": "replay"},
    ],
)
def test_a_word_that_says_the_same_is_taken(folder, given):
    """Fault: the command that began an explanation is refused when RESUME= is put behind it."""
    assert explain_resume.read(folder, given).folder == folder


def test_what_cannot_be_gone_on_with_is_refused(folder, tmp_path):
    """Fault: a traceback, or something measured, for what RESUME= cannot finish."""

    def changed(name, **fields):
        to = tmp_path / name
        shutil.copytree(folder, to)
        path = to / journal.EXPERIMENT
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
        return to

    without = changed("without")
    (without / "plain-CPU" / journal.RUN).unlink()
    cases = {
        changed("shorter", order=[list(each) for each in record.read(folder).order[:-1]]): "its order is not that",
        changed("wordless", words={}): "its words were not kept",
        changed("newer", schema=SCHEMA + 1): f"schema {SCHEMA + 1}; a newer coldwarm wrote it",
        without: "No such file or directory",
        folder / "unablated": "No such file or directory",
        tmp_path / "nowhere": "No such file or directory",
    }
    for where, why in cases.items():
        with pytest.raises(SuiteError) as caught:
            go_on(where)
        assert caught.value.exit_code is Exit.USAGE, where
        assert caught.value.what.startswith(f"RESUME={where}: ") and why in caught.value.what
    with pytest.raises(SuiteError) as caught:
        go_on(folder, stack="tf2.21-cuda12")
    assert caught.value.next_step == f"STACK={STACK}"


def test_an_arm_alone_points_to_the_explanation(folder):
    """Fault: an arm is finished by itself, block by block of nothing."""
    with pytest.raises(SuiteError) as caught:
        resume.read(folder / "second-shape", {})
    assert caught.value.next_step == f"make explain STACK={STACK} RESUME={folder}"


def test_an_explanation_that_is_being_measured_is_left_alone(folder):
    """Fault: two processes measure into one explanation."""
    cut_after(folder, 9)
    held = journal.Journal(folder / "second-shape")
    before = files(folder)
    try:
        with pytest.raises(SuiteError, match="another process is measuring into this run"):
            go_on(folder)
    finally:
        held.close()
    assert files(folder) == before
    go_on(folder)


def test_the_page_tells_of_it():
    """Fault: nobody knows that an explanation can be finished."""
    assert "make explain STACK=" in (page := (ROOT / "docs" / "explain.md").read_text(encoding="utf-8"))
    assert "RESUME=results/explain/" in page
