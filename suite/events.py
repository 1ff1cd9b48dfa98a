# SPDX-License-Identifier: Apache-2.0
"""Read what a worker told: its events file, which a fault may have torn or filled with garbage."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.records import from_json

PROTOCOL = 1

#: A line longer than this is garbage: the longest honest one holds 2,000 warm calls.
_LONGEST = 4_000_000


@dataclass
class Events:
    """The events of one sample in order, and what could not be read."""

    all: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def first(self, name: str) -> dict[str, Any] | None:
        """Return the first event of that name, or None."""
        return next((event for event in self.all if event["event"] == name), None)

    def every(self, name: str) -> list[dict[str, Any]]:
        """Return all events of that name, in order."""
        return [event for event in self.all if event["event"] == name]

    def last_phase(self) -> str:
        """Return the phase that had begun last: where a worker was when it ended."""
        begun = self.every("phase_begin")
        return str(begun[-1]["name"]) if begun else "interpreter"


def read(path: Path) -> Events:
    """Read an events file; what is not a whole event of this protocol is set aside with its reason."""
    events = Events()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return events
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        if not raw:
            continue
        try:
            events.all.append(_event(raw))
        except ValueError as error:
            torn = number == len(lines)
            events.unreadable.append(f"line {number}: {'torn' if torn else error}")
    return events


def _event(raw: bytes) -> dict[str, Any]:
    if len(raw) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} bytes")
    event = from_json(raw)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    if event.get("v") != PROTOCOL:
        raise ValueError(f"event version {event.get('v')!r}, expected {PROTOCOL}")
    return event
