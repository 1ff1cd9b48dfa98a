# SPDX-License-Identifier: Apache-2.0
"""RESUME=: a run that was cut short anywhere is finished as if nothing had been."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from suite import collect, journal, measure, resume, rows, words
from suite.exits import Exit
from suite.replay import Replay
from tests.resuming import RECORDING, STACK, begin, copied, cut, go_on, lines


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    """A run that nothing has cut."""
    ended = begin(tmp_path_factory.mktemp("uncut"))
    assert ended.code is Exit.DONE
    return ended.folder


@pytest.fixture
def folder(uncut, tmp_path):
    """A copy of it."""
    return copied(uncut, tmp_path / STACK / uncut.name)


def check_whole(folder: Path, uncut: Path, kept: int) -> None:
    """Check that a run of which ``kept`` lines were left has become what the uncut run is."""
    run, samples, notes = collect.derive(folder)
    wanted, reference, _ = collect.derive(uncut)
    assert run == wanted and notes == []
    own = [sample for sample in samples if ".session-" not in sample.id]
    assert [sample.id for sample in own] == [planned.id for planned in run.plan.planned]
    assert len({sample.id for sample in samples}) == len(samples)
    written = lines(folder)
    assert [each["order"] for each in written] == sorted({each["order"] for each in written})
    assert [each["session"] for each in written] == [0] * kept + [1] * (len(written) - kept)
    assert rows.missing(run, samples) == 0
    for now, before in zip(rows.cell_rows(run, samples), rows.cell_rows(wanted, reference), strict=True):
        assert (now.cell, now.count) == (before.cell, before.count)
        # Replayed readings are moved to another spawn: equal but for the last digits.
        assert now.cold.centre == pytest.approx(before.cold.centre, rel=1e-6)
        assert now.warm.centre == pytest.approx(before.warm.centre, rel=1e-6)


@pytest.mark.parametrize("keep", range(12))
def test_a_run_cut_at_any_line_is_finished(uncut, folder, keep):
    """Fault: a sample is lost, taken twice, or numbered anew when a run is gone on with."""
    total = len(lines(uncut))
    assert total == 11, "the cut places above are all there are"
    cut(folder, keep)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, keep)
    # The first session's probe counts; a later one asks again whether the machine is still the same.
    assert len(lines(folder)) == total + (keep > 0)


@pytest.mark.parametrize("torn", [1, 300, -3])
@pytest.mark.parametrize("keep", [0, 2, 10])
def test_a_torn_line_is_kept_apart_and_its_sample_taken_again(uncut, folder, keep, torn):
    """Fault: the next sample is glued to half a line, and both are lost; or the half is thrown away."""
    piece = cut(folder, keep, torn)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, keep)
    [kept] = (folder / journal.RAW).glob("torn-*.txt")
    assert kept.read_bytes() == piece


def test_a_last_line_without_its_end_is_a_sample(uncut, folder):
    """Fault: readers count it, RESUME= cuts it off and does not take it again: its sample is gone for good."""
    cut(folder, 5, -1)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, 5 + 1)
    assert not list((folder / journal.RAW).glob("torn-*.txt"))


def test_a_run_that_was_killed_before_its_journal_was_there(uncut, folder):
    """Fault: between run.json and samples.jsonl is a moment in which a kill makes a run that nothing can finish."""
    (folder / journal.SAMPLES).unlink()
    shutil.rmtree(folder / journal.RAW)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, 0)


def test_a_torn_line_in_a_run_whose_raw_files_were_deleted(uncut, folder):
    """Fault: raw/ was removed to save space, and nothing is left that RESUME= could write the torn piece into."""
    cut(folder, 3, 100)
    shutil.rmtree(folder / journal.RAW)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, 3)


def test_an_interrupted_sample_is_taken_again(folder, uncut):
    """Fault: the sample in flight at Ctrl-C counts as taken, and its cell stays without a number for ever."""
    path = folder / journal.SAMPLES
    data = lines(folder)[:7]
    reason = {"code": "interrupted", "text": "signal SIGINT, in phase warm"}
    data[6].update(status="interrupted", reason=reason, cold_s=None, warm=None, proofs={})
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in data))
    assert go_on(folder).code is Exit.DONE
    samples, notes = journal.read_samples(folder)
    assert notes == [] and {sample.status for sample in samples} == {"ok"}
    # The line of the first attempt stays in the file: nothing that was written is unwritten.
    assert [each["id"] for each in lines(folder)].count(data[6]["id"]) == 2
    assert [each.session for each in samples if each.id == data[6]["id"]] == [1]
    assert rows.missing(journal.read_run(folder), samples) == 0
    # What the first attempt left of raw files is kept beside those of the second.
    assert (folder / journal.RAW / f"{data[6]['id']}.before-session-1").is_dir()


def interrupt_at(monkeypatch, number: int) -> None:
    """Press Ctrl-C while the sample of this number is being taken."""
    call, count = Replay.__call__, [0]

    def pressed(self, argv, **rest):
        outcome = call(self, argv, **rest)
        count[0] += 1
        if count[0] != number:
            return outcome
        os.kill(os.getpid(), signal.SIGINT)
        return type(outcome)(**{**vars(outcome), "ended_by": f"interrupt: {rest['watch'].tripped()}"})

    monkeypatch.setattr(Replay, "__call__", pressed)


@pytest.mark.parametrize("number", [1, 2, 5, 11])
def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys, number):
    """Fault: whoever pressed Ctrl-C must look for the run's folder; or a folder's name breaks the command."""
    interrupt_at(monkeypatch, number)
    ended = begin(
        tmp_path / "d'été & a  name that is longer than any line on a terminal would ever be, and then some"
    )
    monkeypatch.undo()
    assert ended.code is Exit.INTERRUPTED
    assert "PARTIAL" in ended.table or number == 11  # the last sample has a line, too: that it was interrupted
    [command] = [line for line in capsys.readouterr().err.splitlines() if "RESUME=" in line]
    asked = dict(word.split("=", 1) for word in shlex.split(command)[2:])
    assert asked["STACK"] == STACK
    again = go_on(Path(asked["RESUME"]))
    assert again.code is Exit.DONE
    assert len({s.id for s in journal.read_samples(ended.folder)[0]}) >= 11


def test_a_complete_run_gains_nothing_but_a_probe(folder, uncut):
    """Fault: RESUME= of a complete run measures again what it has, or ends otherwise than the run did."""
    before = lines(folder)
    tables = {name: (folder / name).read_bytes() for name in (collect.TABLE_MD, collect.TABLE_CSV)}
    first = go_on(folder)
    assert first.code is Exit.DONE
    assert lines(folder)[:-1] == before
    assert [(each["id"], each["kind"]) for each in lines(folder)[len(before) :]] == [("probe.session-1", "probe")]
    second = go_on(folder)
    assert second.code is Exit.DONE and [each["id"] for each in lines(folder)[-2:]] == [
        "probe.session-1",
        "probe.session-2",
    ]
    assert (folder / collect.TABLE_CSV).read_bytes() == tables[collect.TABLE_CSV]
    assert "measured in 3 sessions (RESUME=)" in second.table


def test_the_exit_code_is_that_of_the_whole_run(tmp_path):
    """Fault: a session that had nothing left to do ends with 0, though a target asked for by name is not there."""
    ended = begin(tmp_path, targets="CPU,GPU", samples="1")
    assert ended.code is Exit.IMPOSSIBLE
    assert go_on(ended.folder).code is Exit.IMPOSSIBLE
    cut(ended.folder, 3)
    assert go_on(ended.folder).code is Exit.IMPOSSIBLE


def test_a_session_that_was_killed_at_once_does_not_block_the_next(uncut, folder):
    """Fault: its raw files are in the way of the next session's, which ends with an internal error."""
    cut(folder, 4)
    # Two sessions were killed during their probe, which leaves a folder and no line: the third has their number.
    left = [f"probe.session-1{more}" for more in ("", ".before-session-1")]
    sample = lines(uncut)[4]["id"]
    left += [sample, f"{sample}.before-session-1", f"{sample}.before-session-1.2"]
    for name in left:
        (folder / journal.RAW / name).mkdir(exist_ok=True)
        (folder / journal.RAW / name / "mark.txt").write_text(name)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, 4)
    # Nothing of it is lost: a kill's raw files say what was going on.
    marks = {path.read_text() for path in (folder / journal.RAW).glob("*.before-session-1*/mark.txt")}
    assert marks == set(left)


