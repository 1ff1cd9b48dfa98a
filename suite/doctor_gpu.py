# SPDX-License-Identifier: Apache-2.0
"""What doctor says of GPUs: what each is, what its driver and the stack's code make of it, and who holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suite import drivers, gpu_code
from suite.finding import Finding, State
from suite.gpu_code import Answer
from suite.gpu_facts import Found, Gpu
from suite.records import Cell, Reason, Status
from suite.stack import Definition, Stack

_GIB = 2**30
#: Three float32 matrices of the largest shape of a profile (15000) take 2.5 GiB; context and libraries come on top.
ENOUGH_BYTES = 4 * _GIB

_STATES: dict[Answer, State] = {
    Answer.NATIVE: "ok",
    Answer.OLDER_MINOR: "ok",
    Answer.IN_PART: "note",
    Answer.PTX_JIT: "note",
    Answer.PREDATES: "problem",
    Answer.CANNOT_RUN: "problem",
}


def findings(found: Found, stack: Stack | None, *, wsl: bool = False) -> list[Finding]:
    """Return what is to be said of this machine's GPUs, and of a stack on them. A pure function."""
    if not found.gpus:
        return [_none(found, wsl=wsl)]
    out = []
    for gpu in found.gpus:
        subject = f"gpu {gpu.index}"
        out.append(_what(gpu, subject))
        if stack is not None:
            out += [_driver(gpu, subject, stack.definition), _code(gpu, subject, stack.definition)]
        out += [_memory(gpu, subject), *_modes(gpu, subject)]
    return out


def elsewhere(stack: Stack, capability: str) -> Finding:
    """Return what a stack's code makes of a GPU that is not here."""
    verdict = gpu_code.verdict(gpu_code.of(stack.definition), capability)
    text = (
        f"{verdict.answer.value}: {verdict.text}; driver {stack.definition.cuda.minimum_driver} or later is needed"
    )
    return Finding(f"code on {capability}", _STATES[verdict.answer], text, _unless_ok(verdict))


def _none(found: Found, *, wsl: bool) -> Finding:
    if found.driver_loaded:
        return Finding(
            "gpu",
            "problem",
            found.why,
            "nvidia-smi must list the GPU before a framework can use it: see what it says.",
        )
    step = "CPU and XLA_CPU are measured; for the others, install NVIDIA's driver or take a machine with a GPU."
    if wsl:
        step = "This is WSL: NVIDIA's driver belongs into Windows, none into Linux. CPU and XLA_CPU are measured."
    return Finding("gpu", "note", found.why, step)


def _what(gpu: Gpu, subject: str) -> Finding:
    capability = f"capability {gpu.capability}" if gpu.capability else "its capability is not told"
    text = f"{gpu.name}, {capability}, driver {gpu.driver or 'of unknown version'}"
    if gpu.capability:
        return Finding(subject, "ok", text)
    step = "developer.nvidia.com/cuda-gpus lists it: make doctor CAPABILITY=... then says what its stacks are."
    return Finding(subject, "note", text, step)


def _driver(gpu: Gpu, subject: str, definition: Definition) -> Finding:
    verdict = drivers.check(gpu.driver, definition.cuda.minimum_driver, definition.cuda.ships.cuda)
    state: State = {"enough": "ok", "too_old": "problem"}.get(verdict.state, "note")  # type: ignore[assignment]
    return Finding(f"{subject} driver", state, verdict.text, verdict.next_step)


def _code(gpu: Gpu, subject: str, definition: Definition) -> Finding:
    subject = f"{subject} code"
    if gpu.capability is None:
        text = "whether the wheel's code runs is not known: the driver does not tell the GPU's capability"
        return Finding(subject, "note", text, f"make doctor STACK={definition.name} CAPABILITY=... says it.")
    verdict = gpu_code.verdict(gpu_code.of(definition), gpu.capability, _usable(gpu.driver))
    return Finding(
        subject, _STATES[verdict.answer], f"{verdict.answer.value}: {verdict.text}", _unless_ok(verdict)
    )


def _unless_ok(verdict: gpu_code.Verdict) -> str:
    return "" if _STATES[verdict.answer] == "ok" else verdict.next_step


def _usable(driver: str | None) -> str | None:
    try:
        drivers.numbers(driver or "")
    except ValueError:
        return None
    return driver


