# SPDX-License-Identifier: Apache-2.0
"""A run's folder: what was written is read back, what cannot be is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from suite import journal
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Plan, Run, Sample, Warm

NUMBERS = (["CPU"], ["CPU"], [50], 1, 10, 0.5, 600.0, 300.0, 1, 2, [], [])


def a_run(run_id: str = "r") -> Run:
    plan = Plan("quick", *NUMBERS)
    return Run(run_id, "2024-01-01T00:00:00Z", ["bench"], {}, {"name": "é"}, {}, {}, {}, {}, plan)


def sample(number: int = 1, **more) -> Sample:
    name = f"prepared.CPU.device.50.{number}"
    more = {"cold_s": 0.5, "warm": Warm([0.25], 0.5), **more}
    return Sample(name, "prepared", "CPU.device.50", number, number, "2024-01-01T00:00:00Z", "ok", **more)


@pytest.fixture
def folder(tmp_path):
    """Return a run's folder that holds three samples."""
    log = journal.Journal.create(tmp_path / "run", a_run())
    for number in (1, 2, 3):
        log.append(sample(number, cold_s=0.1 * number, warm=Warm([1e-7 / 3], 0.25), facts={"a": "ü\n"}))
    log.close()
    return tmp_path / "run"


def ids(folder: Path) -> list[int]:
    return [each.block for each in journal.read_samples(folder)[0]]


def rewrite(folder: Path, change) -> None:
    path = folder / journal.SAMPLES
    path.write_bytes(change(path.read_bytes()))


def test_what_is_written_is_read_back(folder):
    """Fault: a float that is rounded, a letter or a field that is lost."""
    samples, notes = journal.read_samples(folder)
    assert notes == []
    assert samples == [
        sample(k, cold_s=0.1 * k, warm=Warm([1e-7 / 3], 0.25), facts={"a": "ü\n"}) for k in (1, 2, 3)
    ]
    assert journal.read_run(folder) == a_run()
    assert (folder / journal.RAW).is_dir()
    assert len((folder / journal.SAMPLES).read_bytes().splitlines()) == 3


def test_a_sample_is_on_disk_before_the_next_begins(tmp_path):
    """Fault: lines wait in a buffer, and a kill loses them."""
    log = journal.Journal.create(tmp_path / "run", a_run())
    for number in (1, 2):
        log.append(sample(number))
        assert ids(tmp_path / "run") == list(range(1, number + 1))
    log.close()


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_skipped_and_said(folder, cut):
    """Fault: a killed run is refused as a whole, or its torn sample is dropped in silence."""
    rewrite(folder, lambda data: data[: -1 - cut])
    samples, notes = journal.read_samples(folder)
    assert [each.block for each in samples] == [1, 2]
    assert notes == ["samples.jsonl line 3 skipped: torn"]


def test_a_line_that_lacks_only_its_end_of_line_counts(folder):
    """Fault: a whole sample is thrown away."""
    rewrite(folder, lambda data: data[:-1])
    assert journal.read_samples(folder)[1] == [] and ids(folder) == [1, 2, 3]


def test_a_letter_torn_in_two_is_torn(folder):
    """Fault: a UnicodeDecodeError at the end of a killed run's journal."""
    rewrite(folder, lambda data: data + '{"id": "ü'.encode()[:-1])
    assert journal.read_samples(folder)[1] == ["samples.jsonl line 4 skipped: torn"]
    assert ids(folder) == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"garbage", "Expecting value"),
        (b"\xff\xfe", "codec can't decode"),
        (b"[1, 2]", "not an object"),
        (b"{}", "schema None; expected a number from 1 to"),
        (b'{"schema": "1"}', "schema '1'; expected a number from 1 to"),
        (b'{"schema": 99}', "schema 99; a newer coldwarm wrote it, this one reads up to"),
        (b'{"schema": 1}', "missing required field"),
        (b'{"schema": 1, "cold_s": NaN}', "NaN is not JSON"),
        (b'{"schema": 1, "cold_s": -Infinity}', "-Infinity is not JSON"),
    ],
)
def test_a_bad_line_in_the_middle_costs_only_itself(folder, line, why):
    """Fault: one bad line hides those after it, is called torn, or passes."""

    def plant(data: bytes) -> bytes:
        first, rest = data.split(b"\n", 1)
        return first + b"\n" + line + b"\n" + rest

    rewrite(folder, plant)
    samples, [note] = journal.read_samples(folder)
    assert [each.block for each in samples] == [1, 2, 3]
    assert note.startswith("samples.jsonl line 2 skipped: ") and why in note and "torn" not in note


