# SPDX-License-Identifier: Apache-2.0
"""From how a worker ended and what it told, to a status and a reason."""

from __future__ import annotations

import signal
from typing import get_args

import pytest

from suite import classify
from suite.events import Events
from suite.launch import Outcome
from suite.records import Status

#: The order that the design fixes (section 3), worst first.
DESIGNED = [
    "wrong_result",
    "wrong_device",
    "unverified_placement",
    "implausible",
    "crashed",
    "gpu_lost",
    "killed",
    "oom",
    "timeout",
    "not_cold",
    "unsupported_arch",
    "unavailable",
    "over_budget",
    "interrupted",
]


def outcome(exit_code: int | None = 0, signal: int | None = None, ended_by: str = "itself") -> Outcome:
    return Outcome(
        spawn_s=1.0, executing_s=1.1, ended_s=2.0, pid=7, exit_code=exit_code, signal=signal, ended_by=ended_by
    )


def told(*events: dict[str, object] | str, unreadable: tuple[str, ...] = ()) -> Events:
    whole = [{"v": 1, "event": each} if isinstance(each, str) else {"v": 1, **each} for each in events]
    return Events(all=whole, unreadable=list(unreadable))


def begun(name: str) -> dict[str, object]:
    return {"event": "phase_begin", "name": name}


def failure(type: str = "InternalError", text: str = "it broke", memory: bool = False, devices: object = None):
    return {"event": "failure", "type": type, "text": text, "devices": devices, "out_of_memory": memory}


def ended(how: Outcome, what: Events, stderr: str = "") -> tuple[str, str, str]:
    found = classify.ending(how, what, stderr, "raw/x/stderr.txt", 30.0)
    assert found is not None
    reason, status = found
    assert reason.raw_file == "raw/x/stderr.txt" and reason.next_step
    return status, reason.code, reason.text


def test_a_worker_that_went_through_has_no_ending():
    """Fault: an honest sample is failed."""
    assert classify.ending(outcome(), told(begun("import"), "done"), "a warning\n", "raw", 30.0) is None


@pytest.mark.parametrize("code", [1, 2, 64, 127, 137, 255])
def test_an_exit_code_is_a_crash_even_after_done(code):
    """Fault: a worker that failed on its way out, or before its first event, passes."""
    for events in (told(), told(begun("warm")), told("done")):
        status, reason, text = ended(outcome(code), events)
        assert (status, reason) == ("crashed", "crashed")
        assert f"exit code {code}" in text


def test_exit_zero_without_done_is_a_crash():
    """Fault: os._exit(0) in a framework, or truncated events, are taken for success."""
    status, reason, text = ended(outcome(0), told(begun("import"), begun("build")))
    assert (status, reason, text) == ("crashed", "crashed", "ended with exit code 0 in phase build")
    assert "in phase interpreter" in ended(outcome(0), told())[2]


def test_a_crash_quotes_what_was_said_last():
    """Fault: the reason quotes the first line, an empty one, or a megabyte of them."""
    assert ended(outcome(1), told(), "first\n  the cause \n\n  \n")[2].endswith(": the cause")
    assert len(ended(outcome(1), told(), "x" * 100_000)[2]) < 300


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTERM"])
def test_a_signal_is_a_crash_with_its_name(name):
    """Fault: a segmentation fault is shown as a number, or as out of memory."""
    number = int(getattr(signal, name))
    status, reason, text = ended(outcome(None, number), told(begun("compile")), "double free\n")
    assert (status, reason, text) == ("crashed", "crashed", f"ended by {name} in phase compile: double free")
    assert ended(outcome(None, number), told("done"))[0] == "crashed"


def test_a_foreign_sigkill_is_killed():
    """Fault: the kernel's out-of-memory killer is called a crash, a timeout or the framework's own shortage."""
    status, reason, text = ended(outcome(None, 9), told(begun("inputs")))
    assert (status, reason) == ("killed", "killed")
    assert "in phase inputs" in text and "not by coldwarm" in text


def test_a_realtime_signal_is_a_crash():
    """Fault: a signal without a name ends the run instead of the sample."""
    assert ended(outcome(None, 40), told())[0] == "crashed"


def test_our_own_kill_at_the_deadline_is_a_timeout():
    """Fault: the SIGKILL that coldwarm sent is taken for the kernel's, or for what the worker told before."""
    for events in (told(begun("warm")), told(begun("warm"), failure(memory=True)), told(begun("warm"), "done")):
        status, reason, text = ended(outcome(None, 9, "timeout"), events)
        assert (status, reason, text) == ("timeout", "timeout", "not done after 30 s, in phase warm")


