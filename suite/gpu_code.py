# SPDX-License-Identifier: Apache-2.0
"""Will the code in this wheel run on that GPU, and by whose compiler? A pure function of numbers.

The rules are CUDA's, as NVIDIA's Ampere and Ada compatibility guides state them
(https://docs.nvidia.com/cuda/ada-compatibility-guide): native code (a cubin) of capability X.y runs on X.z with z >= y
and on no other major; PTX runs on its own capability and every later one, after the driver has compiled it; code of an
architecture-specific target (9.0a) runs on that very capability only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from suite import drivers
from suite.stack import Definition

#: Per capability: the first CUDA version that names it, the first whose libraries have code that runs on it, and the
#: first that no longer supports it ("" where none is known).
#:
#: Named and dropped: _MICROISA_RANGES_DEF in mesonbuild/modules/cuda.py of mesonbuild/meson (commit
#: 021bf59f6e8981b958d62e058b99ffa1631ef250), which follows https://en.wikipedia.org/wiki/CUDA#GPUs_supported; 8.0, 8.6,
#: 8.9 and 9.0 also an NVIDIA moderator, https://forums.developer.nvidia.com/t/276955/2. Libraries: within one major an
#: older CUDA's native code runs (the guides above; TensorFlow 2.4 with CUDA 11.0 runs on an RTX 3090 with warnings of
#: ptxas alone, tensorflow/tensorflow#46933). 7.5 is the exception: matmuls of CUDA 9's cuBLAS failed on it, CUDA 10 is
#: needed (tensorflow/tensorflow#23027, #25403).
_SUPPORT = {
    "3.0": ("5.0", "5.0", "11.0"),
    "3.2": ("6.0", "5.0", "11.0"),
    "3.5": ("5.0", "5.0", "12.0"),
    "3.7": ("6.5", "5.0", "12.0"),
    "5.0": ("6.5", "6.5", "13.0"),
    "5.2": ("6.5", "6.5", "13.0"),
    "5.3": ("6.5", "6.5", "13.0"),
    "6.0": ("8.0", "8.0", "13.0"),
    "6.1": ("8.0", "8.0", "13.0"),
    "6.2": ("8.0", "8.0", "13.0"),
    "7.0": ("9.0", "9.0", "13.0"),
    "7.2": ("10.0", "9.0", "13.0"),
    "7.5": ("10.0", "10.0", ""),
    "8.0": ("11.0", "11.0", ""),
    "8.6": ("11.1", "11.0", ""),
    "8.7": ("11.5", "11.0", ""),
    "8.8": ("13.0", "11.0", ""),
    "8.9": ("11.8", "11.0", ""),
    "9.0": ("11.8", "11.8", ""),
    "10.0": ("12.8", "12.8", ""),
    "10.1": ("12.8", "12.8", "13.0"),
    "10.3": ("12.9", "12.8", ""),
    "11.0": ("13.0", "13.0", ""),
    "12.0": ("12.8", "12.8", ""),
    "12.1": ("12.9", "12.8", ""),
}


class Answer(str, Enum):
    """How a wheel's code comes to run on a GPU. ``short`` is the word for narrow tables."""

    NATIVE = "native"
    IN_PART = "native in part, the rest PTX JIT (at first use)"
    OLDER_MINOR = "runs an older minor's code"
    PTX_JIT = "PTX JIT (minutes)"
    PREDATES = "runs but its CUDA libraries predate the GPU, not to be trusted"
    CANNOT_RUN = "cannot run"

    @property
    def short(self) -> str:
        return _SHORT[self]


_SHORT = {
    Answer.NATIVE: "native",
    Answer.IN_PART: "part native",
    Answer.OLDER_MINOR: "older minor",
    Answer.PTX_JIT: "PTX JIT",
    Answer.PREDATES: "no trust",
    Answer.CANNOT_RUN: "cannot run",
}


@dataclass(frozen=True)
class Code:
    """What a stack brings: capabilities of native code and PTX in the wheel, and its CUDA versions.

    ``partly``: those of ``native`` that only a part of the wheel's kernels has.
    """

    native: tuple[str, ...]
    ptx: tuple[str, ...]
    built_with: str
    ships: str
    minimum_driver: str
    partly: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The answer, a sentence that says why, and what to do."""

    answer: Answer
    text: str
    next_step: str


def of(definition: Definition) -> Code:
    """Return what a stack's definition says of its GPU code."""
    return Code(
        native=tuple(definition.gpu_code.native),
        ptx=tuple(definition.gpu_code.ptx),
        partly=tuple(definition.gpu_code.partly),
        built_with=definition.cuda.built_with.cuda,
        ships=definition.cuda.ships.cuda,
        minimum_driver=definition.cuda.minimum_driver,
    )


def capability(text: str) -> tuple[int, int]:
    """Return a GPU's capability as numbers: 10.0 is later than 9.0.

    Raises
    ------
    ValueError
        where it is no capability; a GPU has none with a letter.
    """
    if not re.fullmatch(r"\d{1,2}\.\d", text):
        raise ValueError(f"{text!r} is no compute capability such as 8.6")
    major, minor = text.split(".")
    return int(major), int(minor)


def verdict(code: Code, gpu: str, driver: str | None = None) -> Verdict:
    """Return whether and how a stack's code runs on a GPU.

    Parameters
    ----------
    gpu
        Its compute capability, "8.6".
    driver
        The driver's version; None leaves the driver out of account.

    Raises
    ------
    ValueError
        where ``gpu`` is no capability.
    """
    capability(gpu)
    if driver is not None:
        found = drivers.check(driver, code.minimum_driver, code.ships)
        if found.state == "too_old":
            return Verdict(Answer.CANNOT_RUN, found.text, found.next_step)
    by_code = _by_code(code, gpu)
    if by_code.answer is Answer.CANNOT_RUN:
        return by_code
    return _by_libraries(code, gpu, by_code) or _with_driver(code, by_code, driver)


