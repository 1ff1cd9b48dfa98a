# SPDX-License-Identifier: Apache-2.0
"""Make a container engine ready for a stack: orphans of dead runs removed, the image found or built, GPUs offered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from suite import host, progress
from suite.engines import daemon as daemons
from suite.engines import images
from suite.engines.advice import set_up_toolkit
from suite.engines.container import Container
from suite.engines.daemon import Daemon
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import Stack
from suite.words import Words


def container_ready(
    words: Words, chosen: Stack, environ: Mapping[str, str], worker: Path, daemon: Daemon
) -> tuple[str, Container]:
    """Return the image's Python minor and the engine.

    Raises
    ------
    SuiteError
        USAGE for words that mean nothing in an image, NOT_PREPARED where there is no image and none can be built.
    """
    minor = chosen.definition.python.default
    if words.adopt or words.python not in (None, minor):
        what = f"PYTHON={words.python}: the image of {chosen.name} has Python {minor}"
        raise SuiteError(Exit.USAGE, what, "ENGINE=local takes another one.")
    removed = daemons.remove_orphans(daemon, environ)
    if removed:
        progress.say(f"removed {removed} containers that runs which have ended left behind")
    way = daemon.gpu_way
    remark = gpu_remark(daemon, driver_loaded=host.nvidia_driver_loaded())
    if remark:
        progress.say(remark)
    image = images.find(daemon, chosen, environ)
    if image is None:
        stale = images.others(daemon, chosen, environ)
        if stale:
            what = f"{chosen.name}: the image here is stale: its folder has changed since {', '.join(stale)} was built"
            raise SuiteError(Exit.NOT_PREPARED, what, f"make build STACK={chosen.name} builds it again.")
        image = images.build(daemon, chosen, words.build_args, environ, progress.say)
    facts = {
        **image.identity(),
        "engine_version": daemon.version,
        "gpu_way": way,
        "cpus": words.cpus,
        "cpuset": words.cpuset,
        "python_version": minor,
        "packages": {},
        "wheels": "image",
    }
    return minor, Container(
        name=daemon.name,
        client=daemon.client,
        image=image.id,
        python=f"python{minor}",
        owner=daemons.owner(),
        place=daemons.place(),
        environ=dict(environ),
        gpu_way=way,
        gpu=words.gpu,
        cpus=words.cpus,
        cpuset=words.cpuset,
        selinux=daemon.selinux,
        rootless=daemon.rootless,
        about=daemons.about(daemon),
        facts=facts,
        worker=worker,
    )


def gpu_remark(daemon: Daemon, *, driver_loaded: bool) -> str:
    """Return what is to be said of GPUs before anything is built: "" where the engine offers them or there are none."""
    if not driver_loaded or daemon.gpu_way != "none":
        return ""
    return (
        f"{daemon.name} offers no GPU, though this machine has an NVIDIA driver: CPU columns are measured, GPU ones "
        f"are unavailable. Next: {how_to_offer(daemon)}"
    )


def how_to_offer(daemon: Daemon) -> str:
    """Return what makes this engine offer the machine's GPUs."""
    return set_up_toolkit(daemons.about(daemon))
