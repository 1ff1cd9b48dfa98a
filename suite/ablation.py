# SPDX-License-Identifier: Apache-2.0
"""What an ablation is: one thing that is taken away, how that is done, and by what sign it is seen. Data only.

Those of one stack stand in its stack.toml (``[[ablations]]``), because an unknown flag aborts the process; those that
are the same everywhere stand in :mod:`suite.explain.general`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

#: Variables that hold a list of flags: what is added goes behind what is there, separated by this.
JOINED = {"XLA_FLAGS": " ", "TF_XLA_FLAGS": " ", "TF_CPP_VMODULE": ",", "LIBTPU_INIT_ARGS": " "}

#: Where in the account of a cold time a cause belongs. Listed beside it only: "", and "whole", which takes away what
#: other causes do.
Role = Literal["", "tuning", "driver_jit", "first_use", "other", "whole"]


class Mechanism(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By what sign in a sample a cause is seen; what it counts must shrink where the cause is taken away.

    Parameters
    ----------
    kind
        ``stderr``: lines that match ``pattern`` while the phases went on; where the pattern has a group that takes
        part, different values of it are counted once. ``cache``: files below the private cache folders whose path
        matches ``pattern`` and that the sample made or changed. ``file``: matches of ``pattern`` in the file
        ``where``, below the folder where the worker runs. ``compiles``, ``compile_s``: what the stack's compile log
        counts, and its seconds. ``libraries``: kB of shared libraries that the first call touched for the first time.
        ``threads``: threads that it started. ``fact``: 1 where the fact named ``where`` matches ``pattern``.
    seen_as
        In plain words, such as "entries in XLA's file of autotune results".
    phases
        Of ``stderr``, ``compiles`` and ``compile_s``: phases that count. Those that make up cold, where none is named.
    """

    kind: Literal["stderr", "cache", "file", "compiles", "compile_s", "libraries", "threads", "fact"]
    seen_as: str
    pattern: str = ""
    where: str = ""
    phases: list[str] = []


class Ablation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is taken away, or a what-if that adds one.

    Parameters
    ----------
    name
        Two or three words; what the arm is called.
    takes_out
        In plain words, what is not paid any more.
    cause
        What the account calls that; the ablation's own name where it is not given.
    targets, placements
        Where it applies; all where the list is empty.
    environment
        Variables of the worker. Lists of flags (``JOINED``) are added to, others replaced.
    watch
        Variables that every arm gets so that the mechanism can be seen, the unablated one first of all.
    prepare
        ``second_shape``: the preparatory call is as large as the cell's own, of another size; ``same_shape``: it is the
        same call, from a function or graph of its own.
    level, precision, threads
        Of the cell, where it is not what was asked for.
    own_cache
        It brings a cache of its own: level ``process`` also where the target has no JIT cache.
    over
        The name of another ablation: this one takes away what that one does, and more. What it saves is told beside
        that arm and not beside the unablated one, whose own times may vary by more. Never part of "all together".
    what_if
        It adds a cost or changes what is computed: never part of "all together".
    remedy
        The line to paste where it helps a user; with one its first result is measured as well.
    mechanism
        None: nothing can show it, and it is never proven.
    role
        What it is in the account.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9 .+_-]*$", max_length=40)]
    takes_out: str
    cause: str = ""
    targets: list[Literal["CPU", "GPU", "XLA_CPU", "XLA_GPU"]] = []
    placements: list[str] = []
    environment: dict[str, str] = {}
    watch: dict[str, str] = {}
    prepare: Literal["", "second_shape", "same_shape"] = ""
    level: Literal["", "process"] = ""
    precision: str = ""
    threads: int = 0
    own_cache: bool = False
    over: str = ""
    what_if: bool = False
    remedy: str = ""
    mechanism: Mechanism | None = None
    role: Role = "other"

    @property
    def slug(self) -> str:
        """The name as a folder is called."""
        return "".join(each if each.isalnum() or each in ".+_-" else "-" for each in self.name.lower())

    @property
    def counts_as(self) -> str:
        """The cause that it takes away, as the account calls it."""
        return self.cause or self.name

    def applies(self, target: str, placement: str) -> bool:
        """Tell whether it says anything about cells of this target and placement."""
        return (not self.targets or target in self.targets) and (
            not self.placements or placement in self.placements
        )


def merged(base: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with ``more`` in it: flags behind those that are there, other variables replaced."""
    out = dict(base)
    for name, value in more.items():
        separator = JOINED.get(name)
        there = out.get(name, "")
        if separator is None or not there:
            out[name] = value
        else:
            known = there.split(separator)
            added = [each for each in value.split(separator) if each not in known]
            out[name] = separator.join([there, *added]) if added else there
    return out


def conflict(one: Ablation, other: Ablation) -> str:
    """Return what two ablations set to different values, "" where they can be applied together."""
    for name, value in one.environment.items():
        if name not in JOINED and other.environment.get(name, value) != value:
            return name
    for name in ("level", "precision", "threads"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine and theirs and mine != theirs:
            return name
    return ""


def _one_a_cause(ablations: list[Ablation]) -> list[Ablation]:
    chosen: dict[str, Ablation] = {}
    for each in ablations:
        there = chosen.get(each.counts_as)
        if there is None or (each.level and not there.level):
            chosen[each.counts_as] = each
    return [each for each in ablations if chosen[each.counts_as] is each]


def together(ablations: list[Ablation]) -> Ablation | None:
    """Return all that can be taken away at once, in one; None where that is fewer than two.

    What-ifs are left out, what goes beyond another one, and what contradicts one that stands before it. A call at the
    same shape takes out what one at a second shape does, so that these two alone are one. Of two ways to take one cause
    away only that which keeps what an earlier process did is in it: it leaves the later calls as they are.
    """
    members: list[Ablation] = []
    for each in _one_a_cause(ablations):
        if not each.what_if and not each.over and not any(conflict(each, other) for other in members):
            members.append(each)
    if len({each.name for each in members if each.prepare != "second_shape"}) < 2:
        return None
    environment: dict[str, str] = {}
    for each in members:
        environment = merged(environment, each.environment)
    prepares = [each.prepare for each in members]
    return Ablation(
        name="all together",
        takes_out=", ".join(each.name for each in members),
        environment=environment,
        prepare="same_shape" if "same_shape" in prepares else max(prepares),
        level="process" if any(each.level for each in members) else "",
        precision=next((each.precision for each in members if each.precision), ""),
        threads=max(each.threads for each in members),
        own_cache=any(each.own_cache for each in members),
        role="",
    )
