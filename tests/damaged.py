# SPDX-License-Identifier: Apache-2.0
"""A tree of results in which one run is good and everything else is damaged, each in its own way."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.journal import RUN, SAMPLES
from suite.records import SCHEMA
from suite.stack import ROOT

EXAMPLE = ROOT / "results" / "examples" / "bench-tf1.14-cuda10"
Fields = dict[str, Any]


def copied(to: Path, run_id: str = "", **changed: Any) -> Path:
    """Copy the raw files of a real run, as another run where ``run_id`` is given."""
    to.mkdir(parents=True)
    fields = json.loads((EXAMPLE / RUN).read_bytes())
    fields.update({"run_id": run_id} if run_id else {}, **changed)
    (to / RUN).write_text(json.dumps(fields), encoding="utf-8")
    shutil.copy(EXAMPLE / SAMPLES, to / SAMPLES)
    return to


def change_line(run: Path, sample: str, change: Callable[[bytes], bytes]) -> int:
    """Change the line of one sample; return its number."""
    lines = (run / SAMPLES).read_bytes().splitlines()
    place = next(k for k, line in enumerate(lines) if f'"id": "{sample}"'.encode() in line)
    lines[place] = change(lines[place])
    (run / SAMPLES).write_bytes(b"\n".join(lines) + b"\n")
    return place + 1


def in_milliseconds(line: bytes) -> bytes:
    """Return a sample whose cold time alone is in milliseconds."""
    fields = json.loads(line)
    fields["cold_s"] *= 1000
    return json.dumps(fields).encode()


def with_commas(line: bytes) -> bytes:
    """Return a sample whose times were written by a German spreadsheet."""
    fields = json.loads(line)
    return json.dumps({**fields, "cold_s": f"{fields['cold_s']:.6f}".replace(".", ",")}).encode()


def newer(data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "schema": SCHEMA + 1}).encode()


def nan(line: bytes) -> bytes:
    return line.replace(b'"cold_s": ', b'"cold_s": NaN, "was": ', 1)


#: What is done to a run.json, and the reason that must be given.
RUNS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[: len(data) // 2], "not JSON: "),
    "empty": (lambda data: b"", "not JSON: Expecting value"),
    "nan": (lambda data: data.replace(b'"seed": ', b'"seed": NaN, "was": ', 1), "not JSON: NaN is not JSON"),
    "newer": (newer, f"schema {SCHEMA + 1}; a newer coldwarm wrote it"),
    "commas": (lambda data: data.replace(b'"budget_s": 600.0', b'"budget_s": 600,0', 1), "not JSON: "),
    "units": (lambda data: data.replace(b'"timeout_s": 300.0', b'"timeout_ms": 300000', 1), "`timeout_s`"),
    "huge": (lambda data: b'{"a": "' + b"x" * (17 * 2**20) + b'"}', "longer than 16 MiB"),
    "a-list": (lambda data: b"[]", "not an object"),
    "nameless": (
        lambda data: data.replace(b'"sha256": ', b'"sha": ', 1).replace(b'"name": "tf', b'"n": "tf'),
        "'name'",
    ),
}
#: What is done to one line of samples.jsonl, and the reason.
LINES: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "truncated": ("prepared.CPU.device.50.1", lambda line: line[: len(line) // 2], "skipped: "),
    "nan": ("prepared.CPU.device.500.1", nan, "skipped: NaN is not JSON"),
    "newer": ("prepared.CPU.device.2000.1", newer, f"skipped: schema {SCHEMA + 1}; a newer coldwarm"),
    "commas": (
        "prepared.XLA_CPU.device.50.1",
        with_commas,
        "got `str` - at `$.cold_s`",
    ),
    "units": ("prepared.XLA_CPU.device.500.1", in_milliseconds, "s, its phases of "),
    "huge": ("prepared.XLA_CPU.device.2000.1", lambda line: b"x" * (17 * 2**20), "skipped: longer than 16 MiB"),
}


def make(top: Path) -> Path:
    """Make the tree and return the good run's folder."""
    good = copied(top / "good", "20261202T000000Z-00000a")
    for name, (change, _) in RUNS.items():
        run = copied(top / f"run-{name}", f"20261202T000000Z-run-{name}")
        (run / RUN).write_bytes(change((run / RUN).read_bytes()))
    lines = copied(top / "lines", "20261202T000000Z-00000b")
    for sample, change, _ in LINES.values():
        change_line(lines, sample, change)
    twin = copied(top / "twin", "20261202T000000Z-00000a")
    change_line(twin, "prepared.CPU.device.50.1", lambda line: line.replace(b'"block": 1', b'"block": 2', 1))
    shutil.copytree(good, top / "z-copy")
    (top / "loop").symlink_to(top, target_is_directory=True)
    (top / "itself").symlink_to("itself")
    (top / "linked").mkdir()
    (top / "linked" / RUN).symlink_to(RUN)
    (top / "pipe").mkdir()
    os.mkfifo(top / "pipe" / RUN)
    copied(top / "orphan", "x")
    (top / "orphan" / RUN).unlink()
    return good
