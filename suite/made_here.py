# SPDX-License-Identifier: Apache-2.0
"""What this machine has of a stack: environments, and images as far as the engines tell them in time. Reads only."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from suite import environment
from suite.engines import images
from suite.stack import Stack, Wheels
from suite.standing import State, unverified

#: Seconds that all container engines together may take to tell their images.
ASK_S = 0.1


@dataclass(frozen=True)
class Standing:
    """A stack's word here, and what it rests on.

    ``made``: the engines that have it made; ``stand_ins``: those that have its image on another base;
    ``unverified``: the unverified pins that would be used here.
    """

    state: State
    made: tuple[str, ...]
    stand_ins: tuple[str, ...]
    unverified: tuple[str, ...]


@dataclass
class Images:
    """Images of stacks on this machine, as far as the engines told in time: labels by engine and name."""

    labels: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    """Engines that are installed and did not answer in time."""

    def of(self, stack: Stack) -> Iterable[tuple[str, bool]]:
        """Return each engine that has this very definition's image, and whether it is on the pinned base."""
        for engine, by_name in self.labels.items():
            labels = by_name.get(images.tag(stack)) if by_name else None
            if labels and labels.get("coldwarm.definition") == stack.sha256():
                yield engine, images.as_pinned(stack, labels)


class Asking:
    """Asks the container engines for their images, beside other work: begun when made, ended by :meth:`answers`."""

    def __init__(self, environ: Mapping[str, str], limit_s: float = ASK_S) -> None:
        self._until = time.monotonic() + limit_s
        self._environ = dict(environ)
        self._asked: dict[str, subprocess.Popen[str]] = {}
        for name in ("docker", "podman"):
            argv = [name, "images", "--filter", "label=coldwarm.stack", "--format", "{{.Repository}}:{{.Tag}}"]
            process = self._start(argv)
            if process is not None:
                self._asked[name] = process

    def answers(self) -> Images:
        """Return what the engines told; one that is late is not waited for."""
        out = Images()
        for name, process in self._asked.items():
            said = self._said(process)
            names = [each for each in (said or "").split() if each.startswith(f"{images.REPOSITORY}/")]
            labels = self._labels(name, names) if names else {}
            if said is None or labels is None:
                out.silent.append(name)
            else:
                out.labels[name] = labels
        return out

    def _labels(self, client: str, names: Sequence[str]) -> dict[str, dict[str, str]] | None:
        process = self._start([client, "image", "inspect", "--format", "{{json .Config.Labels}}", *names])
        said = self._said(process) if process is not None else None
        if said is None:
            return None
        try:
            return dict(zip(names, (json.loads(line) or {} for line in said.splitlines()), strict=True))
        except ValueError:
            return None

    def _start(self, argv: Sequence[str]) -> subprocess.Popen[str] | None:
        try:
            return subprocess.Popen(
                argv,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )
        except OSError:
            return None

    def _said(self, process: subprocess.Popen[str]) -> str | None:
        """Return what a client printed, or None where it failed or is late; it is ended then."""
        try:
            said, _ = process.communicate(timeout=max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        return said if process.returncode == 0 else None


def of(stack: Stack, environ: Mapping[str, str], found: Images) -> Standing:
    """Return what a stack is on this machine. Reads only, runs nothing."""
    wheels = environment.wheels_for(stack)
    made = ["local"] if _has_environment(stack, environ, wheels) else []
    with_image = dict(found.of(stack))
    made += [engine for engine, pinned in with_image.items() if pinned]
    stand_ins = [engine for engine, pinned in with_image.items() if not pinned]
    # Without a word, an engine that answers is what would measure: then its image would have to be built.
    in_image = bool(found.labels) and stack.dockerfile().is_file()
    pins = unverified(stack.definition.evidence, image=in_image, cuda=in_image or wheels == "cuda")
    state: State = "built" if made else "unverified" if pins else "locked only"
    return Standing(state, tuple(made), tuple(stand_ins), tuple(each.pin for each in pins))


def _has_environment(stack: Stack, environ: Mapping[str, str], wheels: Wheels) -> bool:
    minors = stack.definition.python.minors()
    return any(environment.find_made(stack, minor, environ=environ, wheels=wheels) for minor in minors)
