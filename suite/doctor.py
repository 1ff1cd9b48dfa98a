# SPDX-License-Identifier: Apache-2.0
"""What this machine can measure and, where it cannot, why and what to do. Reads only; done within seconds."""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from suite import doctor_gpu, doctor_matrix, environment, gpu_facts, host, pythons
from suite.engines import daemon, images
from suite.engines.choose import Choice, choose
from suite.engines.daemon import Daemon
from suite.engines.ready import how_to_offer
from suite.errors import SuiteError
from suite.finding import Finding, render
from suite.gpu_facts import Found
from suite.stack import Stack

_CONTAINERS: tuple[daemon.Name, ...] = ("docker", "podman")
_GPU_WAYS = {"runtime": "by NVIDIA's runtime", "cdi": "by CDI", "gpus": "by --gpus"}

#: A load above this share of the CPUs makes numbers noisy.
BUSY = 0.5


def examine(
    stack: Stack | None,
    environ: Mapping[str, str],
    named: str | None = None,
    *,
    capability: str | None = None,
    found: Found | None = None,
) -> list[Finding]:
    """Return all findings.

    Parameters
    ----------
    stack
        Adds what that stack needs.
    named
        PYTHON=.
    capability
        CAPABILITY=: of a GPU that is not here.
    found
        The GPUs of this machine; None looks.
    """
    facts = host.fingerprint()
    found = gpu_facts.gather(wsl=on_wsl()) if found is None else found
    told = {name: daemon.ask(name, environ) for name in _CONTAINERS}
    measures = _measures(stack, environ, told)
    findings = [_ways(measures)]
    for each in told.values():
        findings += _engine(each, stack, environ, driver_loaded=found.driver_loaded)
    if stack is not None:
        findings += _stack(stack, environ, named)
    findings += doctor_gpu.findings(found, stack, wsl=on_wsl())
    if stack is not None and capability is not None:
        findings.append(doctor_gpu.elsewhere(stack, capability))
    findings += [_disk(stack, environ), _cpu(facts)]
    local = isinstance(measures, Choice) and measures.name == "local"
    return findings if local else [dataclasses.replace(each, blocks=False) for each in findings]


def text(
    stack: Stack | None, environ: Mapping[str, str], named: str | None = None, capability: str | None = None
) -> tuple[str, bool]:
    """Return what doctor prints, and whether the engine that measures here is blocked.

    Raises
    ------
    SuiteError
        USAGE where ``capability`` is none.
    """
    if capability is not None:
        doctor_matrix.capability_word(capability)
    found = gpu_facts.gather(wsl=on_wsl())
    findings = examine(stack, environ, named, capability=capability, found=found)
    out = render(findings)
    if stack is None:
        answering = [each.subject for each in findings if each.subject in _CONTAINERS and each.state == "ok"]
        out += "\n" + doctor_matrix.matrices(found, capability, environ, answering)
    return out, any(each.blocks for each in findings)


def on_wsl() -> bool:
    """Tell whether this Linux is one of Windows."""
    return "microsoft" in platform.release().lower()


def _measures(
    stack: Stack | None, environ: Mapping[str, str], told: Mapping[daemon.Name, Daemon]
) -> Choice | SuiteError:
    """Return which engine measures where ENGINE= is not set, or why none does."""
    try:
        return choose(None, stack, environ, lambda name, _: told[name])
    except SuiteError as error:
        return error


def _ways(measures: Choice | SuiteError) -> Finding:
    if isinstance(measures, SuiteError):
        return Finding("engine", "problem", measures.what, measures.next_step, blocks=True)
    return Finding("engine", "ok", f"{measures.name} measures: {measures.why}")


def _engine(
    found: Daemon, stack: Stack | None, environ: Mapping[str, str], *, driver_loaded: bool
) -> list[Finding]:
    name = found.name
    if found.why:
        known = daemon.explain(found)
        if known is not None:
            return [Finding(name, "note", found.why, known.next_step)]
        return [Finding(name, "note", found.why, "Not needed: ENGINE=local measures without containers.")]
    out = [Finding(name, "ok", f"answers, version {found.version}")]
    if driver_loaded and found.gpu_way == "none":
        text = "offers no GPU: NVIDIA's container toolkit is not set up for it"
        out.append(Finding(f"{name} gpu", "problem", text, how_to_offer(found)))
    elif found.gpu_way != "none":
        out.append(Finding(f"{name} gpu", "ok", f"hands out GPUs: {_GPU_WAYS[found.gpu_way]}"))
    if stack is not None and stack.dockerfile().is_file():
        try:
            image = images.find(found, stack, environ, proofs=False)
        except SuiteError as error:
            return [*out, Finding(f"{name} image", "problem", error.what, error.next_step)]
        if image is None:
            text = f"{stack.name}: not built: {images.size_mb(stack, {})} MB and more"
            next_step = f"make build STACK={stack.name} ENGINE={name}"
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
