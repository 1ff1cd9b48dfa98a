# SPDX-License-Identifier: Apache-2.0
"""What the words of container engines, registries and NVIDIA's driver mean, and what to do. Pure functions.

Exit codes 125 to 127 are an engine's and a program's alike, and what engines say, programs may print. So a class needs
the text in the shape in which its author writes it, and, where a container was run, an exit code that fits. The words
themselves are the caller's to keep; what is not known here stays unknown. Where the texts are from:
``tests/unit/test_engine_errors.py`` names a public report for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: What was done when the words were said: a container was run, an image built (or pulled, saved, loaded), or the
#: engine, NVML or the framework asked something.
Doing = Literal["run", "build", "ask"]

#: An engine that could not start a container ends with one of these; so may a program inside.
ENGINE_CODES = (125, 126, 127)


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


@dataclass(frozen=True)
class Known:
    """A failure that is known: a stable code, what it means, and what to do."""

    code: str
    text: str
    next_step: str


@dataclass(frozen=True)
class _Rule:
    """``pattern``'s groups fill {0}, {1}, ... of ``text``. ``engine``: said by engines alone (see ENGINE_CODES)."""

    code: str
    pattern: str
    text: str
    next_step: str | Callable[[About], str]
    engine: bool = True
    only: tuple[Doing, ...] = ("run", "build", "ask")


#: How a line begins that an engine or its builder wrote, and not a program that it ran.
_SAID = r"^(?:docker: |podman: |Error: |ERROR: |Error response from daemon: |ERRO\[|time=\S+ |\S+: Pulling |failed to )"


def known(exit_code: int | None, text: str, about: About, doing: Doing = "run") -> Known | None:
    """Return what a failure means, or None where it is not known.

    Parameters
    ----------
    exit_code
        Of the engine's client; None where there is none. A program that succeeded has not failed: 0 is never a class.
    text
        All that was said, as it came.
    """
    if exit_code == 0:
        return None
    for rule in _RULES:
        if doing not in rule.only:
            continue
        if rule.engine and doing == "run" and exit_code is not None and exit_code not in ENGINE_CODES:
            continue
        match = re.search(rule.pattern, text, re.IGNORECASE | re.MULTILINE)
        if match:
            groups = [(group or "").strip()[:160] for group in match.groups()]
            step = rule.next_step if isinstance(rule.next_step, str) else rule.next_step(about)
            return Known(rule.code, rule.text.format(*groups).strip(), step)
    return None


def codes() -> list[str]:
    """Return the codes of all classes, each once, in the order in which they are looked for."""
    return list(dict.fromkeys(rule.code for rule in _RULES))


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


def _cdi(about: About) -> str:
    generate = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; nvidia-ctk cdi list shows the names"
    if about.name == "podman":
        return generate
    return f'{generate}. Docker reads it from version 25 on, with "features": {{"cdi": true}} in its daemon.json.'


def _permissions(about: About) -> str:
    selinux = "SELinux refuses: the container must run with --security-opt=label=disable"
    nodes = "/dev/nvidia* must be open to your user (ls -l /dev/nvidia*; often the group video)"
    if about.selinux:
        return f"{selinux}; if it did, {nodes}."
    if about.rootless:
        return f"The engine runs without root: {nodes}."
    return f"Two causes are known. {selinux}. Or {nodes}."


def _socket(about: About) -> str:
    if about.desktop:
        return "Docker Desktop's socket is its user's own: docker context ls shows which one is asked."
    return "sudo usermod -aG docker $USER, then log in again (the group is as good as root); or ENGINE=podman or local."


def _daemon(about: About) -> str:
    if about.name == "podman":
        return "podman system connection list shows what is asked; on Linux podman needs no daemon at all."
    if about.desktop:
        return "Start Docker Desktop; docker context ls shows which daemon is asked."
    return (
        "sudo systemctl start docker (or dockerd); docker context ls and DOCKER_HOST say which daemon is asked. "
        "ENGINE=local measures without containers."
    )


_REBOOT = (
    "Reboot, or unload and load the nvidia modules: the driver's files were updated under the loaded module. "
    "Images need no rebuild. If nvidia-smi works on the machine itself, the image brings driver files of its own: "
    "they must go."
)
_DRIVER = (
    "Update the machine's driver, or take a stack with an older CUDA: make doctor shows which. "
    "Only the driver counts, not a CUDA toolkit on the machine."
)
_GONE = (
    "Take the image from an archive (make image-load FILE=), or replace the base: "
    "BUILD_ARGS=BASE_IMAGE=..., which is said in every result."
)
_PRUNE = "docker (or podman) system df shows what images take; system prune removes what nothing uses."
_LATER = "Try again later, or log in (docker login): the limit counts per address or user."

