# SPDX-License-Identifier: Apache-2.0
"""RESUME=: a run that was cut short anywhere is finished as if nothing had been, or refused for what has changed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from suite import collect, journal, levels, measure, resume, rows, words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.replay import Replay
from suite.stack import ROOT
from tests.resuming import RECORDING, STACK, begin, change, copied, cut, files, go_on, lines

SCHEMA_1 = ROOT / "tests" / "data" / "stored" / "schema1"


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


IDENTITY = [
    (("stack", "sha256"), "0" * 64, "stack.sha256"),
    (("environment", "key"), "another", "environment.key"),
    (("environment", "lock_sha256"), "1" * 64, "environment.lock_sha256"),
    (("environment", "python_version"), "3.6.14", "environment.python_version"),
    (("environment", "wheels"), "cuda", "environment.wheels"),
    (("environment", "image"), "sha256:123", "environment.image"),
    (("environment", "packages"), {"numpy": "1.16.0"}, "environment.packages"),
    (("engine", "name"), "docker", "engine.name"),
    (("coldwarm", "worker_tree_sha256"), "2" * 64, "coldwarm.worker_tree_sha256"),
    (("host", "cpu_model"), "Intel(R) Core(TM) i7-6700HQ CPU @ 2.60GHz", "host.cpu_model"),
    (("host", "effective_cpus"), 96.0, "host.effective_cpus"),
    (("host", "memory_bytes"), 8_000_000_000, "host.memory_bytes"),
    (("host", "kernel"), "4.15.0-generic", "host.kernel"),
    (("host", "nvidia"), {"gpus": [{"uuid": "GPU-1", "driver_version": "430.50"}]}, "gpus"),
    (("worker_environment", "OMP_NUM_THREADS"), "1", "worker_environment"),
    (("worker_environment", "TF_CPP_VMODULE"), "", "worker_environment"),
]


@pytest.mark.parametrize(("path", "value", "said"), IDENTITY, ids=[".".join(each[0]) for each in IDENTITY])
def test_a_run_is_not_gone_on_with_where_something_has_changed(folder, path, value, said):
    """Fault: one table holds numbers of two machines, two drivers or two versions, and nothing says so."""
    cut(folder, 5, 40)
    now = resume._value(journal.read_run(folder), path) if said != "gpus" else []
    change(folder, *path, to=value)
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.NOT_PREPARED
    shown = {"gpus": "('GPU-1', '430.50')", "environment.packages": repr(value)}.get(said, repr(value))
    assert f"{said}: " in caught.value.what and shown in caught.value.what
    if said != "worker_environment":
        assert f"is {now!r}" in caught.value.what
    assert folder.name in caught.value.what and "collect" in caught.value.next_step
    assert files(folder) == before


def test_another_gpu_or_driver_is_named_with_both(folder, monkeypatch):
    """Fault: a driver was updated between two sessions, and the numbers of both are put into one mean."""
    from suite import host

    def gpus(*found):
        listed = [{"index": str(k), "uuid": uuid, "driver_version": d} for k, (uuid, d) in enumerate(found)]
        return {"present": True, "why": "", "gpus": listed}

    change(folder, "host", "nvidia", to=gpus(("GPU-1", "430.50")))
    for now in ([("GPU-1", "470.57")], [("GPU-2", "430.50")], [("GPU-1", "430.50"), ("GPU-2", "430.50")], []):
        monkeypatch.setattr(host, "nvidia", lambda now=now: gpus(*now))
        with pytest.raises(SuiteError) as caught:
            go_on(folder)
        assert f"gpus: was [('GPU-1', '430.50')], is {now!r}" in caught.value.what
    monkeypatch.setattr(host, "nvidia", lambda: gpus(("GPU-1", "430.50")))
    assert go_on(folder).code is Exit.DONE


def test_what_is_no_part_of_the_identity_may_change(folder, uncut):
    """Fault: a commit to a document, or a GPU's clock, makes a run of ten hours worthless."""
    cut(folder, 5)
    for path in (("coldwarm", "git_commit"), ("coldwarm", "version"), ("engine", "why"), ("command",)):
        change(folder, *path, to=["another"] if path == ("command",) else "another")
    assert go_on(folder).code is Exit.DONE


