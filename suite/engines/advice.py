# SPDX-License-Identifier: Apache-2.0
"""What to do about an engine's failures, where that differs by the engine. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """What is known of the engine that spoke, where the advice differs by it.

    ``toolkit``: does NVIDIA's container toolkit lie on this machine? None: not looked for. ``desktop``: Docker Desktop,
    whose daemon lives in a virtual machine. ``selinux``: does the engine label containers?
    """

    name: str = "docker"
    toolkit: bool | None = None
    desktop: bool = False
    rootless: bool = False
    selinux: bool = False


def set_up_toolkit(about: About) -> str:
    """Return what makes an engine offer the machine's GPUs."""
    if about.name == "podman":
        return "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    if about.desktop:
        return "Docker Desktop has no toolkit in its machine: docker context use default takes the daemon of this one."
    configure = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
    if about.toolkit:
        return f"The toolkit is installed and this daemon does not know it: {configure}"
    if about.toolkit is None:
        return f"Install NVIDIA's container toolkit (nvidia-container-toolkit), then: {configure}"
    return (
        f"It is not installed here. Install nvidia-container-toolkit from NVIDIA's repository, then: {configure}"
    )


def cdi(about: About) -> str:
    """Return what makes an engine know a GPU by its CDI name."""
    generate = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; nvidia-ctk cdi list shows the names"
    if about.name == "podman":
        return generate
    return f'{generate}. Docker reads it from version 25 on, with "features": {{"cdi": true}} in its daemon.json.'


def driver_missing(about: About) -> str:
    """Return where an engine's machine gets NVIDIA's driver from."""
    if about.desktop:
        return "Docker Desktop's machine has none: docker context use default takes the daemon of this one."
    return (
        "Install NVIDIA's driver, with its libraries, on the machine whose daemon this is: "
        "ldconfig -p | grep nvidia-ml must find them there."
    )


def permissions(about: About) -> str:
    """Return what opens the GPU to a container."""
    selinux = "SELinux refuses: the container must run with --security-opt=label=disable"
    nodes = "/dev/nvidia* must be open to your user (ls -l /dev/nvidia*; often the group video)"
    if about.selinux:
        return f"{selinux}; if it did, {nodes}."
    if about.rootless:
        return f"The engine runs without root: {nodes}."
    return f"Two causes are known. {selinux}. Or {nodes}."


def socket(about: About) -> str:
    """Return what opens a daemon to its user."""
    if about.desktop:
        return "Docker Desktop's socket is its user's own: docker context ls shows which one is asked."
    return "sudo usermod -aG docker $USER, then log in again (the group is as good as root); or ENGINE=podman or local."


def daemon(about: About) -> str:
    """Return what makes a daemon answer."""
    if about.name == "podman":
        return "podman system connection list shows what is asked; on Linux podman needs no daemon at all."
    if about.desktop:
        return "Start Docker Desktop; docker context ls shows which daemon is asked."
    return (
        "sudo systemctl start docker (or dockerd); docker context ls and DOCKER_HOST say which daemon is asked. "
        "ENGINE=local measures without containers."
    )


REBOOT = (
    "Reboot, or unload and load the nvidia modules: the driver's files were updated under the loaded module. "
    "Images need no rebuild. If nvidia-smi works on the machine itself, the image brings driver files of its own: "
    "they must go."
)
DRIVER = (
    "Update the machine's driver, or take a stack with an older CUDA: make doctor shows which. "
    "Only the driver counts, not a CUDA toolkit on the machine."
)
GONE = (
    "Take the image from an archive (make image-load FILE=), or replace the base: "
    "BUILD_ARGS=BASE_IMAGE=..., which is said in every result."
)
PRUNE = "docker (or podman) system df shows what images take; system prune removes what nothing uses."
LATER = "Try again later, or log in (docker login): the limit counts per address or user."
