# SPDX-License-Identifier: Apache-2.0
"""What ``list`` says: every stack, its versions, and what this machine has of it and can run.

Reads only, no network, runs no interpreter; engines are asked for their images beside the rest and not waited for.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path

from suite import host, made_here, pythons, stack
from suite.engines.choose import ENGINES
from suite.errors import SuiteError
from suite.made_here import Images, Standing

WIDTH = 80

#: At most 80 columns with the longest words.
HEADER = ["stack", "version", "CUDA/DNN", "Python", "state", "ENGINE="]


def text(environ: Mapping[str, str] = os.environ, stacks: Path = stack.STACKS) -> str:
    """Return the table of stacks, for a terminal of 80 columns."""
    asking = made_here.Asking(environ)
    from tabulate import tabulate  # while the engines are asked

    good: list[stack.Stack] = []
    broken = []
    for name in stack.names(stacks):
        try:
            good.append(stack.load(name, stacks))
        except SuiteError as error:
            broken.append(error.what)
    found = asking.answers()
    body: list[list[str]] = []
    with_image: dict[str, list[str]] = {}
    unverified: dict[tuple[str, ...], list[str]] = {}
    for each in sorted(good, key=lambda each: stack.by_version(each.definition)):
        here = made_here.of(each, environ, found)
        if here.state == "unverified":
            unverified.setdefault(here.unverified, []).append(each.name)
        for engine in here.made:
            if engine != "local":
                with_image.setdefault(f"Images of {engine}", []).append(each.name)
        for engine in here.stand_ins:
            with_image.setdefault(f"Images of {engine} on another base, not built", []).append(each.name)
        body.append(_row(each, here, _runs(each, here, found, environ)))
    parts = [
        tabulate(body, HEADER, tablefmt="simple", disable_numparse=True),
        *_notes(found, with_image, unverified),
    ]
    parts += [f"broken_stack: {what}" for what in broken]
    return "\n".join(parts) + "\n"


def _row(each: stack.Stack, here: Standing, runs: str) -> list[str]:
    d = each.definition
    ships = d.cuda.ships
    minors = " ".join(d.python.minors())
    cuda = f"{_short(ships.cuda)}/{_short(ships.cudnn)}"
    return [each.name, d.framework.version, cuda, minors, here.state, runs]


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _runs(each: stack.Stack, here: Standing, found: Images, environ: Mapping[str, str]) -> str:
    """Return the engines that can measure a stack here, or what is missing."""
    ways = [engine for engine in found.labels if each.dockerfile().is_file()]
    minor = each.definition.python.default
    likely = "local" in here.made or pythons.likely(minor, environ)
    if likely or likely is None:
        # A script of that name says nothing until it is run: doctor runs it.
        ways.append("local" if likely else "local?")
    if len(ways) == len(ENGINES):
        return "any"
    return ", ".join(ways) or f"no Python {minor}"


def _notes(
    found: Images, with_image: Mapping[str, list[str]], unverified: Mapping[tuple[str, ...], list[str]]
) -> list[str]:
    lines = [""]
    if host.nvidia_driver_loaded():
        lines.append("Targets here: CPU and XLA_CPU; GPU and XLA_GPU as make doctor says of each stack.")
    else:
        lines.append("Targets here: CPU and XLA_CPU; there is no NVIDIA driver for GPU and XLA_GPU.")
    lines += [f"{what}: {', '.join(names)}." for what, names in with_image.items()]
    for pins, names in unverified.items():
        lines.append(f"Unverified: {', '.join(pins)} of {', '.join(names)} (docs/stacks.md, Evidence).")
    if found.silent:
        lines.append(
            f"No answer from {', '.join(found.silent)}: images there are not counted (make doctor says why)."
        )
    return ["\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  ")) for line in lines]