def test_what_another_session_took_meanwhile_is_not_taken_again(uncut, folder):
    """Fault: a run that was read while its last session was still measuring gets those samples twice."""
    cut(folder, 4)
    asked = {"resume": str(folder)}
    earlier = resume.read(folder, asked)
    assert go_on(folder).code is Exit.DONE  # from here on what was read is not what there is
    before = lines(folder)
    code, _ = measure.run(
        words.parse(earlier.words(asked)), {}, ["bench"], lambda _: None, recording=RECORDING, earlier=earlier
    )
    assert code is Exit.DONE
    assert [each["id"] for each in lines(folder)[len(before) :]] == ["probe.session-2"]


def test_a_folder_is_found_by_a_relative_path(folder, uncut, monkeypatch):
    """Fault: the path that the message names is below this folder, and workers run in another: none starts."""
    cut(folder, 6)
    monkeypatch.chdir(folder.parent.parent)
    assert go_on(folder.relative_to(folder.parent.parent)).code is Exit.DONE
    check_whole(folder, uncut, 6)
    request = json.loads((folder / journal.RAW / "probe.session-1" / "request.json").read_text())
    assert Path(request["events"]).is_absolute()


def test_a_wall_clock_that_steps_back_changes_no_number(uncut, folder, monkeypatch):
    """Fault: NTP or a suspended laptop sets the clock back, and a time is negative or an order is turned round."""
    from suite import ready, sampling

    at = [datetime(2030, 1, 1, tzinfo=timezone.utc)]

    class Backwards(datetime):
        @classmethod
        def now(cls, tz=None):
            at[0] -= timedelta(hours=1)
            return at[0]

    import time

    for module in (journal, ready, sampling):
        monkeypatch.setattr(module, "datetime", Backwards)
    monkeypatch.setattr(time, "time", lambda: at[0].timestamp())
    backwards = begin(folder.parent.parent / "backwards").folder
    started = [each["started_utc"] for each in lines(backwards)]
    assert started == sorted(started, reverse=True), "the clock did run backwards"
    assert [each["order"] for each in lines(backwards)] == list(range(11))
    cut(folder, 5)
    assert go_on(folder).code is Exit.DONE
    check_whole(folder, uncut, 5)
    by_id = {each["id"]: each for each in lines(uncut)}
    for each in lines(backwards):
        for name in ("cold_s", "first_result_s", "question_clock_s", "wall_s", "untimed_s"):
            wanted = by_id[each["id"]][name]
            assert each[name] == (wanted if wanted is None else pytest.approx(wanted, rel=1e-6, abs=1e-6)), name
        assert (each["warm"] or {}).get("calls_s") == (by_id[each["id"]]["warm"] or {}).get("calls_s")


def test_a_sample_taken_again_is_not_taken_once_more(folder, monkeypatch):
    """Fault: every RESUME= of a run with tagged samples adds those of the last session anew, under the same ids."""
    path = folder / journal.SAMPLES
    data = lines(folder)
    tagged = [each for each in data if each["kind"] == "prepared"][:2]
    for each in tagged:
        each["tags"] = ["contended"]
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in data))
    assert go_on(folder).code is Exit.DONE
    added = [each["id"] for each in lines(folder)[len(data) :]]
    assert added == ["probe.session-1", *(f"{each['id']}.again.1" for each in tagged)]
    assert [each["again"] for each in lines(folder)[-2:]] == [each["id"] for each in tagged]
    for _ in range(2):
        before = len(lines(folder))
        assert go_on(folder).code is Exit.DONE
        assert [each["kind"] for each in lines(folder)[before:]] == ["probe"]
    assert journal.read_samples(folder)[1] == []
