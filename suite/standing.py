# SPDX-License-Identifier: Apache-2.0
"""What a stack is on this machine, in one word: ``built``, ``locked only`` or ``unverified``. Defined here alone.

``built``
    an environment of exactly its locks, or an image of exactly its folder on the pinned base, is here. Both exist only
    where their proof held: the framework was imported and has the version of stack.toml.
``locked only``
    nothing of it is here; its locks are, and every pin that would be used here is known by evidence.
``unverified``
    nothing of it is here, and the evidence of a pin that would be used here is ``unverified``.

A run has a word too, from what its run.json says: ``built``; ``stand-in``, for an image on another base; ``adopted``,
for an interpreter as it was found; ``not started``, where no sample gave a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from suite.records import Run, Sample
from suite.stack import Evidence

State = Literal["built", "locked only", "unverified"]
OfRun = Literal["built", "stand-in", "adopted", "not started"]

#: Pins that only an image uses, and those that nothing uses without CUDA.
OF_IMAGES = ("base image", "system packages")
OF_CUDA = ("cuda.ships",)


def unverified(evidence: Iterable[Evidence], *, image: bool, cuda: bool) -> list[Evidence]:
    """Return the unverified pins that are used: ``image``, in a container; ``cuda``, with the stack's own CUDA."""
    unused = (() if image else OF_IMAGES) + (() if cuda else OF_CUDA)
    return [each for each in evidence if each.known == "unverified" and each.pin not in unused]


def of_run(run: Run, samples: Sequence[Sample]) -> OfRun:
    """Return what a run's stack was."""
    if run.environment.get("wheels") == "adopted":
        return "adopted"
    if not any(sample.status == "ok" for sample in samples):
        return "not started"
    return "stand-in" if run.environment.get("base") == "stand-in" else "built"


def heading(run: Run, samples: Sequence[Sample]) -> list[str]:
    """Return the line of a table's head that says so; none where another line does."""
    state = of_run(run, samples)
    what = run.environment.get("image") or run.environment.get("key")
    if state == "built" and what:
        return [f"built: {'image' if 'image' in run.environment else 'environment'} {str(what)[:40]}"]
    return ["not started: no process of this stack gave a result"] if state == "not started" else []


def notes(run: Run) -> list[str]:
    """Return a note on each pin that the run used and that no evidence holds."""
    if run.environment.get("wheels") == "adopted":
        return []
    image = "image" in run.environment
    left_out = run.environment.get("labels", {}).get("coldwarm.cuda") == "none"
    cuda = run.environment.get("wheels") == "cuda" or (image and not left_out)
    recorded: list[Mapping[str, Any]] = run.stack["definition"].get("evidence", [])
    pins = unverified([Evidence(**each) for each in recorded], image=image, cuda=cuda)
    return [f"unverified pin, {each.pin}: {each.how}" for each in pins]
