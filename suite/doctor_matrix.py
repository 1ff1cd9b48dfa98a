# SPDX-License-Identifier: Apache-2.0
"""All stacks against one GPU, a row each: will the wheel's code run there, and what can this machine do with it?"""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Mapping, Sequence

from suite import drivers, environment, gpu_code, pythons, stack
from suite.errors import SuiteError
from suite.exits import Exit
from suite.gpu_code import Answer
from suite.gpu_facts import Found
from suite.stack import Stack

#: At most 80 columns with the longest words.
HEADER = ["stack", "CUDA", "driver >=", "code on {}", "measured here by"]

_LEGEND = {
    Answer.NATIVE: "the wheel has this GPU's own code",
    Answer.IN_PART: "a part of the kernels has code that runs; the rest is compiled at first use",
    Answer.OLDER_MINOR: "code of an older GPU of the same major runs, nothing is compiled",
    Answer.PTX_JIT: "the driver compiles every kernel at first use, for minutes",
    Answer.PREDATES: "it starts, but its CUDA libraries are older than the GPU: trust no number",
    Answer.CANNOT_RUN: "the wheel, its CUDA or the driver has nothing for this GPU",
}


def capability_word(text: str) -> str:
    """Return CAPABILITY= where it is one. Raises SuiteError (USAGE) where it is not."""
    try:
        gpu_code.capability(text)
    except ValueError as error:
        step = "Two numbers, as 8.6 or 12.0: developer.nvidia.com/cuda-gpus lists them."
        if text.endswith(("a", "f")):
            step = "The letter is of code, not of a GPU: name it without, as 8.6 or 12.0."
        raise SuiteError(Exit.USAGE, f"CAPABILITY={text}: {error}", step) from error
    return text


def matrices(found: Found, asked: str | None, environ: Mapping[str, str], engines: Sequence[str]) -> str:
    """Return the matrix for CAPABILITY=, or one for each kind of GPU that is here, or how to get one.

    ``engines``: the container engines that answer.
    """
    every = sorted(
        (stack.load(name) for name in stack.names()), key=lambda each: stack.by_version(each.definition)
    )
    here = {each.name: how(each, environ, engines) for each in every}
    if asked is not None:
        return matrix(every, asked, None, here) + "The driver of that GPU's machine must be new enough, too.\n"
    kinds = list(dict.fromkeys((gpu.capability, gpu.driver) for gpu in found.gpus if gpu.capability))
    if kinds:
        return "\n".join(matrix(every, str(capability), driver, here) for capability, driver in kinds)
    lines = ["No GPU is here whose capability is known. All stacks against one elsewhere:"]
    return "\n".join([*lines, "  make doctor CAPABILITY=8.6", "", matrix(every, None, None, here)])


def matrix(every: Sequence[Stack], gpu: str | None, driver: str | None, here: Mapping[str, str]) -> str:
    """Return the table of all stacks, for a terminal of 80 columns; ``gpu`` None leaves its column out."""
    from tabulate import tabulate

    body, seen = [], set()
    for each in every:
        row = [each.name, drivers.minor_of(each.definition.cuda.ships.cuda), each.definition.cuda.minimum_driver]
        if gpu is not None:
            answer = gpu_code.verdict(gpu_code.of(each.definition), gpu, _numbers(driver)).answer
            seen.add(answer)
            row.append(answer.short)
        body.append([*row, here[each.name]])
    header = [each.format(gpu) for each in HEADER if gpu is not None or "{}" not in each]
    text = tabulate(body, header, tablefmt="simple", disable_numparse=True) + "\n"
    for answer in (each for each in Answer if each in seen):
        text += textwrap.fill(f"{answer.short}: {_LEGEND[answer]}", 80, subsequent_indent="  ") + "\n"
    if gpu is not None:
        text += "make doctor STACK=... " + (f"CAPABILITY={gpu} " if driver is None else "") + "says why.\n"
    return text


def how(each: Stack, environ: Mapping[str, str], engines: Sequence[str]) -> str:
    """Return by which engines a stack can be measured on this machine, or what is missing. Runs nothing."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"nothing: {platform.machine()}"  # the frameworks come as wheels for x86_64 alone
    ways = [engine for engine in engines if each.dockerfile().is_file()]
    minor = each.definition.python.default
    made = environment.find_made(each, minor, environ=environ, wheels=environment.wheels_for(each))
    likely = True if made else pythons.likely(minor, environ)
    if likely or likely is None:
        ways.append("local" if likely else "local (?)")  # a script of that name says nothing until it is run
    return ", ".join(ways) or f"nothing: no Python {minor}"


def _numbers(driver: str | None) -> str | None:
    try:
        drivers.numbers(driver or "")
    except ValueError:
        return None
    return driver
