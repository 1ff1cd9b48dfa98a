# SPDX-License-Identifier: Apache-2.0
"""What became of a worker: from how its process ended and what it told, to a status and a reason."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.cuda_libraries import missing_libraries
from suite.engines.advice import About
from suite.engines.errors import known
from suite.events import Events
from suite.launch import Outcome
from suite.records import Reason, Status
from suite.room import Room, says_out_of_memory
from suite.visible import why_hidden

#: Where samples of a cell differ, it takes the first of these that one of them has.
WORST_FIRST: tuple[Status, ...] = (
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
)

Ending = tuple[Reason, Status]


def severity(status: Status) -> int:
    """Return the place of a status that is not ok in WORST_FIRST."""
    return WORST_FIRST.index(status)


def ending(
    outcome: Outcome, told: Events, stderr: str, raw_file: str, timeout_s: float, room: Room | None = None
) -> Ending | None:
    """Return why a sample ended without measuring, or None where it went through all its steps.

    ``room``: what its cell needs of its device's memory, and what was free.
    """
    where = f"in phase {told.last_phase()}"
    if outcome.ended_by.startswith("interrupt"):
        text = f"{outcome.ended_by.partition(': ')[2]}, {where}"
        return Reason("interrupted", text, "Run it again.", raw_file), "interrupted"
    if outcome.ended_by == "timeout":
        text = f"not done after {timeout_s:g} s, {where}"
        return Reason("timeout", text, "TIMEOUT= sets the seconds that one sample may take.", raw_file), "timeout"
    failure = told.first("failure")
    if failure:
        return _failure(failure, where, raw_file, stderr, room)
    if outcome.signal is not None:
        return _by_signal(outcome.signal, where, stderr, raw_file)
    if outcome.exit_code != 0 or told.first("done") is None:
        last = _last_line(stderr)
        text = f"ended with exit code {outcome.exit_code} {where}" + (f": {last}" if last else "")
        return Reason("crashed", text, "The raw file holds what it said.", raw_file), "crashed"
    if told.unreadable:
        text = f"events that cannot be read: {told.unreadable[0]}"
        return Reason("bad_events", text, "The raw file's folder holds them.", raw_file), "crashed"
    return None


def _failure(
    failure: Mapping[str, Any], where: str, raw_file: str, stderr: str, room: Room | None = None
) -> Ending:
    if failure.get("type") == "Unavailable":
        device = str(failure["text"]).split(" is not among")[0]
        return unavailable(device, failure["devices"] or [], raw_file, stderr)
    if failure.get("type") == "NotOffered":
        code, next_step = str(failure["code"]), str(failure["next_step"])
        return Reason(code, str(failure["text"])[:300], next_step, raw_file), "unavailable"
    said = str(failure.get("text"))
    text = f"{failure.get('type')} {where}: {said[:300]}"
    if failure.get("out_of_memory") or says_out_of_memory(f"{said}\n{stderr}", room):
        if room is not None:
            text = f"{room.text()}; {failure.get('type')} {where}: {_first_line(said)}"
        return Reason("out_of_memory", text, "Ask for smaller SHAPES=, or free memory.", raw_file), "oom"
    return Reason("exception", text, "The raw file holds the traceback.", raw_file), "crashed"


def unavailable(
    device: str, devices: Sequence[str], raw_file: str | None, stderr: str = "", visible: str | None = None
) -> Ending:
    """Return the ending of a sample whose device does not exist in this process.

    ``stderr``: the framework's own words, which may name the CUDA library or the driver's fault that keeps it away;
    ``visible``: the process's CUDA_VISIBLE_DEVICES, None where it has none.
    """
    kind = device.split(":")[1] if ":" in device else device
    if "GPU" in kind:
        missing = missing_libraries(stderr, devices)
        if missing is not None:
            return Reason("cuda_library_missing", missing.text, missing.next_step, raw_file), "unavailable"
        found = known(None, stderr, About(), "ask")
        if found is not None and found.code in _BY_ENGINE:
            return Reason(found.code, f"no {kind}: {found.text}", found.next_step, raw_file), _BY_ENGINE[
                found.code
            ]
    sees = f"the framework sees {', '.join(_short(each) for each in devices)}"
    hidden = why_hidden(visible) if "GPU" in kind else ""
    if hidden:
        step = "Unset the variable, or name a GPU as nvidia-smi -L does: GPU=0, or GPU=<its UUID>."
        return Reason("hidden_by_variable", f"no {kind}: {hidden}; {sees}", step, raw_file), "unavailable"
    return Reason("no_device", f"no {kind}: {sees}", "make doctor says why.", raw_file), "unavailable"


#: Failures that leave a sample without its GPU, and what they are as a status; all others are crashes.
_BY_ENGINE: dict[str, Status] = {
    "gpu_lost": "gpu_lost",
    **dict.fromkeys(
        ("driver_mismatch", "driver_missing", "driver_not_loaded", "driver_too_old", "forward_compatibility"),
        "unavailable",
    ),
    "wsl_no_gpu": "unavailable",
}


def by_engine(outcome: Outcome, client_stderr: str, about: About, raw_file: str) -> Ending | None:
    """Return why a container engine could not run a sample, or None where nothing known was said.

    Parameters
    ----------
    client_stderr
        What the engine's client said, which is kept in ``raw_file``; the worker's own words are not in it.
    """
    found = known(outcome.exit_code, client_stderr, about, "run")
    if found is None or outcome.ended_by != "itself":
        return None
    return Reason(found.code, found.text, found.next_step, raw_file), _BY_ENGINE.get(found.code, "crashed")


def _short(device: str) -> str:
    return device.replace("/device:", "")


def _by_signal(number: int, where: str, stderr: str, raw_file: str) -> Ending:
    named = {each.value: each.name for each in signal.Signals}
    name = named.get(number, f"signal {number}")
    if number == signal.SIGKILL:
        text = f"killed ({name}) {where}, not by coldwarm"
        next_step = "The kernel does this when memory runs out: see its log."
        return Reason("killed", text, next_step, raw_file), "killed"
    last = _last_line(stderr)
    text = f"ended by {name} {where}" + (f": {last}" if last else "")
    return Reason("crashed", text, "The raw file holds what it said.", raw_file), "crashed"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:160]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def same_clock(started: Mapping[str, Any]) -> bool:
    """Tell whether a worker's clock may be compared with ours: same boot, same time namespace."""
    return all(started.get(name) == value for name, value in clock_frame().items())


def clock_frame() -> dict[str, str]:
    """Return what decides whether another process may compare clock readings with ours."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot_id = ""
    try:
        namespace = os.readlink("/proc/self/ns/time")  # noqa: PTH115 - not a path
    except OSError:
        namespace = ""
    return {"boot_id": boot_id, "time_namespace": namespace}