def _memory(gpu: Gpu, subject: str) -> Finding:
    subject = f"{subject} memory"
    if gpu.memory_total_bytes is None or gpu.memory_used_bytes is None:
        return Finding(subject, "note", "the driver does not tell it", "nvidia-smi may: a full GPU fails as oom.")
    free = gpu.memory_total_bytes - gpu.memory_used_bytes
    text = f"{free / _GIB:.1f} of {gpu.memory_total_bytes / _GIB:.1f} GiB free"
    if gpu.holders:
        shown = ", ".join(each.words() for each in gpu.holders[:4])
        more = f" and {len(gpu.holders) - 4} more" if len(gpu.holders) > 4 else ""
        step = "Let them end, or take another GPU (GPU=): beside them no number counts, and samples are contended."
        drawing = all(each.kind == "G" for each in gpu.holders)
        if drawing:
            step = "They only draw; a display still costs memory and time: another GPU (GPU=) is quieter."
        state: State = "note" if drawing or free >= ENOUGH_BYTES else "problem"
        return Finding(subject, state, f"{text}; held by {shown}{more}", step)
    if free < ENOUGH_BYTES:
        step = (
            "n=15000 needs about 3 GiB beside the context: ask for smaller SHAPES=, or free memory (nvidia-smi)."
        )
        return Finding(subject, "note", text, step)
    return Finding(subject, "ok", text + ("" if gpu.holders is None else ", held by nobody"))


def _modes(gpu: Gpu, subject: str) -> list[Finding]:
    out = []
    mode = gpu.compute_mode
    if mode == "prohibited":
        step = f"sudo nvidia-smi -i {gpu.index} -c DEFAULT"
        out.append(Finding(f"{subject} mode", "problem", "compute mode prohibited: no process may compute", step))
    elif mode is not None and mode.startswith("exclusive") and gpu.holders:
        text = f"compute mode {mode}, and another process has it: a second one is refused"
        step = f"Let that process end, or sudo nvidia-smi -i {gpu.index} -c DEFAULT"
        out.append(Finding(f"{subject} mode", "problem", text, step))
    elif mode is not None:
        out.append(Finding(f"{subject} mode", "ok", f"compute mode {mode}"))
    if gpu.mig:
        text = "MIG is on: a process sees one slice of the GPU, and its figures are that slice's"
        out.append(
            Finding(f"{subject} MIG", "note", text, "Name the slice: GPU=MIG-..., as nvidia-smi -L prints it.")
        )
    if gpu.persistence is False:
        text = (
            "persistence mode is off: the driver sets the GPU up anew for each first user, which is in every cold"
        )
        step = f"sudo nvidia-smi -i {gpu.index} -pm 1, or say so beside the numbers."
        out.append(Finding(f"{subject} persistence", "note", text, step))
    return out


def cannot_run(
    cells: Sequence[Cell], definition: Definition, static: Mapping[str, Any] | None
) -> dict[str, tuple[Reason, Status]]:
    """Return, by cell, why the wheel's code cannot run on the GPU; {} where it can, or the GPU is not known.

    The driver is left out of account here: a forward compatible one in an image may still serve.

    Parameters
    ----------
    static
        What :meth:`suite.telemetry.gpu.Gpus.static` says of the GPU that the workers will use.
    """
    verdict = _of_static(definition, static)
    if verdict is None or verdict.answer is not Answer.CANNOT_RUN:
        return {}
    reason = Reason("unsupported_arch", verdict.text, verdict.next_step)
    return {cell.id: (reason, "unsupported_arch") for cell in cells if "GPU" in cell.device}


def remarks(cells: Sequence[Cell], definition: Definition, static: Mapping[str, Any] | None) -> list[str]:
    """Return what is to be said of the GPU before a run: what will be slow, wrong or refused, and what to do."""
    if not static or not any("GPU" in cell.device for cell in cells):
        return []
    driver = _usable(static.get("driver_version"))
    out = []
    fit = drivers.check(driver, definition.cuda.minimum_driver, definition.cuda.ships.cuda)
    if fit.state == "too_old":
        out.append(f"{fit.text}. {fit.next_step}")
        driver = None
    verdict = _of_static(definition, static, driver)
    if verdict is not None and _STATES[verdict.answer] != "ok":
        out.append(f"GPU: {verdict.answer.value}: {verdict.text}. {verdict.next_step}")
    return out


def _of_static(
    definition: Definition, static: Mapping[str, Any] | None, driver: str | None = None
) -> gpu_code.Verdict | None:
    try:
        return gpu_code.verdict(gpu_code.of(definition), str((static or {}).get("compute_capability")), driver)
    except ValueError:
        return None
