# SPDX-License-Identifier: Apache-2.0
"""NVIDIA driver versions against what a stack needs: compared as numbers. Pure functions.

The numbers are those of the table "CUDA Toolkit and Corresponding Driver Versions" in the CUDA Toolkit release notes
(https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html), Linux x86_64; the same stand, copied from it, in
``mesonbuild/modules/cuda.py`` of mesonbuild/meson (commit 021bf59f6e8981b958d62e058b99ffa1631ef250).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The first driver that came with each CUDA version: it knows all of that CUDA, its PTX too.
OWN_DRIVER = {
    "8.0": "367.48",
    "9.0": "384.81",
    "9.1": "390.46",
    "9.2": "396.26",
    "10.0": "410.48",
    "10.1": "418.39",
    "10.2": "440.33",
    "11.0": "450.36.06",
    "11.1": "455.23",
    "11.2": "460.27.03",
    "11.3": "465.19.01",
    "11.4": "470.42.01",
    "11.5": "495.29.05",
    "11.6": "510.39.01",
    "11.7": "515.43.04",
    "11.8": "520.61.05",
    "12.0": "525.60.13",
    "12.1": "530.30.02",
    "12.2": "535.54.03",
    "12.3": "545.23.06",
    "12.4": "550.54.14",
    "12.5": "555.42.02",
    "12.6": "560.28.03",
    "12.8": "570.26",
    "12.9": "575.51.03",
    "13.0": "580.65.06",
}

State = Literal["enough", "minor_version", "too_old", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """What a driver is to a stack.

    ``enough``; ``minor_version``: new enough to run it by CUDA's minor version compatibility (CUDA 11 and later), older
    than the driver that came with its CUDA; ``too_old``; ``unknown``: the driver did not say a version.
    """

    state: State
    text: str
    next_step: str = ""


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, so that 9 comes before 10.

    Raises
    ------
    ValueError
        where it is no dotted number.
    """
    return tuple(int(part) for part in version.split("."))


def at_least(version: str, wanted: str) -> bool:
    """Tell whether ``version`` is ``wanted`` or later; parts that one of them lacks count as 0."""
    mine, theirs = numbers(version), numbers(wanted)
    length = max(len(mine), len(theirs))
    return mine + (0,) * (length - len(mine)) >= theirs + (0,) * (length - len(theirs))


def minor_of(cuda: str) -> str:
    """Return CUDA's major and minor: 12.5 of 12.5.82."""
    return ".".join(cuda.split(".")[:2])


def own_driver(cuda: str) -> str | None:
    """Return the first driver that came with a CUDA version, or None for one that the table does not have."""
    return OWN_DRIVER.get(minor_of(cuda))


def cuda_of(driver: str) -> str | None:
    """Return the newest CUDA version that a driver knows all of, or None where it is older than the table."""
    known = [cuda for cuda, own in OWN_DRIVER.items() if at_least(driver, own)]
    return max(known, key=numbers) if known else None


def loads_ptx_of(driver: str, cuda: str) -> bool | None:
    """Tell whether a driver is known to compile PTX that this CUDA emits; None where the table does not say.

    PTX carries the version of its language, which a driver must know: nvidia's cuda-python maps it to the CUDA "that is
    needed to load a PTX" of it (cuda.bindings.utils.get_minimal_required_cuda_ver_from_ptx_ver). Minor version
    compatibility does not help here. False means: not known to, and not tried here.
    """
    own = own_driver(cuda)
    return None if own is None else at_least(driver, own)


def check(driver: str | None, minimum: str, cuda: str) -> Verdict:
    """Return what a driver is to a stack.

    Parameters
    ----------
    driver
        The driver's version as NVML or nvidia-smi tells it; None or a text without numbers where it does not.
    minimum
        ``cuda.minimum_driver`` of the stack.
    cuda
        The CUDA version that the stack ships.
    """
    try:
        numbers(driver or "")
    except ValueError:
        return Verdict(
            "unknown", "the driver's version is not known", f"It must be {minimum} or later: nvidia-smi."
        )
    assert driver is not None
    if not at_least(driver, minimum):
        text = f"driver {driver} is older than {minimum}, which CUDA {minor_of(cuda)} needs"
        step = (
            f"Install driver {minimum} or later. "
            "Only the driver counts: another CUDA toolkit on the machine does not help."
        )
        return Verdict("too_old", text, step)
    own = own_driver(cuda)
    if own is not None and not at_least(driver, own):
        text = (
            f"driver {driver} is new enough ({minimum}) by minor version compatibility, and older than {own}, "
            f"which came with CUDA {minor_of(cuda)}: code that it must compile from that CUDA's PTX is not verified"
        )
        return Verdict("minor_version", text, f"Driver {own} or later needs no such rule.")
    return Verdict("enough", f"driver {driver}, {minimum} or later is needed")
