# SPDX-License-Identifier: Apache-2.0
"""Engines ``docker`` and ``podman``: every sample is a fresh process in a clean container. Pure argument lists.

The sample's folder is mounted at its own path and is the only thing that can be written; the worker is mounted
read-only, so that an image holds no code of ours.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from suite.engines import WORKER, Command
from suite.engines.advice import About

#: Where the worker is in a container.
WORKER_THERE = "/coldwarm/worker"
#: Labels of our containers: the process whose they are, where that process counts, and the sample that runs there.
OWNER_LABEL = "coldwarm.owner"
PLACE_LABEL = "coldwarm.place"
SAMPLE_LABEL = "coldwarm.sample"
#: Reads the clock (time since boot, in hundredths of a second) right before the worker's program is executed, and
#: sends its words to files of the sample, which the client's own words must not be mixed with.
START = (
    "read COLDWARM_EXEC_UPTIME _ < /proc/uptime; export COLDWARM_EXEC_UPTIME; "
    'cd "$0"; exec "$@" > stdout.txt 2> stderr.txt'
)

#: How this daemon hands out GPUs, if it does.
GpuWay = Literal["none", "runtime", "cdi", "gpus"]


@dataclass(frozen=True)
class Container:
    """A container engine with the stack's image ready.

    ``client`` is the path of its command; ``gpu_way`` how its daemon offers GPUs and ``gpu`` which one is asked for
    (index or UUID; None for all).
    """

    name: Literal["docker", "podman"]
    client: str
    image: str
    python: str
    owner: str
    place: str
    environ: Mapping[str, str]
    """The environment of the client itself: where its daemon is."""
    gpu_way: GpuWay = "none"
    gpu: str | None = None
    selinux: bool = False
    rootless: bool = False
    cpus: float | None = None
    cpuset: str | None = None
    about: About = About()
    facts: dict[str, Any] = field(default_factory=dict)
    worker: Path = WORKER
    uid: int = field(default_factory=os.getuid)
    gid: int = field(default_factory=os.getgid)

    def worker_command(self, request: Path, environment: Mapping[str, str]) -> Command:
        """Return the command that runs one worker in a container of its own. Nothing is run here."""
        folder = request.parent
        argv = [
            *(self.client, "run", "--rm", "--name", container_name(self.owner, folder)),
            *("--label", f"{OWNER_LABEL}={self.owner}", "--label", f"{PLACE_LABEL}={self.place}"),
            *("--label", f"{SAMPLE_LABEL}={folder.name}"),
            "--pull=never",
            "--network=none",
            "--read-only",
            *user_arguments(self.name, self.uid, self.gid, rootless=self.rootless),
            "--tmpfs=/tmp:rw,mode=1777",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            *(["--security-opt=label=disable"] if self.selinux else []),
            *([f"--cpus={self.cpus:g}"] if self.cpus else []),
            *([f"--cpuset-cpus={self.cpuset}"] if self.cpuset else []),
            *gpu_arguments(self.gpu_way, self.gpu),
            *("--mount", mount(self.worker, WORKER_THERE, read_only=True)),
            *("--mount", mount(folder, str(folder), read_only=False)),
            "--entrypoint=/bin/sh",
        ]
        for variable, value in sorted(environment.items()):
            # The machine's own libraries are not the image's.
            if variable not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
                argv += ["--env", f"{variable}={value}"]
        argv += [self.image, "-c", START, str(folder)]
        argv += [self.python, "-I", "-u", "-B", WORKER_THERE, str(request)]
        return Command(argv, dict(self.environ), words="engine-", about=self.about)

    def identity(self) -> dict[str, Any]:
        return dict(self.facts)

    def clean_up(self, folder: Path) -> None:
        """Remove the container of one sample, should it still be there: its client may be dead."""
        remove(self.client, self.environ, [container_name(self.owner, folder)])


def container_name(owner: str, folder: Path) -> str:
    """Return the name of a sample's container: letters that every engine takes, unique to run and sample."""
    text = f"coldwarm-{owner}-{folder.parent.parent.name}-{folder.name}"
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text)


def user_arguments(name: str, uid: int, gid: int, *, rootless: bool) -> list[str]:
    """Return the arguments that make what a container writes the caller's.

    Without root an engine maps users: to rootless docker the caller is root inside, rootless podman can keep the
    caller's own number.
    """
    if rootless and name == "docker":
        return ["--user=0:0"]
    if rootless:
        return ["--userns=keep-id", f"--user={uid}:{gid}"]
    return [f"--user={uid}:{gid}"]


def mount(source: Path, target: str, *, read_only: bool) -> str:
    """Return one value of --mount: a line of CSV, where commas and colons in a path do no harm, as in -v they do."""
    parts = ["type=bind", f"src={source}", f"dst={target}", *(["readonly"] if read_only else [])]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    return line.getvalue()


def gpu_arguments(way: GpuWay, gpu: str | None) -> list[str]:
    """Return the arguments that give a container one GPU, by index or UUID, or all of them."""
    which = gpu or "all"
    if way == "runtime":
        return ["--runtime=nvidia", "--env", f"NVIDIA_VISIBLE_DEVICES={which}"]
    if way == "cdi":
        return ["--device", f"nvidia.com/gpu={which}"]
    if way == "gpus":
        # One argument with quotes in it: docker parses CSV here too.
        return ["--gpus", "all" if gpu is None else f'"device={gpu}"']
    return []


def remove(client: str, environ: Mapping[str, str], names: Sequence[str]) -> None:
    """Remove containers by force; one that is not there is no error."""
    if not names:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):  # a daemon that hangs: the next run removes them
        subprocess.run(
            [client, "rm", "--force", *names],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