def test_two_replays_have_one_identity(tmp_path, uncut):
    """Fault: something volatile is part of the identity: then no run can ever be gone on with."""
    another = begin(tmp_path, samples="1").folder
    resume.check_identity(journal.read_run(uncut), journal.read_run(another))


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("shapes", "50", "500"),
        ("targets", "CPU", "CPU,XLA_CPU"),
        ("samples", "3", "2"),
        ("level", "process", "its default"),
        ("profile", "full", "its default"),
        ("budget", "60", "its default"),
        ("timeout", "60", "its default"),
        ("placement", "jit", "its default"),
        ("precision", "ieee", "its default"),
        ("gpu", "1", "its default"),
        ("engine", "docker", "replay"),
    ],
)
def test_a_word_that_contradicts_the_plan_is_named(folder, name, value, kept):
    """Fault: RESUME= SHAPES=50 is read as either of the two, and the other is passed over in silence."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        go_on(folder, **{name: value})
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what == f"{name.upper()}={value}: the plan of {folder} has {kept}"
    assert files(folder) == before


def test_another_stack_is_named(folder):
    """Fault: a run of one stack is finished with another."""
    with pytest.raises(SuiteError) as caught:
        go_on(folder, stack="tf2.21-cuda12")
    assert caught.value.exit_code is Exit.USAGE
    assert caught.value.what == f"STACK=tf2.21-cuda12: {folder} is a run of {STACK}"


@pytest.mark.parametrize(
    "given",
    [
        {"stack": STACK, "shapes": "500"},
        {"shapes": "500 500", "samples": "2"},
        {"targets": "CPU XLA_CPU", "level": "jit"},
        {"engine": "replay", "profile": "quick", "out": "/nowhere"},
    ],
)
def test_a_word_that_says_the_same_is_taken(folder, given):
    """Fault: the command that began a run is refused when RESUME= is put behind it."""
    assert resume.read(folder, given).folder == folder


def test_only_a_run_of_bench_can_be_gone_on_with(folder, tmp_path):
    """Fault: a traceback, or half a plan carried out, for what RESUME= cannot finish."""
    other = copied(folder, tmp_path / "arm")
    change(other, "arm", to="a")
    comparison = tmp_path / "selftest"
    comparison.mkdir()
    shutil.move(other, comparison / "a")
    (comparison / "comparison.json").write_text("{}")
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    cases = {
        SCHEMA_1 / "reproduce": "only a run of bench",
        SCHEMA_1 / "bench": "an earlier version wrote it, which did not keep its words",
        comparison / "a": "only a run of bench",
        comparison: "No such file or directory",
        tmp_path / "empty": "No such file or directory",
        tmp_path / "nowhere": "No such file or directory",
        tmp_path / "file": "Not a directory",
        folder / journal.RUN: "Not a directory",
    }
    for where, why in cases.items():
        with pytest.raises(SuiteError) as caught:
            go_on(where)
        assert caught.value.exit_code is Exit.USAGE, where
        assert caught.value.what.startswith(f"RESUME={where}: ") and why in caught.value.what


def test_a_run_that_is_being_measured_is_left_alone(folder):
    """Fault: two processes measure into one run: each is the other's noise, and ids are there twice."""
    cut(folder, 5, 40)
    held = journal.Journal(folder)
    before = files(folder)
    try:
        with pytest.raises(SuiteError) as caught:
            journal.Journal.reopen(folder)
        assert caught.value.exit_code is Exit.NOT_PREPARED
        assert "another process is measuring into this run" in caught.value.what
        with pytest.raises(SuiteError) as caught:
            go_on(folder)
        assert "another process is measuring into this run" in caught.value.what
    finally:
        held.close()
    assert files(folder) == before
    assert go_on(folder).code is Exit.DONE


def test_a_run_that_exists_is_not_begun_again(folder):
    """Fault: two runs in one folder, should ids ever collide."""
    before = files(folder)
    with pytest.raises(SuiteError) as caught:
        journal.Journal.create(folder, journal.read_run(folder))
    assert caught.value.exit_code is Exit.NOT_PREPARED and "File exists" in caught.value.what
    assert files(folder) == before