def test_a_status_or_kind_of_another_version_is_said(folder):
    """Fault: a status that is in no table is counted as if it were one."""
    rewrite(folder, lambda data: data.replace(b'"status": "ok"', b'"status": "fine"', 1))
    samples, [note] = journal.read_samples(folder)
    assert [each.block for each in samples] == [2, 3] and "'fine'" in note and "$.status" in note


def test_a_sample_counts_once(folder):
    """Fault: a line that is there twice makes two processes of one."""
    rewrite(folder, lambda data: data + data.split(b"\n")[1].replace(b'"cold_s": 0.2', b'"cold_s": 0.7') + b"\n")
    samples, notes = journal.read_samples(folder)
    assert [each.cold_s for each in samples] == [0.1, 0.2, 0.1 * 3]
    assert notes == ["samples.jsonl line 4 skipped: sample prepared.CPU.device.50.2 a second time"]


def test_no_samples_file_is_a_note(folder):
    """Fault: a run that was killed before its first sample cannot be collected."""
    (folder / journal.SAMPLES).unlink()
    assert journal.read_samples(folder) == ([], ["samples.jsonl: No such file or directory"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("", "not JSON"),
        ('{"schema": 1, ', "not JSON"),
        ("[]", "not an object"),
        ('{"schema": 3}', "schema 3; a newer coldwarm wrote it, this one reads up to 2"),
        ('{"schema": 0}', "schema 0; expected a number from 1 to 2"),
        ('{"schema": 1}', "missing required field"),
        ('{"schema": 1, "run_id": 7}', "Expected `str`, got `int` - at `$.run_id`"),
        ('{"schema": 1, "host": NaN}', "NaN is not JSON"),
    ],
)
def test_a_run_that_cannot_be_used_says_why(folder, text, why):
    """Fault: a traceback, or half a run taken for one; a newer file read as if it were ours."""
    path = folder / journal.RUN
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(journal.Unreadable) as caught:
        journal.read_run(folder)
    assert str(caught.value).startswith(f"{path}: ") and why in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_never_written(tmp_path, value):
    """Fault: NaN in a file that other programs read as JSON; or half a line before the refusal."""
    log = journal.Journal.create(tmp_path / "run", a_run())
    for bad in (sample(cold_s=value), sample(facts={"deep": [value]})):
        with pytest.raises(ValueError):
            log.append(bad)
    log.close()
    assert (tmp_path / "run" / journal.SAMPLES).read_bytes() == b""


def test_a_number_beyond_a_float_is_not_read(folder):
    """Fault: an infinity comes in where NaN is refused."""
    rewrite(folder, lambda data: data.replace(b'"cold_s": 0.1', b'"cold_s": 1e999', 1))
    assert ids(folder) == [2, 3]


def test_run_ids_sort_by_time_and_differ():
    """Fault: local time, or two runs of one second with one id."""
    made = [journal.new_run_id() for _ in range(50)]
    assert len(set(made)) == 50
    assert all(re.fullmatch(r"20\d{6}T\d{6}Z-[0-9a-f]{6}", each) for each in made)
    assert [each[:16] for each in made] == sorted(each[:16] for each in made)


def test_run_ids_are_utc(monkeypatch):
    """Fault: runs of two machines, or around a change of the clocks, in the wrong order."""
    import time
    from datetime import datetime, timezone

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        made = datetime.strptime(journal.new_run_id()[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert abs((datetime.now(timezone.utc) - made).total_seconds()) < 60


def test_two_runs_never_share_a_folder(tmp_path):
    """Fault: a second run writes into the first one's files."""
    journal.Journal.create(tmp_path / "run", a_run("first")).close()
    with pytest.raises(SuiteError) as caught:
        journal.Journal.create(tmp_path / "run", a_run("second"))
    assert caught.value.exit_code is Exit.NOT_PREPARED and "File exists" in caught.value.what
    assert journal.read_run(tmp_path / "run").run_id == "first"


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """Fault: a full disk leaves an empty table where a good one was, or a neighbour behind."""
    path = tmp_path / "table.md"
    journal.write_atomically(path, "é\n")
    assert path.read_bytes() == "é\n".encode()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError):
        journal.write_atomically(path, "new\n")
    assert path.read_bytes() == "é\n".encode() and list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_known_first(tmp_path):
    """Fault: an hour's measurement that cannot be kept; or a file left where the check was made."""
    journal.check_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(SuiteError) as caught:
        journal.check_writable(tmp_path / "file" / "below")
    assert caught.value.exit_code is Exit.NOT_PREPARED
    assert (
        f"OUT={tmp_path}/file/below: cannot write there" in caught.value.what and "OUT=" in caught.value.next_step
    )


def test_json_has_sorted_keys(folder):
    """Fault: the same run in other bytes on another day."""
    for line in (folder / journal.SAMPLES).read_text(encoding="utf-8").splitlines():
        assert list(json.loads(line)) == sorted(json.loads(line))
