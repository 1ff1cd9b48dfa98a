# SPDX-License-Identifier: Apache-2.0
"""What a test may need of the machine, and what happens where it is missing."""

from __future__ import annotations

import locale
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial

import pytest

from suite import host, pythons
from suite.engines import daemon
from suite.errors import SuiteError
from suite.telemetry.gpu import Gpus
from suite.worker_env import SYSTEM_PATH

#: Parts that must be there, separated by commas: set by CI, where a skipped test would be no test.
REQUIRED = frozenset(part for part in os.environ.get("COLDWARM_REQUIRE", "").split(",") if part)


def _python(minor: str) -> str:
    try:
        pythons.find(minor, os.environ)
    except SuiteError as error:
        return error.what
    return ""


def _german() -> str:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    except locale.Error as error:
        return str(error)
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return ""


def _unshare() -> str:
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    done = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip()


def _engine(name: str) -> str:
    return daemon.ask(name, os.environ).why  # type: ignore[arg-type]


def _stand_in() -> str:
    return "" if os.environ.get("COLDWARM_STAND_IN") else "COLDWARM_STAND_IN names no base image"


#: Where a Chromium may be: that of a distribution, or one that is named.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of the browser that tests drive; None where there is none."""
    found = (shutil.which(name) for name in (os.environ.get("COLDWARM_CHROMIUM", ""), *BROWSERS) if name)
    return next((path for path in found if path), None)


def _cxx() -> str:
    found = shutil.which("g++", path=SYSTEM_PATH)
    return "" if found else "no g++ on a worker's PATH: apt-get install g++"


def _gpu() -> str:
    if not host.nvidia_driver_loaded():
        return "no NVIDIA driver is loaded"
    gpus = Gpus(print)
    return "" if gpus.count() else gpus.error or "NVML shows no GPU"


def _browser() -> str:
    return "" if chromium() else f"none of {', '.join(BROWSERS)} is on PATH: apt-get install chromium"


MINORS = ("3.6", "3.7", "3.10", "3.11", "3.12", "3.13")


def _gpu_tf() -> str:
    """What tests of TensorFlow on a GPU run with: its own Python, or the stack's lock where none is named at all."""
    if os.environ.get("COLDWARM_GPU_PYTHON") and not os.environ.get("COLDWARM_GPU_PYTHON_TF"):
        return "COLDWARM_GPU_PYTHON_TF names no Python that has TensorFlow"
    return ""


#: Each part with what finds it: "" where it is there, else why not.
PARTS: dict[str, Callable[[], str]] = {
    **{f"py{minor.replace('.', '')}": partial(_python, minor) for minor in MINORS},
    "root": lambda: "" if os.getuid() == 0 else f"uid is {os.getuid()}",
    "locale_de": _german,
    "unshare": _unshare,
    "docker": partial(_engine, "docker"),
    "podman": partial(_engine, "podman"),
    "stand_in": _stand_in,
    "browser": _browser,
    "cxx": _cxx,
    "gpu": _gpu,
    "gpu_tf": _gpu_tf,
}


@pytest.fixture(scope="session")
def require() -> Callable[[str], None]:
    """Return a function that skips a test whose part is missing, or fails it where CI requires the part."""

    def check(part: str) -> None:
        why = PARTS[part]()
        if not why:
            return
        if part in REQUIRED:
            pytest.fail(f"{part} is required here (COLDWARM_REQUIRE) and missing: {why}")
        pytest.skip(f"{part} is missing: {why}")

    return check
