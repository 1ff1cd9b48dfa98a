# SPDX-License-Identifier: Apache-2.0
"""What a container engine on this machine is and offers: asked of itself, within two seconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from suite.engines.advice import About
from suite.engines.container import PLACE_LABEL, GpuWay, remove
from suite.engines.errors import Known, known

Name = Literal["docker", "podman"]

#: An engine whose daemon does not answer within this time does not count.
ANSWER_S = 2.0
#: Where CDI specifications lie.
CDI_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))


@dataclass(frozen=True)
class Daemon:
    """One container engine: ``why`` says why it does not count, "" where it does; ``said`` is what its client said."""

    name: Name
    client: str = ""
    why: str = ""
    said: str = ""
    version: str = ""
    rootless: bool = False
    selinux: bool = False
    gpu_way: GpuWay = "none"
    info: dict[str, Any] = field(default_factory=dict)


def ask(name: Name, environ: Mapping[str, str]) -> Daemon:
    """Return what ``docker info`` or ``podman info`` says, or why there is no answer."""
    client = shutil.which(name, path=environ.get("PATH"))
    if client is None:
        return Daemon(name, why="not installed")
    try:
        done = subprocess.run(
            [client, "info", "--format", "{{json .}}"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
        info = json.loads(done.stdout) if done.returncode == 0 else {}
    except subprocess.TimeoutExpired:
        return Daemon(name, client, why=f"installed, did not answer within {ANSWER_S:g} s")
    except OSError as error:
        return Daemon(name, client, why=f"installed, does not run: {error.strerror}")
    except ValueError:
        return Daemon(name, client, why="installed, its answer is not JSON")
    if done.returncode != 0 or info.get("ServerErrors"):
        said = done.stderr.strip() or "; ".join(info.get("ServerErrors") or [])
        detail = f": {said.splitlines()[-1][:160]}" if said else ""
        return Daemon(name, client, why=f"installed, its daemon does not answer{detail}", said=said)
    return _docker(client, info) if name == "docker" else _podman(client, info)


def _docker(client: str, info: dict[str, Any]) -> Daemon:
    options = [str(each) for each in info.get("SecurityOptions") or []]
    return Daemon(
        "docker",
        client,
        version=str(info.get("ServerVersion", "?")),
        rootless=any("rootless" in each for each in options),
        selinux=any("selinux" in each for each in options),
        gpu_way=docker_gpu_way(info, bool(shutil.which("nvidia-container-runtime-hook"))),
        info=info,
    )


def docker_gpu_way(info: Mapping[str, Any], hook: bool) -> GpuWay:
    """Return how this daemon hands out GPUs: what it itself reports comes before what lies on the machine.

    ``hook``: is the hook of NVIDIA's toolkit on PATH, which ``--gpus`` needs?
    """
    if "nvidia" in (info.get("Runtimes") or {}):
        return "runtime"
    discovered = info.get("DiscoveredDevices") or []
    if any(str(each.get("ID", "")).startswith("nvidia.com/gpu") for each in discovered):
        return "cdi"
    return "gpus" if hook else "none"


def _podman(client: str, info: dict[str, Any]) -> Daemon:
    host = info.get("host") or {}
    security = host.get("security") or {}
    return Daemon(
        "podman",
        client,
        version=str((info.get("version") or {}).get("Version", "?")),
        rootless=bool(security.get("rootless")),
        selinux=bool(security.get("selinuxEnabled")),
        # Never --gpus: podman takes it and gives nothing, silently.
        gpu_way="cdi" if has_nvidia_cdi(CDI_FOLDERS) else "none",
        info=info,
    )


def storage(daemon: Daemon, environ: Mapping[str, str]) -> Path | None:
    """Return the folder on this machine in which an engine keeps its images; None where it is elsewhere, or not told.

    A daemon behind a network socket, or in a virtual machine of its own, names a folder that is not of this machine.
    """
    if daemon.name == "docker":
        host = environ.get("DOCKER_HOST", "unix://")
        elsewhere = not host.startswith("unix://") or "DOCKER_CONTEXT" in environ or about(daemon).desktop
        told = None if elsewhere else daemon.info.get("DockerRootDir")
    else:
        told = (daemon.info.get("store") or {}).get("graphRoot")
    # Not Path.exists: it raises where the folder lies in one that is closed to this user.
    return Path(told) if told and os.path.exists(told) else None  # noqa: PTH110


def about(daemon: Daemon) -> About:
    """Return what the advice on this engine's failures depends on."""
    said_or_told = daemon.said + str(daemon.info.get("OperatingSystem", ""))
    return About(
        daemon.name,
        toolkit=any(shutil.which(tool) for tool in ("nvidia-ctk", "nvidia-container-cli")),
        desktop="Docker Desktop" in said_or_told or "/.docker/desktop/" in said_or_told,
        rootless=daemon.rootless,
        selinux=daemon.selinux,
    )


def explain(daemon: Daemon) -> Known | None:
    """Return what it means that an engine does not answer; None where it does, or said nothing that is known."""
    return known(None, daemon.said, about(daemon), "ask") if daemon.said else None


def has_nvidia_cdi(folders: tuple[Path, ...]) -> bool:
    """Tell whether a CDI specification for NVIDIA's GPUs lies in one of ``folders``."""
    for folder in folders:
        for path in [*folder.glob("*.json"), *folder.glob("*.yaml"), *folder.glob("*.yml")]:
            try:
                if "nvidia.com/gpu" in path.read_text(encoding="utf-8", errors="replace"):
                    return True
            except OSError:
                continue
    return False


def owner() -> str:
    """Return what our containers are labelled with: this process, so that a later run knows that it has ended."""
    return f"{os.getpid()}.{_start_ticks(os.getpid())}"


def place() -> str:
    """Return where our process ids count: this boot and PID namespace. A daemon may serve others too."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot[:8]}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return "unknown"


def remove_orphans(daemon: Daemon, environ: Mapping[str, str]) -> int:
    """Remove containers of runs whose process has ended; return how many."""
    done = subprocess.run(
        [daemon.client, "ps", "--all", "--filter", f"label={PLACE_LABEL}={place()}", "--format", "{{.Names}}"],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    dead = [name for name in done.stdout.split() if not _alive(name)]
    remove(daemon.client, environ, dead)
    return len(dead)


def _alive(name: str) -> bool:
    """Tell whether the process in a container's name (coldwarm-PID.TICKS-...) still runs."""
    parts = name.removeprefix("coldwarm-").split("-")[0].split(".")
    return (
        len(parts) == 2 and all(part.isdigit() for part in parts) and _start_ticks(int(parts[0])) == int(parts[1])
    )


def _start_ticks(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; -1 where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return -1
