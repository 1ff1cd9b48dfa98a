# SPDX-License-Identifier: Apache-2.0
"""The words that a user types (STACK=, SHAPES=, ...) and what they may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from suite.errors import SuiteError
from suite.exits import Exit
from suite.levels import LEVELS
from suite.plan import PROFILES, Profile
from suite.stack import ROOT, TARGETS, Wheels

SMALLEST_N, LARGEST_N = 2, 46_000
DTYPES = ("float32", "bfloat16")
PRECISIONS = ("default", "ieee", "tf32", "bf16")
PLACEMENTS = ("device", "jit", "all")
WHEELS = ("cpu", "cuda")
#: Words that say where, not what: a path is not kept with a run.
NOT_KEPT = ("out", "resume")


@dataclass(frozen=True)
class Words:
    """A measurement as asked for, checked as far as it can be without a machine."""

    stack: str
    profile: Profile
    targets: list[str]
    targets_by_name: bool
    shapes: list[int]
    shapes_given: bool
    samples: int
    repeats: int
    level: str
    placement: str | None
    dtype: str
    precision: str
    budget_s: float
    timeout_s: float
    out: Path
    engine: str | None
    python: str | None
    adopt: bool
    gpu: str | None
    cpus: float | None
    cpuset: str | None
    build_args: dict[str, str]
    wheels: Wheels | None
    given: dict[str, str]
    """What was typed, word by word: RESUME= goes on by it."""


def parse(given: Mapping[str, str | None]) -> Words:
    """Check the words of one command; ``given`` maps lower-case names to what was typed, or None.

    Raises
    ------
    SuiteError
        USAGE: names the word, what was typed and what may be.
    """
    profile = PROFILES[_one_of(given, "profile", tuple(PROFILES), "quick")]
    targets = _targets(given.get("targets"))
    level = _one_of(given, "level", LEVELS, "jit")
    dtype = _one_of(given, "dtype", DTYPES, "float32")
    return Words(
        stack=given.get("stack") or "",
        profile=profile,
        targets=targets or list(TARGETS),
        targets_by_name=bool(targets),
        shapes=_shapes(given.get("shapes")) or list(profile.shapes),
        shapes_given=bool(given.get("shapes")),
        samples=int(_number(given, "samples", profile.samples, 1, 1000, whole=True)),
        repeats=int(_number(given, "repeats", 1, 1, 100, whole=True)),
        level=level,
        placement=_one_of(given, "placement", PLACEMENTS, "") or None,
        dtype=dtype,
        precision=_one_of(given, "precision", PRECISIONS, "default"),
        budget_s=_number(given, "budget", profile.budget_s, 1, 30 * 86400.0),
        timeout_s=_number(given, "timeout", 300.0, 1, 86400.0),
        out=_folder(given.get("out")),
        engine=given.get("engine") or None,
        python=given.get("python") or None,
        adopt=_one_of(given, "adopt", ("0", "1"), "0") == "1",
        gpu=_gpu(given.get("gpu")),
        cpus=_number(given, "cpus", 0.0, 0.01, 4096) or None,
        cpuset=_cpuset(given.get("cpuset")),
        build_args=build_arguments(given.get("build_args")),
        given={name: value for name, value in sorted(given.items()) if value and name not in NOT_KEPT},
        wheels=cast("Wheels | None", _one_of(given, "wheels", WHEELS, "") or None),
    )


def listed(value: str | None) -> list[str]:
    """Return the parts of a list, separated by commas or spaces; none of them twice."""
    return list(dict.fromkeys(part for part in re.split(r"[,\s]+", value or "") if part))


def _some(word: str, value: str | None) -> list[str]:
    found = listed(value)
    if value and not found:
        raise _usage(word, value, "names nothing")
    return found


def _targets(value: str | None) -> list[str]:
    found = _some("TARGETS", value)
    for each in found:
        if each not in TARGETS:
            raise _usage("TARGETS", each, f"is none of {', '.join(TARGETS)}")
    return found


def _shapes(value: str | None) -> list[int]:
    found = []
    for each in _some("SHAPES", value):
        # The length first: Python refuses to convert thousands of digits.
        is_number = each.isascii() and each.isdigit() and len(each) <= 9
        if not is_number or not SMALLEST_N <= int(each) <= LARGEST_N:
            raise _usage("SHAPES", each[:40], f"is no whole number from {SMALLEST_N} to {LARGEST_N}")
        found.append(int(each))
    return sorted(set(found))


def _folder(value: str | None) -> Path:
    try:
        return Path(value or ROOT / "results").expanduser().absolute()
    except RuntimeError as error:  # ~somebody who does not exist
        raise _usage("OUT", str(value), f"cannot be found: {error}") from error


def _cpuset(value: str | None) -> str | None:
    if value and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", value):
        raise _usage("CPUSET", value, "is no list of CPUs such as 0 or 0-3,8")
    return value or None


def build_arguments(text: str | None) -> dict[str, str]:
    """Return the arguments of BUILD_ARGS="A=x B=y"; USAGE where one is not NAME=value."""
    out = {}
    for part in (text or "").split():
        name, equals, value = part.partition("=")
        if not equals or not name.isidentifier():
            raise SuiteError(Exit.USAGE, f"BUILD_ARGS={text}: {part!r} is not NAME=value")
        out[name] = value
    return out


def _gpu(value: str | None) -> str | None:
    if value and not re.fullmatch(r"\d+|(GPU|MIG)-[0-9a-fA-F-]+", value):
        raise _usage("GPU", value, "is neither an index nor a UUID as nvidia-smi -L prints it")
    return value or None


def _one_of(given: Mapping[str, str | None], word: str, known: tuple[str, ...], default: str) -> str:
    value = given.get(word) or default
    if value not in known and value != default:
        raise _usage(word.upper(), value, f"is none of {', '.join(known)}")
    return value


def _number(
    given: Mapping[str, str | None],
    word: str,
    default: float,
    least: float,
    most: float,
    whole: bool = False,
) -> float:
    text = given.get(word)
    if not text:
        return default
    kind = "whole number" if whole else "number"
    try:
        if "_" in text:  # Python would take it
            raise ValueError
        value = float(int(text)) if whole else float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise _usage(word.upper(), text, f"is no {kind} from {least:g} to {most:g}")
    return value


def _usage(word: str, value: str, what: str) -> SuiteError:
    return SuiteError(Exit.USAGE, f"{word}={value}: {value!r} {what}")