#: First match wins, so the most special come first.
_RULES = (
    # The driver and NVML, in a program's or NVIDIA's own words.
    _Rule(
        "driver_mismatch",
        r"driver/library version mismatch|\bError 803\b|\(803 vs\. 0\)|SYSTEM_DRIVER_MISMATCH"
        r"|cudaErrorSystemDriverMismatch|system has unsupported display driver / cuda driver combination",
        "the driver's module in the kernel and its libraries are of different versions",
        _REBOOT,
        engine=False,
    ),
    _Rule(
        "forward_compatibility",
        r"\bError 804\b|COMPAT_NOT_SUPPORTED_ON_DEVICE|cudaErrorCompatNotSupportedOnDevice"
        r"|forward compatibility was attempted on non supported HW",
        "the image's own libcuda (cuda-compat) is used, which works on data-centre GPUs alone",
        f"Keep cuda-compat off the library path. {_DRIVER}",
        engine=False,
    ),
    _Rule(
        "gpu_lost",
        r"Failed to initialize NVML: Unknown Error",
        "the container has no access to its GPU any more",
        "If it worked before: systemd reloaded its units and took the device away; run again, and for good "
        "nvidia-ctk system create-dev-char-symlinks --create-all, or CDI. "
        "If it never did: no-cgroups = true stands in /etc/nvidia-container-runtime/config.toml.",
        engine=False,
    ),
    _Rule(
        "gpu_permissions",
        r"Failed to initialize NVML: Insufficient Permissions",
        "the container may not open the GPU",
        _permissions,
        engine=False,
    ),
    _Rule(
        "selinux",
        r"\bavc: +denied\b|RELRO protection failed: Permission denied"
        r"|cannot apply additional memory protection after relocation: Permission denied",
        "SELinux refuses what the container opens",
        "ausearch -m avc -ts recent shows what. "
        "The image's storage may be labelled wrongly: restorecon -R on it, or reinstall container-selinux.",
        engine=False,
    ),
    _Rule(
        "driver_not_loaded",
        r"nvml error: driver not loaded|couldn't communicate with the NVIDIA driver",
        "NVIDIA's driver is installed and not loaded",
        "sudo modprobe nvidia, or reboot; dmesg says why it does not load.",
        engine=False,
    ),
    _Rule(
        "wsl_no_gpu",
        r"WSL environment detected but no adapters were found|GPU access blocked by the operating system",
        "WSL shows no NVIDIA GPU to Linux",
        "It needs WSL 2 (wsl --set-version), NVIDIA's driver in Windows (none in Linux) and an NVIDIA GPU. "
        "CPU and XLA_CPU are measured without.",
        engine=False,
    ),
    _Rule(
        "driver_in_image",
        r"mount error: file creation failed: \S*/(lib(?:nvidia|cuda)[^\s/:]*): file exists",
        "the image holds a file of NVIDIA's driver ({0}) where the machine's own must go",
        "Such files come from a build on WSL: remove lib/x86_64-linux-gnu/libnvidia-* and libcuda.so.* "
        "in the image, or build it again: make build.",
    ),
    _Rule(
        "driver_too_old",
        r"unsatisfied condition: (brand ?= ?\S+)",
        "the driver is too old for this image (of several conditions the last is shown: {0})",
        _DRIVER,
    ),
    _Rule(
        "driver_too_old",
        r"unsatisfied condition: ([^\n,\\]+)",
        "the driver is too old for this image: it needs {0}",
        _DRIVER,
    ),
    _Rule(
        "driver_too_old",
        r"CUDA driver version is insufficient for CUDA runtime version",
        "the driver is too old for this CUDA",
        _DRIVER,
        engine=False,
    ),
    # How the engine hands out GPUs.
    _Rule(
        "cdi_missing",
        r"unresolvable CDI devices ([^\n\s:]+)|select device driver \"cdi\""
        r"|(nvidia\.com/gpu=\S+) is not an absolute path",
        "the engine knows no CDI device {0}{1}",
        _cdi,
    ),
    _Rule(
        "toolkit_missing",
        r'could not select device driver "\w*" with capabilities: \[\[[\w ]*gpu[\w ]*\]\]',
        "the engine has no way to give a container a GPU: NVIDIA's container toolkit is not set up for it",
        set_up_toolkit,
    ),
    _Rule(
        "runtime_not_registered",
        r'(?:unknown or invalid runtime name: |Unknown runtime specified |OCI runtime ")nvidia\b',
        "the engine has no runtime of the name nvidia",
        set_up_toolkit,
    ),
    _Rule(
        "device_missing",
        r'(?:while adding custom device "|^Error: stat )(/dev/nvidia[^":\s]*)',
        "{0} is not there",
        "The driver makes it when it is first used: sudo nvidia-modprobe -u -c=0, or run nvidia-smi once.",
    ),
    # The daemon.
    _Rule(
        "socket_permission",
        r"permission denied while trying to connect to the docker (?:daemon socket|API)"
        r"|dial unix \S+\.sock: connect: permission denied",
        "your user may not talk to the daemon",
        _socket,
    ),
    _Rule(
        "daemon_down",
        r"Cannot connect to the Docker daemon|Is the docker daemon running\?|unable to connect to Podman socket"
        r"|^Cannot connect to Podman",
        "its daemon does not answer",
        _daemon,
    ),
    # Registries.
    _Rule(
        "schema_1",
        r"Docker Image Format v1|schema 1 support (?:is|has been|was)|manifest\.v1\+(?:prettyjws|json)",
        "the image is in a format (manifest schema 1) that this engine no longer reads",
        "An engine before Docker 26 or containerd 2.1 can pull it and save it again; or replace the base: "
        "BUILD_ARGS=BASE_IMAGE=...",
    ),
    _Rule(
        "wrong_platform",
        r"no matching manifest for (linux/\S+)|no image found in (?:manifest list|image index) for architecture (\S+)"
        r"|^exec \S+: (exec format error)|exec user process caused:? \"?(exec format error)"
        r"|^Error: .*(exec(?:ve)?\b.*: exec format error)",
        "the image is for another kind of machine ({0}{1}{2}{3}{4})",
        "The stacks' frameworks come as x86_64 wheels: take an x86_64 machine. "
        "Emulation cannot run them (no AVX), and its numbers would mean nothing.",
        engine=False,
    ),
    _Rule(
        "rate_limit",
        rf"(?:{_SAID}|reading manifest )[^\n]*(?:toomanyrequests\b|429 Too Many Requests)|^toomanyrequests: ",
        "the registry's pull limit is reached: try again later",
        _LATER,
    ),
    _Rule(
        "base_withdrawn",
        rf"(?:{_SAID})[^\n]*(?:manifest (?:for \S+ )?(?:not found|unknown)|MANIFEST_UNKNOWN)"
        r"|failed to solve(?!: failed to compute cache key)[^\n]*: not found"
        r"|^manifest (?:for \S+ )?not found: manifest unknown"
        r"|reading manifest \S+ in \S+: manifest unknown",
        "its base image was withdrawn from the registry",
        _GONE,
    ),
    _Rule(
        "key_rotation",
        r"NO_PUBKEY A4B469963BF863CC",
        "NVIDIA's package key was changed in April 2022, and the base image still has the old one",
        "Nothing of that repository is needed: delete /etc/apt/sources.list.d/cuda.list and nvidia-ml.list "
        "before apt-get update, or take the new key (cuda-keyring).",
        only=("build",),
    ),
    _Rule(
        "buildx_missing",
        r"the --mount option requires BuildKit|buildx component is missing",
        "docker's buildx plugin is missing",
        "Install docker-buildx (docker-buildx-plugin), or build with ENGINE=podman.",
        only=("build",),
    ),
    _Rule(
        "no_space",
        r"no space left on device",
        "the disk is full",
        _PRUNE,
        only=("build",),
    ),
    _Rule(
        "no_space",
        rf"(?:{_SAID})[^\n]*no space left on device",
        "the disk is full",
        _PRUNE,
        only=("run", "ask"),
    ),
    _Rule(
        "registry_unreachable",
        r"(?:failed to resolve|no such host|dial tcp|connection refused|i/o timeout|pinging container registry"
        r"|Temporary failure in name resolution)[^\n]*",
        "the registry cannot be reached",
        "See the network and proxy of the daemon (not only yours); or bring the image: make image-load FILE=",
        only=("build",),
    ),
)
