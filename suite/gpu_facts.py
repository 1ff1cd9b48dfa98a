# SPDX-License-Identifier: Apache-2.0
"""What this machine's GPUs are and who holds them, right now: from NVML, else from nvidia-smi. Reads only."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import host
from suite.telemetry.gpu import Gpus

_MIB = 2**20


@dataclass(frozen=True)
class Holder:
    """A process that has a context on a GPU.

    ``kind``: C (computes), G (draws) or C+G, as nvidia-smi has it; ``name`` is "" where the process cannot be seen from
    here: another user's, or one of another PID namespace.
    """

    pid: int
    kind: str
    name: str = ""
    used_bytes: int | None = None

    def words(self) -> str:
        """Return it for people: ``python (pid 1234, 141 MiB)``."""
        memory = f", {self.used_bytes // _MIB} MiB" if self.used_bytes is not None else ""
        return f"{self.name or 'a process that cannot be seen from here'} (pid {self.pid}{memory})"


@dataclass(frozen=True)
class Gpu:
    """One GPU. None stands for what driver or GPU do not tell.

    ``compute_mode``: default, exclusive_process, exclusive_thread or prohibited; ``holders`` is None where only
    nvidia-smi could be asked.
    """

    index: int
    name: str
    driver: str | None = None
    capability: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    compute_mode: str | None = None
    persistence: bool | None = None
    mig: bool | None = None
    pstate: str | None = None
    holders: tuple[Holder, ...] | None = None


@dataclass(frozen=True)
class Found:
    """All GPUs. ``driver_loaded``: is there a driver? ``why`` says why there is no GPU, "" where there is one."""

    gpus: tuple[Gpu, ...]
    driver_loaded: bool
    why: str = ""


def gather(
    gpus: Gpus | None = None,
    smi: Callable[[], Mapping[str, Any]] = host.nvidia,
    name_of: Callable[[int], str] | None = None,
    *,
    wsl: bool = False,
) -> Found:
    """Return the GPUs of this machine.

    Parameters
    ----------
    gpus
        What asks NVML; None makes one.
    smi
        What asks nvidia-smi, where NVML shows no GPU: as :func:`suite.host.nvidia`.
    name_of
        Gives a process's name by its id, "" where it cannot be seen.
    wsl
        WSL 2 has no driver in /proc: NVML is asked all the same.
    """
    asked = gpus or Gpus(lambda _: None, forced=wsl)
    try:
        count = asked.count()
        if count:
            name_of = name_of or process_name
            return Found(tuple(_by_nvml(asked, index, name_of) for index in range(count)), driver_loaded=True)
        nvml_says = asked.error
    finally:
        if gpus is None:
            asked.close()
    other = smi()
    listed = tuple(_by_smi(each) for each in other["gpus"])
    why = "" if listed else str(other["why"])
    if why and other["present"] and nvml_says:
        why += f"; {nvml_says}"
    return Found(listed, driver_loaded=bool(other["present"]), why=why)


def process_name(pid: int) -> str:
    """Return the name of a process of this machine, "" where it cannot be seen."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _by_nvml(gpus: Gpus, index: int, name_of: Callable[[int], str]) -> Gpu:
    static, now = gpus.static(index), gpus.read(index)
    processes = now.get("processes")
    holders = None
    if processes is not None:
        holders = tuple(
            Holder(each["pid"], each["type"], name_of(each["pid"]), each.get("used_bytes"))
            for each in processes
            if each["pid"] != os.getpid()
        )
    pstate = now.get("pstate")
    return Gpu(
        index=index,
        name=str(static.get("name", "a GPU without a name")),
        driver=static.get("driver_version"),
        capability=static.get("compute_capability"),
        memory_total_bytes=static.get("memory_total_bytes"),
        memory_used_bytes=now.get("memory_used_bytes"),
        compute_mode=static.get("compute_mode"),
        persistence=static.get("persistence"),
        mig=static.get("mig"),
        pstate=None if pstate is None else f"P{pstate}",
        holders=holders,
    )


def _by_smi(row: Mapping[str, str]) -> Gpu:
    """Return a GPU from one line of nvidia-smi, whose memory is in MiB and whose gaps are ``[N/A]``."""
    told = {name: value for name, value in row.items() if value and not value.startswith("[")}
    capability = told.get("compute_cap", "")
    return Gpu(
        index=int(told.get("index", "0")),
        name=told.get("name", "a GPU without a name"),
        driver=told.get("driver_version"),
        capability=capability if re.fullmatch(r"\d+\.\d", capability) else None,
        memory_total_bytes=_mib(told.get("memory.total")),
        memory_used_bytes=_mib(told.get("memory.used")),
        compute_mode=told["compute_mode"].lower() if "compute_mode" in told else None,
        pstate=told.get("pstate"),
    )


def _mib(text: str | None) -> int | None:
    return int(text) * _MIB if text and text.isdigit() else None