def test_a_run_that_may_not_be_written_is_refused(folder, monkeypatch):
    """Fault: the results of somebody else, or of a read-only disk, end in a traceback."""
    cut(folder, 5)
    real = os.open

    def read_only(path, flags, *rest):
        if Path(path).name == journal.SAMPLES:
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.NOT_PREPARED and "Read-only file system" in caught.value.what


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


@pytest.fixture
def with_jit_cache(tmp_path, monkeypatch) -> Path:
    """A recording of a target that keeps a JIT cache: its priming fills that, every other sample finds it filled."""
    recording = tmp_path / "recorded"
    for path in RECORDING.iterdir():
        if "2000" in path.name or ".CPU" in path.name:
            continue
        to = recording / path.name.replace("XLA_CPU", "XLA_GPU")
        to.mkdir(parents=True)
        for file in path.iterdir():
            text = file.read_text(errors="replace").replace("XLA_CPU", "XLA_GPU")
            (to / file.name).write_text(text)
    shutil.copytree(recording / "prepared.XLA_GPU.device.500.1", recording / "priming.XLA_GPU.device.500")
    call = Replay.__call__

    def compiles(self, argv, *, folder, **rest):
        cached = folder / "cache" / "cuda" / "index"
        if not folder.name.startswith(("probe", "pilot")) and not cached.exists():
            cached.write_bytes(b"x" * (1000 if folder.name.startswith("priming") else 999))
        return call(self, argv, folder=folder, **rest)

    monkeypatch.setattr(Replay, "__call__", compiles)
    return recording


KEEPING = {"targets": "XLA_GPU", "level": "process"}


def states(folder: Path) -> dict[str, str]:
    return {each["id"]: each["status"] for each in lines(folder)}


def test_a_level_that_keeps_caches(with_jit_cache, tmp_path):
    """Fault: the recording that the tests below rest on does not show what they need."""
    ended = begin(tmp_path / "out", recording=with_jit_cache, **KEEPING)
    assert ended.code is Exit.DONE, states(ended.folder)
    assert [each["kind"] for each in lines(ended.folder)][:3] == ["probe", "pilot", "priming"]
    assert {each["proofs"]["cold"]["text"] for each in lines(ended.folder)[3:]} == {
        "caches kept and unchanged: 1 files, 0.001 MB"
    }
    assert not (ended.folder / "caches").exists()


@pytest.mark.parametrize("keep", range(1, 7))
@pytest.mark.parametrize("how", ["between samples", "in a sample", "after a sample's caches were put back"])
def test_kept_caches_outlive_a_kill(with_jit_cache, tmp_path, keep, how):
    """Fault: a kill loses the caches of level process, and every sample of RESUME= is not_cold."""
    folder = begin(tmp_path / "out", recording=with_jit_cache, **KEEPING).folder
    total = len(lines(folder))
    assert total == 7
    in_flight = lines(folder)[keep]["id"]
    cut(folder, keep)
    kept, lent = folder / "caches" / "XLA_GPU.device.500", folder / journal.RAW / in_flight / "cache"
    shutil.rmtree(folder / journal.RAW / in_flight)
    filled = keep > 2 or (how != "between samples" and keep == 2)  # the priming is the third sample
    if filled:
        where = lent if how == "in a sample" else kept
        for below in levels.CACHE_VARIABLES.values():
            (where / below).mkdir(parents=True)
        (where / "cuda" / "index").write_bytes(b"x" * 1000)
    ended = go_on(folder, recording=with_jit_cache)
    assert ended.code is Exit.DONE, states(folder)
    assert set(states(folder).values()) == {"ok"}
    assert not (folder / "caches").exists()


def test_kept_caches_outlive_a_full_disk(with_jit_cache, tmp_path, monkeypatch):
    """Fault: a run that ends by an error clears its caches away as if it were complete."""
    write, count = os.write, [0]

    def full(descriptor: int, data: bytes) -> int:
        if b'"schema"' in data and b'"kind"' in data:
            count[0] += 1
            if count[0] == 5:
                raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SuiteError):
        begin(tmp_path / "out", recording=with_jit_cache, **KEEPING)
    monkeypatch.setattr(os, "write", write)
    [folder] = (tmp_path / "out" / STACK).iterdir()
    assert len(lines(folder)) == 4
    assert go_on(folder, recording=with_jit_cache).code is Exit.DONE, states(folder)


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
