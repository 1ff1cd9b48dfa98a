# SPDX-License-Identifier: Apache-2.0
"""Explanations of synthetic workers whose times, and signs of causes, are known arm by arm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.exits import Exit
from suite.explain import run as explaining
from suite.explain.explanation import Explained, Explanation
from suite.levels import FLAGGED
from suite.records import to_json
from tests.synthetic import RECORDING, STACK, Draw, Model, Synthetic, in_place, noisy

ARMS = (
    "unablated",
    "second-shape",
    "same-shape-again",
    "autotuning-off",
    "all-together",
    "plain-GPU",
    "plain-CPU",
)


@dataclass(frozen=True)
class Arm:
    """What the workers of one arm tell. ``said``: lines that the framework logs in the first execution.

    ``cpu_s`` and ``libraries_kb``: what the first call uses and touches.
    """

    cold: float | Draw = 0.06
    warm: float = 2e-3
    said: str = ""
    cpu_s: float = 0.06
    libraries_kb: int = 0
    chooses: Mapping[str, int] = field(default_factory=dict)
    """Files that a priming sample adds to the cache of its choices where they lack, with their size in bytes."""
    ratios: Mapping[str, float] | None = None


@dataclass
class ByArm(Synthetic):
    """A launcher that plays each arm's own model; arms that are not named play that of ``unablated``."""

    arms: Mapping[str, Arm] = field(default_factory=dict)

    def __call__(self, argv: Any, *, folder: Path, **given: Any) -> Any:
        name = folder.parent.parent.name
        arm = self.arms.get(name, self.arms.get("unablated", Arm()))
        targets = ("CPU", "XLA_CPU", "GPU", "XLA_GPU")
        self.models = {f"{target}.device": Model(arm.cold, noisy(arm.warm)) for target in targets}
        outcome = super().__call__(argv, folder=folder, **given)
        if folder.name.startswith("priming"):
            for choice in (folder / "cache" / FLAGGED / each for each in arm.chooses):
                if not choice.exists():
                    choice.write_bytes(b"x" * arm.chooses[choice.name])
        path = folder / "events.jsonl"
        told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        (folder / "stderr.txt").write_bytes(_with(told, (folder / "stderr.txt").read_bytes(), arm.said.encode()))
        if folder.name.startswith("prepared"):
            touched = {"cpu_s": arm.cpu_s, "threads": 0, "faults": 0, "libraries": {"libx.so": arm.libraries_kb}}
            told.append({"event": "touched", "v": 1, **touched})
        for event in told:
            if event["event"] == "result" and arm.ratios is not None:
                event["ratios"] = dict(arm.ratios)
        path.write_text("".join(to_json(event) + "\n" for event in told), encoding="utf-8")
        return outcome


def _with(told: list[dict[str, Any]], said: bytes, more: bytes) -> bytes:
    """Return a log with ``more`` at the end of the first execution; the events' places in it are moved."""
    first = next((each for each in told if each.get("name") == "first_execution" and "stderr_bytes" in each), None)
    if first is None or not more:
        return said
    end = first["stderr_bytes"][1]
    for event in told:
        if "stderr_bytes" in event:
            begin, stop = event["stderr_bytes"]
            event["stderr_bytes"] = [begin + len(more) * (begin >= end), stop + len(more) * (stop >= end)]
    return said[:end] + more + said[end:]


@dataclass(frozen=True)
class Told:
    """A finished explanation."""

    code: Exit
    folder: Path
    text: str
    explanation: Explanation

    @property
    def cell(self) -> Explained:
        return self.explanation.cells[0]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    def entry(self, name: str) -> Any:
        assert self.cell.account is not None
        return next(each for each in self.cell.account.entries if each.name == name)


def explained(out: Path, arms: Mapping[str, Arm], **given: str) -> Told:
    """Run ``explain`` on workers of known arms. Its sheet fits a terminal, but for lines that are pasted."""
    asked = {"stack": STACK, "targets": "XLA_CPU", "shapes": "500", "samples": "5", "out": str(out), **given}
    devices = [f"/device:{name}:0" for name in ("CPU", "GPU", "XLA_CPU", "XLA_GPU")]
    texts: list[str] = []
    with in_place(ByArm(arms=arms, devices=devices)):
        code, folder = explaining.run(asked, {}, ["explain"], texts.append, recording=RECORDING)
    _, found = explaining.derive(folder)
    kept = [line for line in texts[0].splitlines() if "export " not in line and not line.startswith("- a ")]
    assert all(len(line) <= 80 for line in kept), max(kept, key=len)
    return Told(code, folder, texts[0], found)
