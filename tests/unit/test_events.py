# SPDX-License-Identifier: Apache-2.0
"""Reading an events file that a fault has torn or filled with garbage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suite import events

STARTED = b'{"at_s": 1.5, "event": "started", "v": 1}'
DONE = b'{"at_s": 2.5, "event": "done", "v": 1}'


def read(folder: Path, data: bytes) -> events.Events:
    path = folder / "events.jsonl"
    path.write_bytes(data)
    return events.read(path)


def names(told: events.Events) -> list[str]:
    return [event["event"] for event in told.all]


def test_whole_lines_are_read_in_order(tmp_path):
    """Fault: an event lost, moved or changed; a newline at the end taken for a torn line."""
    told = read(tmp_path, STARTED + b"\n" + DONE + b"\n")
    assert names(told) == ["started", "done"] and told.unreadable == []
    assert told.all[0] == json.loads(STARTED)


def test_no_file_is_no_events(tmp_path):
    """Fault: a worker that died before its first event ends the run with a traceback."""
    for told in (events.read(tmp_path / "events.jsonl"), read(tmp_path, b""), read(tmp_path, b"\n\n")):
        assert told.all == [] and told.unreadable == []


@pytest.mark.parametrize("keep", range(1, len(DONE)))
def test_a_torn_last_line_is_set_aside_and_the_rest_kept(tmp_path, keep):
    """Fault: a worker killed while it wrote loses all of its events, or the torn one counts."""
    told = read(tmp_path, STARTED + b"\n" + DONE[:keep])
    assert names(told) == ["started"]
    assert told.unreadable == ["line 2: torn"]


def test_a_character_torn_in_the_middle_is_set_aside(tmp_path):
    """Fault: half a character at the end is no JSON error, and gets through as a traceback."""
    told = read(tmp_path, STARTED + b"\n" + '{"text": "µ'.encode()[:-1])
    assert names(told) == ["started"] and told.unreadable == ["line 2: torn"]


def test_a_whole_last_line_without_its_newline_counts(tmp_path):
    """Fault: the last event is thrown away for one missing byte."""
    assert names(read(tmp_path, STARTED + b"\n" + DONE)) == ["started", "done"]


@pytest.mark.parametrize(
    ("garbage", "why"),
    [
        (b"W tensorflow/core: a warning", "Expecting value"),
        (b"\x00\x01\x02", "Expecting value"),
        (b"\xff\xfe\xfd", "can't decode"),
        (b'{"event": "done", "v": 1} {"event": "done", "v": 1}', "Extra data"),
        (b'{"event": "done", "v": 1', "Expecting"),
        (b"[1, 2]", "not an event"),
        (b'"done"', "not an event"),
        (b"1", "not an event"),
        (b"null", "not an event"),
        (b'{"v": 1}', "not an event"),
        (b'{"event": 5, "v": 1}', "not an event"),
        (b'{"event": null, "v": 1}', "not an event"),
        (b'{"at_s": NaN, "event": "done", "v": 1}', "NaN is not JSON"),
        (b'{"at_s": Infinity, "event": "done", "v": 1}', "Infinity is not JSON"),
        (b'{"calls_s": [1.0, -Infinity], "event": "done", "v": 1}', "-Infinity is not JSON"),
        (b'{"event": "done", "n": ' + b"9" * 5000 + b', "v": 1}', "digits"),
        (b'{"event": "done", "v": 1, "x": "' + b"x" * 4_000_000 + b'"}', "longer than 4000000 bytes"),
    ],
    ids=range(17),
)
def test_garbage_is_set_aside_with_its_line_and_reason(tmp_path, garbage, why):
    """Fault: garbage in the middle ends the reading, is believed, or is passed over without a word."""
    told = read(tmp_path, STARTED + b"\n" + garbage + b"\n" + DONE + b"\n")
    assert names(told) == ["started", "done"]
    [said] = told.unreadable
    assert said.startswith("line 2: ") and why in said


@pytest.mark.parametrize("version", ["2", "0", '"1"', "null", "[1]", None])
def test_an_event_of_another_protocol_is_set_aside(tmp_path, version):
    """Fault: another worker's words are read as if they meant the same."""
    field = b"" if version is None else b', "v": ' + version.encode()
    told = read(tmp_path, b'{"event": "done"' + field + b"}\n" + STARTED + b"\n")
    assert names(told) == ["started"]
    [said] = told.unreadable
    assert said.startswith("line 1: event version ") and said.endswith(", expected 1")


def test_two_writers_in_one_line_are_set_aside(tmp_path):
    """Fault: a torn line that a second process wrote on to is read as one of them."""
    told = read(tmp_path, STARTED[:20] + DONE + b"\n" + DONE + b"\n")
    assert names(told) == ["done"] and len(told.unreadable) == 1


def test_the_longest_honest_line_is_read(tmp_path):
    """Fault: the guard against garbage cuts off a long warm series."""
    series = {"v": 1, "event": "warm", "calls_s": [1.2345678901234567e-05] * 2000}
    told = read(tmp_path, json.dumps(series).encode() + b"\n")
    assert told.all == [series]


def test_deeply_nested_garbage_is_set_aside(tmp_path):
    """Fault: one line of garbage ends the whole run with a traceback."""
    told = read(tmp_path, b"[" * 100_000 + b"\n" + DONE + b"\n")
    assert names(told) == ["done"] and len(told.unreadable) == 1


def test_a_number_that_overflows_is_no_number(tmp_path):
    """Fault: infinity gets in as 1e999 and the journal's line, strict JSON, cannot be written."""
    told = read(tmp_path, b'{"at_s": 1e999, "event": "first_result", "v": 1}\n')
    assert told.all == [] and len(told.unreadable) == 1


def test_events_are_found_by_name():
    """Fault: the last instead of the first, another event of the same name, or a KeyError where there is none."""
    told = events.Events(
        all=[{"event": "result", "of": "cold"}, {"event": "x"}, {"event": "result", "of": "warm"}]
    )
    assert told.first("result") == {"event": "result", "of": "cold"}
    assert [each["of"] for each in told.every("result")] == ["cold", "warm"]
    assert told.first("done") is None and told.every("done") == []


def test_the_last_phase_is_the_one_that_began_last():
    """Fault: a sample killed in warm is said to have ended in the phase that had last ended."""
    assert events.Events().last_phase() == "interpreter"
    told = [
        {"event": "phase_begin", "name": "build"},
        {"event": "phase", "name": "build"},
        {"event": "phase_begin", "name": "first_execution"},
        {"event": "result", "name": "cold"},
    ]
    assert events.Events(all=told).last_phase() == "first_execution"