def _by_code(code: Code, gpu: str) -> Verdict:
    """Answer by the wheel's own code."""
    native = [each for each in code.native if _runs_native(each, gpu)]
    whole = [each for each in native if each not in code.partly]
    ptx = [each for each in code.ptx if _compiles(each, gpu)]
    if not native and not ptx:
        text = f"the wheel has no code that runs on {gpu}: native {_some(code.native)}; PTX {_some(code.ptx)}"
        return Verdict(
            Answer.CANNOT_RUN, text, "Take another stack: make doctor shows which one runs on this GPU."
        )
    best = _latest(whole) or _latest(native)
    compiled = f"the driver compiles PTX {_latest(ptx)} for {gpu}" if ptx else ""
    if native and not whole and ptx:
        # How long depends on which kernels a run uses: for TensorFlow 2.18's matmul an H200's
        # driver compiled three, 21 kB (results/reference/h200-bench-tf2.18-cuda12.5): first result after 5.8 s in all.
        text = f"a part of the wheel's kernels has native code {best}; for the others {compiled} when first used"
        return Verdict(Answer.IN_PART, text, _KEEP)
    if best in (gpu, f"{gpu}a"):
        return Verdict(
            Answer.NATIVE, f"the wheel has native code for {gpu}", "Nothing: no kernel has to be compiled."
        )
    if native:
        text = f"native code of {best} runs on {gpu}, which has the same major"
        step = "Nothing: no kernel has to be compiled; it does not use what the newer minor has more."
        return Verdict(Answer.OLDER_MINOR, text, step)
    text = f"no native code runs on {gpu} (there is {_some(code.native)}): {compiled}, for minutes at first"
    return Verdict(Answer.PTX_JIT, text, _KEEP)


_KEEP = (
    "Give the first sample time (TIMEOUT=): LEVEL=jit pays it in every process, LEVEL=process once, kept in the "
    "compute cache."
)


def _by_libraries(code: Code, gpu: str, by_code: Verdict) -> Verdict | None:
    """Answer by the CUDA libraries beside the wheel, which bring code of their own; None: no obstacle."""
    known = _support(gpu)
    if known is None:
        if gpu in code.native:
            return None  # its toolkit knew the GPU, though this table does not
        text = f"{gpu} is no GPU that this table knows; CUDA {drivers.minor_of(code.ships)} may predate it"
        return Verdict(Answer.PREDATES, text, "Trust no number before the result checks pass on this GPU.")
    named, runs_from, dropped = known
    if dropped and drivers.at_least(code.ships, dropped):
        text = f"CUDA {drivers.minor_of(code.ships)} no longer supports {gpu}: {dropped} dropped it"
        return Verdict(Answer.CANNOT_RUN, text, "Take a stack with an older CUDA: make doctor shows which.")
    if drivers.at_least(code.ships, runs_from):
        if drivers.at_least(code.ships, named):
            return None
        text = (
            f"{by_code.text}. CUDA {drivers.minor_of(code.ships)} does not know {gpu} yet ({named} does): "
            "its libraries run their code of an older minor, its ptxas refuses and the driver compiles instead"
        )
        return Verdict(by_code.answer, text, by_code.next_step)
    text = (
        f"CUDA {drivers.minor_of(code.ships)} predates {gpu}, which {named} is the first to support: "
        "its cuBLAS and cuDNN have no code for this GPU, though the framework's own kernels can be compiled from PTX"
    )
    step = (
        f"Take a stack with CUDA {runs_from} or later. "
        "Matmuls fail, hang or are wrong here, after minutes of compiling."
    )
    return Verdict(Answer.PREDATES, text, step)


def _with_driver(code: Code, found: Verdict, driver: str | None) -> Verdict:
    """Say where the driver that has to compile may not know the wheel's PTX."""
    if driver is None or found.answer not in (Answer.PTX_JIT, Answer.IN_PART):
        return found
    if drivers.loads_ptx_of(driver, code.built_with) is not False:
        return found
    own = drivers.own_driver(code.built_with)
    text = (
        f"{found.text}. Not verified: the PTX is of CUDA {drivers.minor_of(code.built_with)}, "
        f"and driver {driver} is older than that CUDA's own ({own})"
    )
    return Verdict(found.answer, text, f"Install driver {own} or later. {found.next_step}")


def _support(gpu: str) -> tuple[str, str, str] | None:
    """Return a capability's row; for a minor that is not in the table, that of the next lower one of its major."""
    if gpu in _SUPPORT:
        return _SUPPORT[gpu]
    lower = [each for each in _SUPPORT if _same_major(each, gpu) and capability(each) < capability(gpu)]
    return _SUPPORT[max(lower, key=capability)] if lower else None


def _runs_native(code: str, gpu: str) -> bool:
    if code.endswith("a"):
        return code[:-1] == gpu
    return _same_major(code, gpu) and capability(code) <= capability(gpu)


def _compiles(ptx: str, gpu: str) -> bool:
    return ptx[:-1] == gpu if ptx.endswith("a") else capability(ptx) <= capability(gpu)


def _same_major(one: str, other: str) -> bool:
    return one.split(".")[0] == other.split(".")[0]


def _latest(capabilities: Sequence[str]) -> str:
    return max(capabilities, key=lambda each: (capability(each.rstrip("a")), each), default="")


def _some(capabilities: Iterable[str]) -> str:
    return ", ".join(sorted(capabilities, key=lambda each: capability(each.rstrip("a")))) or "none"
