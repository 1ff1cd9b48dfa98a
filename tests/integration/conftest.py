# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that install or measure the real stack."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from suite import environment, stack
from tests.integration.harness import Taker


@pytest.fixture(scope="session")
def made(require):
    """The real environment of tf1.14-cuda10, made once for the session (or found made)."""
    require("py36")
    return environment.prepare(stack.load("tf1.14-cuda10"), "3.6", environ=os.environ, named=None, report=print)


@pytest.fixture
def taker(made, tmp_path: Path) -> Taker:
    """Takes samples with that environment, raw files below the test's folder."""
    return Taker(made.python, tmp_path / "raw", stack.load("tf1.14-cuda10"))


@pytest.fixture(scope="session")
def made221(require):
    """The real environment of tf2.21-cuda12, without CUDA's wheels, made once for the session."""
    require("py312")
    return environment.prepare(
        stack.load("tf2.21-cuda12"), "3.12", environ=os.environ, named=None, wheels="cpu", report=print
    )


@pytest.fixture
def taker221(made221, tmp_path: Path) -> Taker:
    """Takes samples of tf2.21-cuda12."""
    return Taker(made221.python, tmp_path / "raw", stack.load("tf2.21-cuda12"))


@pytest.fixture(scope="session")
def made_torch(require):
    """The real environment of torch2.11-cuda13, made once for the session; CUDA's wheels are in it."""
    require("py312")
    chosen = stack.load("torch2.11-cuda13")
    wheels = environment.wheels_for(chosen)
    return environment.prepare(chosen, "3.12", environ=os.environ, named=None, wheels=wheels, report=print)


@pytest.fixture
def taker_torch(made_torch, tmp_path: Path) -> Taker:
    """Takes samples of torch2.11-cuda13."""
    return Taker(made_torch.python, tmp_path / "raw", stack.load("torch2.11-cuda13"))


@pytest.fixture(scope="session")
def made_jax(require):
    """The real environment of jax0.11-cuda13, without CUDA's wheels, made once for the session."""
    require("py312")
    return environment.prepare(
        stack.load("jax0.11-cuda13"), "3.12", environ=os.environ, named=None, wheels="cpu", report=print
    )


@pytest.fixture
def taker_jax(made_jax, tmp_path: Path) -> Taker:
    """Takes samples of jax0.11-cuda13."""
    return Taker(made_jax.python, tmp_path / "raw", stack.load("jax0.11-cuda13"))
