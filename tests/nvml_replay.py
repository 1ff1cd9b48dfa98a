# SPDX-License-Identifier: Apache-2.0
"""Stands for the module ``pynvml`` and answers from a recording (``tests/benchmarks/record_nvml.py`` makes them)."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.benchmarks.record_nvml import short

DATA = Path(__file__).parent / "data" / "nvml"


class NVMLError(Exception):
    """As pynvml's: its ``value`` is NVML's code."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class Recorded:
    """Answers every call with what the current line of a recording says, else with what its first line says.

    A function that is in neither is one that this pynvml lacks, with constants that are in neither one that the GPU
    does not support; ``{"error": code}`` is raised. ``calls`` is what was asked.
    """

    NVMLError = NVMLError

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.static = lines[0]["calls"]
        self.lines = lines[1:]
        self.at = 0
        self.calls: list[str] = []

    @classmethod
    def load(cls, name: str) -> Recorded:
        text = (DATA / name).read_text(encoding="utf-8")
        return cls([json.loads(line) for line in text.splitlines()])

    @property
    def now(self) -> dict[str, Any]:
        return self.lines[self.at] if self.lines else {"calls": {}}

    def seek(self, phase: str, behind_s: float = 0.0) -> None:
        """Go to the first line of a phase, or to that so long after it."""
        first = next(k for k, line in enumerate(self.lines) if line["phase"] == phase)
        at_s = self.lines[first]["at_s"] + behind_s
        self.at = next(k for k, line in enumerate(self.lines) if k >= first and line["at_s"] >= at_s)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML_"):
            return short(name)
        if name in ("nvmlInit", "nvmlShutdown"):
            return lambda: self._answer(f"{name}()", default=None)
        if name == "nvmlDeviceGetHandleByIndex":
            return lambda index: self._answer(f"{name}({index})", default=index)
        known = {key.split("(")[0] for key in (*self.static, *self.now["calls"])}
        if name not in known:
            raise AttributeError(name)
        return functools.partial(self._device, name)

    def _device(self, name: str, handle: Any = None, *constants: str) -> Any:
        return self._answer(f"{name}({', '.join(constants)})")

    def _answer(self, key: str, default: Any = ...) -> Any:
        self.calls.append(key)
        value = self.now["calls"].get(key, self.static.get(key, default))
        if value is ...:
            raise NVMLError(3)  # NVML_ERROR_NOT_SUPPORTED
        if isinstance(value, dict) and "error" in value:
            raise NVMLError(value["error"])
        return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**value)
    return (
        [_object(each) if isinstance(each, dict) else each for each in value] if isinstance(value, list) else value
    )
