# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that need an NVIDIA GPU: ``make test-gpu``, with PYTHON= a Python that has the frameworks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from suite import environment, pythons, stack
from suite.telemetry import machine
from tests.gpu.paths import STACKS
from tests.integration.harness import Taker

#: An interpreter that has the frameworks already; without it the stacks' own environments are made from their locks.
ADOPTED = os.environ.get("COLDWARM_GPU_PYTHON")
#: TensorFlow's own: it does not go together with the others' CUDA.
ADOPTED_TF = os.environ.get("COLDWARM_GPU_PYTHON_TF")


@pytest.fixture(scope="session")
def gpu(require) -> machine.Watched:
    """What watches GPU 0; skips the test where there is none."""
    require("gpu")
    return machine.watch("0", None, print)


def _from_its_lock(chosen: stack.Stack) -> environment.Environment:
    """Make a stack's environment with the first Python that it has a lock for and this machine has."""
    wheels, minors = environment.wheels_for(chosen), chosen.definition.python.minors()
    for minor in minors:
        try:
            return environment.prepare(chosen, minor, environ=os.environ, named=None, wheels=wheels, report=print)
        except pythons.NotFound:
            if minor == minors[-1]:
                raise
    raise AssertionError("a stack without a Python")


@pytest.fixture(scope="session")
def made() -> Callable[[str], environment.Environment]:
    """Return a function that gives a stack's environment, found once: to look at an adopted one takes its import."""
    done: dict[str, environment.Environment] = {}

    def find(name: str) -> environment.Environment:
        if name not in done:
            chosen = stack.load(STACKS[name])
            adopted = ADOPTED_TF if name == "tf" else ADOPTED
            if adopted:
                done[name] = environment.adopt(chosen, adopted, environ=os.environ)
            else:
                done[name] = _from_its_lock(chosen)
        return done[name]

    return find


@pytest.fixture
def on(gpu, made, require, tmp_path: Path) -> Callable[[str], Taker]:
    """Return a function that gives what takes samples of "jax", "torch" or "tf"."""

    def taker(name: str) -> Taker:
        if name == "tf":
            require("gpu_tf")
        return Taker(made(name).python, tmp_path / "raw", stack.load(STACKS[name]), watched=gpu)

    return taker


@pytest.fixture
def suite_run(gpu, tmp_path: Path) -> Callable[..., tuple[int, dict[str, dict]]]:
    """Return a function that runs ``python -m suite bench`` and gives its exit code and its samples by id."""

    def run(name: str, *flags: str, variables: dict[str, str] | None = None) -> tuple[int, dict[str, dict]]:
        adopt = ["--python", ADOPTED, "--adopt", "1"] if ADOPTED else []
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        command = ["bench", "--stack", STACKS[name], "--engine", "local", "--out", str(out), *adopt, *flags]
        done = subprocess.run(
            [sys.executable, "-m", "suite", *command],
            cwd=stack.ROOT,
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        lines = [line for path in out.glob("*/*/samples.jsonl") for line in path.read_text().splitlines()]
        samples = {each["id"]: each for each in map(json.loads, lines)}
        assert samples, done.stderr[-3000:]
        return done.returncode, samples

    return run