def test_an_interrupt_is_not_the_workers_fault():
    """Fault: Ctrl-C leaves a killed or crashed sample, or a cause that nobody can read."""
    for events in (told(begun("warm")), told(begun("warm"), failure())):
        status, reason, text = ended(outcome(None, 9, "interrupt: signal SIGINT"), events)
        assert (status, reason, text) == ("interrupted", "interrupted", "signal SIGINT, in phase warm")
    cause = "interrupt: process 7, which started this run: ended"
    assert ended(outcome(None, 9, cause), told())[2].startswith("process 7, which started this run: ended")


def test_an_exception_is_a_crash_that_says_where():
    """Fault: the exception is lost behind exit code 1, or its text floods the table."""
    status, reason, text = ended(outcome(1), told(begun("import"), begun("build"), failure()), "noise\n")
    assert (status, reason, text) == ("crashed", "exception", "InternalError in phase build: it broke")
    assert len(ended(outcome(1), told(failure(text="x" * 4000)))[2]) < 400


@pytest.mark.parametrize("how", [outcome(1), outcome(None, 6), outcome(None, 9), outcome(0)])
def test_memory_that_ran_out_is_oom_however_the_process_then_ended(how):
    """Fault: the framework says that memory ran out and aborts: a crash instead of oom."""
    status, reason, _ = ended(how, told(begun("inputs"), failure("ResourceExhaustedError", memory=True)))
    assert (status, reason) == ("oom", "out_of_memory")


def test_a_missing_device_is_unavailable():
    """Fault: a machine without a GPU counts as a crash, or does not say what there is."""
    seen = ["/device:CPU:0", "/device:XLA_CPU:0"]
    text = "/device:GPU:0 is not among " + ", ".join(seen)
    status, reason, text = ended(
        outcome(1), told(begun("device_init"), failure("Unavailable", text, devices=seen))
    )
    assert (status, reason, text) == ("unavailable", "no_device", "no GPU: the framework sees CPU:0, XLA_CPU:0")
    assert ended(outcome(1), told(failure("Unavailable", "/device:GPU:0 is not among ")))[0] == "unavailable"


def test_the_first_failure_decides():
    """Fault: the error of the clean-up hides the error that led to it."""
    assert ended(outcome(1), told(failure(memory=True), failure("OSError")))[0] == "oom"


def test_garbage_among_the_events_is_a_crash_even_after_done():
    """Fault: a line that could not be read may have been the one that mattered; the rest passes."""
    status, reason, text = ended(outcome(0), told("done", unreadable=("line 3: torn", "line 4: not an event")))
    assert (status, reason) == ("crashed", "bad_events")
    assert text == "events that cannot be read: line 3: torn"


def test_garbage_does_not_hide_how_the_process_ended():
    """Fault: a torn last line, which every killed worker may leave, hides the signal or the failure."""
    torn = ("line 9: torn",)
    assert ended(outcome(None, 9), told(begun("warm"), unreadable=torn))[0] == "killed"
    assert ended(outcome(None, 11), told(unreadable=torn))[1:] == (
        "crashed",
        "ended by SIGSEGV in phase interpreter",
    )
    assert ended(outcome(1), told(failure(memory=True), unreadable=torn))[0] == "oom"
    assert ended(outcome(None, 9, "timeout"), told(unreadable=torn))[0] == "timeout"


def test_the_severity_is_the_designs():
    """Fault: a cell with a wrong result and a timeout is shown as the lesser of the two."""
    assert list(classify.WORST_FIRST) == DESIGNED
    assert sorted(set(DESIGNED), key=classify.severity) == DESIGNED


def test_every_status_but_ok_has_a_severity():
    """Fault: a status that was added and has no place ends the whole table."""
    assert {*classify.WORST_FIRST, "ok"} == set(get_args(Status))
    assert len(classify.WORST_FIRST) == len(set(classify.WORST_FIRST))
    with pytest.raises(ValueError):
        classify.severity("ok")


def test_clocks_compare_only_within_one_boot_and_time_namespace():
    """Fault: readings of two clocks are subtracted: a start of the engine that was never measured."""
    frame = classify.clock_frame()
    assert frame["boot_id"] and classify.same_clock({"at_s": 1.0, **frame})
    for name in frame:
        assert not classify.same_clock({**frame, name: "another"})
        assert not classify.same_clock({key: value for key, value in frame.items() if key != name})
