# SPDX-License-Identifier: Apache-2.0
"""What the question reported, and the rule that says whether a run reproduces it: data, from question.toml."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser, before it came into the standard library
    import tomli as tomllib


class Device(msgspec.Struct, frozen=True):
    """A device as TensorFlow listed it; ``memory_limit`` in bytes, None where the question does not tell it."""

    name: str
    memory_limit: int | None = None


class Machine(msgspec.Struct, frozen=True):
    """The machine of the question, in words."""

    text: str
    stack: str
    gpu: str
    devices: list[Device]


class Times(msgspec.Struct, frozen=True):
    """One target's times in seconds, by size: the first execution of the cell and the same cell again."""

    target: str
    n: list[int]
    first_s: list[float]
    rerun_s: list[float]


class Rule(msgspec.Struct, frozen=True):
    """Reproduced: at each size ``at``, first / rerun of ``target`` is ``at_least`` and of ``beside`` below."""

    target: str
    at: list[int]
    at_least: float
    beside: str
    beside_below: float


class Question(msgspec.Struct, frozen=True):
    """The whole of question.toml."""

    machine: Machine
    times: list[Times]
    rule: Rule

    def asked(self, target: str, n: int) -> tuple[float, float] | None:
        """Return the question's first and rerun seconds of one target and size, None where it gave none."""
        for each in self.times:
            if each.target == target and n in each.n:
                at = each.n.index(n)
                return each.first_s[at], each.rerun_s[at]
        return None

    def shapes(self) -> list[int]:
        """Return the sizes of the question, ascending."""
        return sorted({n for each in self.times for n in each.n})


@functools.lru_cache(maxsize=1)
def question() -> Question:
    """Return the question's data."""
    text = (Path(__file__).resolve().parent / "question.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Question)
