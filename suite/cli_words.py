# SPDX-License-Identifier: Apache-2.0
"""The words of the command line, what each means, and what all verbs use of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

WORDS: dict[str, str] = {
    "stack": "The stack to measure: a folder of docker/.",
    "engine": "Where samples run: docker, podman or local. Default: the first that is there.",
    "targets": "CPU, GPU, XLA_CPU, XLA_GPU. Default: all; naming one makes its absence exit 3.",
    "shapes": "Sizes n of the n x n matmul. Default: those of the profile.",
    "samples": "Samples of each kind a cell. Default: those of the profile.",
    "repeats": "Whole processes of the snippet. Default: 1; 5 to publish.",
    "profile": "quick, full or publish. Default: quick.",
    "level": "process (caches kept), jit (new empty caches) or disk (files dropped, too). Default: jit.",
    "placement": "device, jit or all.",
    "dtype": "float32, or bfloat16 where the stack has it (PyTorch).",
    "precision": "default, ieee, tf32 or bf16.",
    "gpu": "Index or UUID of the GPU.",
    "cpus": "CPUs' worth of time that a container may use, such as 0.5. Default: no limit.",
    "cpuset": "CPUs that a container may run on, such as 0 or 0-3. Default: all.",
    "build_args": "Arguments of the Dockerfile, should the image have to be built: A=x B=y.",
    "budget": "Seconds for the whole run. Default: 600 in quick.",
    "timeout": "Seconds for one sample. Default: 300.",
    "resume": "Folder of what ended early (a run, comparison or explanation): finish what is missing.",
    "out": "Folder for results. Default: results.",
    "python": "The stack's Python: a minor (3.7) or an interpreter's path.",
    "wheels": "cpu or cuda. Default: cuda where an NVIDIA driver is present.",
    "adopt": "1: use the interpreter of --python as it is, with its own packages.",
}

OF_COMPARE: dict[str, str] = {
    "stacks": "The stacks to measure, interleaved in one run: two or more folders of docker/.",
    "runs": "Folders of stored runs to compare instead of measuring; or one of a comparison.",
    "baseline": "What the others are judged beside. Default: the first named.",
    "margin": "Share within which two times are the SAME: 0.05, 5% or none. Default: 0.05.",
    "allow": "Fields that may differ all the same, such as threads: verdicts are marked.",
    "fail_on": "ambiguous (exit 1 on SLOWER, 6 on AMBIGUOUS), slower, or none. Default: ambiguous.",
}
#: How tables are printed: no word of what is measured.
OF_VIEW: dict[str, str] = {
    "format": "simple, github, grid, plain, html, latex or csv. Default: simple.",
    "layout": "wide (a table for each question) or long (a row a cell). Default: wide.",
}
OF_EXPLAIN: dict[str, str] = {
    "ablations": "What to take away, such as second-shape,autotuning-off. Default: all that apply.",
}
_ALL = {**WORDS, **OF_COMPARE, **OF_VIEW, **OF_EXPLAIN}

Command = Callable[..., Any]


def with_words(*names: str) -> Callable[[Command], Command]:
    """Return what gives a verb an option for each of these words, in their order."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = click.option(
                f"--{name.replace('_', '-')}", default=None, metavar=name.upper(), help=_ALL[name]
            )(command)
        return command

    return decorate


def command_line() -> list[str]:
    """Return this command as run.json keeps it."""
    return ["python", "-m", "suite", *sys.argv[1:]]


def show(text: str) -> None:
    """Print a table as it is."""
    click.echo(text, nl=False)
