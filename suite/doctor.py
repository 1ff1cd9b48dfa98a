# SPDX-License-Identifier: Apache-2.0
"""What this machine can measure and, where it cannot, why and what to do. Reads only; done within seconds."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from suite import environment, host, pythons
from suite.engines import daemon, images
from suite.engines.ready import how_to_offer
from suite.errors import SuiteError
from suite.stack import Stack

#: A load above this share of the CPUs makes numbers noisy.
BUSY = 0.5


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``blocks``: the local engine cannot measure like this."""

    subject: str
    state: Literal["ok", "note", "problem"]
    text: str
    next_step: str = ""
    blocks: bool = False


def examine(stack: Stack | None, environ: Mapping[str, str], named: str | None = None) -> list[Finding]:
    """Return all findings; ``stack`` adds what that stack needs, ``named`` is PYTHON=."""
    facts = host.fingerprint()
    findings = [*_engine("docker", stack, environ), *_engine("podman", stack, environ)]
    if stack is not None:
        findings += _stack(stack, environ, named)
    findings += [_gpu(facts), _disk(stack, environ), _cpu(facts)]
    return findings


def render(findings: list[Finding], width: int = 80) -> str:
    """Return the findings as text: each with its state and, where there is one, what to do."""
    lines = []
    for each in findings:
        mark = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}[each.state]
        first = f"{mark}  {each.subject}: "
        lines.append(textwrap.fill(each.text, width, initial_indent=first, subsequent_indent=" " * 9))
        if each.next_step:
            lines.append(
                textwrap.fill(each.next_step, width, initial_indent=" " * 9 + "-> ", subsequent_indent=" " * 12)
            )
    return "\n".join(lines) + "\n"


def _engine(name: daemon.Name, stack: Stack | None, environ: Mapping[str, str]) -> list[Finding]:
    found = daemon.ask(name, environ)
    if found.why:
        next_step = "" if name == "podman" else "ENGINE=local measures without containers."
        return [Finding(name, "note", found.why, next_step)]
    out = [Finding(name, "ok", f"answers, version {found.version}")]
    if host.nvidia_driver_loaded() and found.gpu_way == "none":
        text = "offers no GPU: NVIDIA's container toolkit is not set up for it"
        out.append(Finding(name, "problem", text, how_to_offer(found)))
    if stack is not None and stack.dockerfile().is_file():
        try:
            image = images.find(found, stack, environ)
        except SuiteError as error:
            return [*out, Finding(f"{name} image", "problem", error.what, error.next_step)]
        if image is None:
            text, next_step = f"{stack.name}: not built", f"make build STACK={stack.name} ENGINE={name}"
            out.append(Finding(f"{name} image", "note", text, next_step))
        else:
            text = f"{image.tag}, {image.size_bytes // 10**6} MB, base {image.base}"
            out.append(Finding(f"{name} image", "ok", text))
    return out


def _stack(stack: Stack, environ: Mapping[str, str], named: str | None) -> list[Finding]:
    minor = stack.definition.python.default
    out = []
    try:
        found = pythons.find(minor, environ, named)
        out.append(Finding("python", "ok", f"{found.path} is Python {found.version} ({found.found_by})"))
    except SuiteError as error:
        out.append(Finding("python", "problem", error.what, error.next_step, blocks=True))
    made = _made(stack, environ)
    if made:
        text = f"made: {len(made.packages)} packages, Python {made.python_version}, in {made.folder}"
        out = [Finding(each.subject, each.state, each.text, each.next_step) for each in out]
        out.append(Finding("environment", "ok", text))
    else:
        size = environment.size_mb(stack, environment.wheels_for(stack))
        out.append(Finding("environment", "note", f"not made yet: {size} MB", "make bench makes it, once."))
    return out


def _made(stack: Stack, environ: Mapping[str, str]) -> environment.Environment | None:
    minor, wheels = stack.definition.python.default, environment.wheels_for(stack)
    return environment.find_made(stack, minor, environ=environ, wheels=wheels)


def _gpu(facts: dict[str, object]) -> Finding:
    nvidia = facts["nvidia"]
    assert isinstance(nvidia, dict)
    if not nvidia["present"]:
        next_step = (
            "CPU and XLA_CPU are measured; for the others, install NVIDIA's driver or take a machine with a GPU."
        )
        return Finding("gpu", "note", nvidia["why"], next_step)
    if not nvidia["gpus"]:
        return Finding(
            "gpu", "problem", nvidia["why"], "nvidia-smi must list the GPU before a framework can use it."
        )
    names = "; ".join(f"{gpu['index']}: {gpu['name']}, driver {gpu['driver_version']}" for gpu in nvidia["gpus"])
    return Finding("gpu", "ok", names)


def _disk(stack: Stack | None, environ: Mapping[str, str]) -> Finding:
    folder = environment.cache_folder(environ)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free // 10**6
    if stack is not None and _made(stack, environ) is None:
        try:
            environment.check_room(stack, folder, environment.wheels_for(stack))
        except SuiteError as error:
            return Finding("disk", "problem", error.what, error.next_step, blocks=True)
    writable = os.access(there, os.W_OK)
    if not writable:
        next_step = "Name another folder: COLDWARM_CACHE=/path"
        return Finding("disk", "problem", f"{there}: not writable by uid {os.getuid()}", next_step, blocks=True)
    return Finding("disk", "ok", f"{free} MB free for environments in {folder}")


def _cpu(facts: dict[str, object]) -> Finding:
    load, cpus = os.getloadavg()[0], float(str(facts["effective_cpus"]))
    text = f"{facts['cpu_model']}, {cpus:g} of {facts['logical_cpus']} CPUs can be used, load {load:.2f}"
    governor = _governor()
    if load > BUSY * cpus:
        return Finding("cpu", "note", text, "Numbers will be noisy: wait until other work has ended.")
    if governor not in ("", "performance"):
        next_step = "Clocks ramp up during a cold run; the performance governor keeps them up."
        return Finding("cpu", "note", f"{text}, governor {governor}", next_step)
    return Finding("cpu", "ok", text)


def _governor() -> str:
    try:
        path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
