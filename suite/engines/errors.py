# SPDX-License-Identifier: Apache-2.0
"""What the words of container engines, registries and NVIDIA's driver mean, and what to do. Pure functions.

Exit codes 125 to 127 are an engine's and a program's alike, and what engines say, programs may print. So a class needs
the text in the shape in which its author writes it, and, where a container was run, an exit code that fits. The words
themselves are the caller's to keep; what is not known here stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from suite.engines import advice
from suite.engines.advice import About

#: What was done when the words were said: a container was run, an image built (or pulled, saved, loaded), or the
#: engine, NVML or the framework asked something.
Doing = Literal["run", "build", "ask"]

#: An engine that could not start a container ends with one of these; so may a program inside.
ENGINE_CODES = (125, 126, 127)


@dataclass(frozen=True)
class Known:
    """A failure that is known: a stable code, what it means, and what to do."""

    code: str
    text: str
    next_step: str


@dataclass(frozen=True)
class _Rule:
    """``pattern``'s groups fill {0}, {1}, ... of ``text``. ``engine``: said by engines alone (see ENGINE_CODES).

    ``source``: public reports that have the words.
    """

    code: str
    pattern: str
    text: str
    next_step: str | Callable[[About], str]
    source: str
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


def classes(about: About) -> list[tuple[str, str, str, str]]:
    """Return code, text, advice and source of every rule, in the order in which they are looked for.

    What a text takes from the words themselves is shown as "...".
    """
    out = []
    for rule in _RULES:
        step = rule.next_step if isinstance(rule.next_step, str) else rule.next_step(about)
        out.append((rule.code, re.sub(r"(\{\d\})+", "...", rule.text), step, rule.source))
    return out


#: First match wins, so the most special come first.
_RULES = (
    # The driver and NVML, in a program's or NVIDIA's own words.
    _Rule(
        "driver_mismatch",
        r"driver/library version mismatch|\bError 803\b|\(803 vs\. 0\)|SYSTEM_DRIVER_MISMATCH"
        r"|cudaErrorSystemDriverMismatch|system has unsupported display driver / cuda driver combination",
        "the driver's module in the kernel and its libraries are of different versions",
        advice.REBOOT,
        "NVIDIA/nvidia-container-toolkit#394",
        engine=False,
    ),
    _Rule(
        "forward_compatibility",
        r"\bError 804\b|COMPAT_NOT_SUPPORTED_ON_DEVICE|cudaErrorCompatNotSupportedOnDevice"
        r"|forward compatibility was attempted on non supported HW",
        "the image's own libcuda (cuda-compat) is used, which works on data-centre GPUs alone",
        f"Keep cuda-compat off the library path. {advice.DRIVER}",
        "NVIDIA/nvidia-docker#1294, google-research/omniglue#14",
        engine=False,
    ),
    _Rule(
        "gpu_lost",
        r"Failed to initialize NVML: Unknown Error",
        "the container has no access to its GPU any more",
        "If it worked before: systemd reloaded its units and took the device away; run again, and for good "
        "nvidia-ctk system create-dev-char-symlinks --create-all, or CDI. "
        "If it never did: no-cgroups = true stands in /etc/nvidia-container-runtime/config.toml.",
        "NVIDIA/nvidia-docker#1671, NVIDIA/nvidia-container-toolkit#580",
        engine=False,
    ),
    _Rule(
        "gpu_permissions",
        r"Failed to initialize NVML: Insufficient Permissions|nvml error: insufficient permissions",
        "the container may not open the GPU",
        advice.permissions,
        "NVIDIA/nvidia-container-toolkit#210, containerd/containerd#6042",
        engine=False,
    ),
    _Rule(
        "selinux",
        r"\bavc: +denied\b|RELRO protection failed: Permission denied"
        r"|cannot apply additional memory protection after relocation: Permission denied",
        "SELinux refuses what the container opens",
        "ausearch -m avc -ts recent shows what. "
        "The image's storage may be labelled wrongly: restorecon -R on it, or reinstall container-selinux.",
        "podman-container-tools/podman#2025, podman-container-tools/podman#26251",
        engine=False,
    ),
    _Rule(
        "driver_not_loaded",
        r"nvml error: driver not loaded|couldn't communicate with the NVIDIA driver",
        "NVIDIA's driver is installed and not loaded",
        "sudo modprobe nvidia, or reboot; dmesg says why it does not load.",
        "NVIDIA/nvidia-docker#1393, NVIDIA/nvidia-docker#988",
        engine=False,
    ),
    _Rule(
        "driver_missing",
        r"initialization error: load library failed: (libnvidia-ml\.so\.1|libcuda\.so\.1)",
        "the engine's machine has no NVIDIA driver: {0} is not there",
        advice.driver_missing,
        "NVIDIA/nvidia-container-toolkit#154, docker/for-win#13835",
        engine=False,
    ),
    _Rule(
        "wsl_no_gpu",
        r"WSL environment detected but no adapters were found|GPU access blocked by the operating system",
        "WSL shows no NVIDIA GPU to Linux",
        "It needs WSL 2 (wsl --set-version), NVIDIA's driver in Windows (none in Linux) and an NVIDIA GPU. "
        "CPU and XLA_CPU are measured without.",
        "NVIDIA/nvidia-container-toolkit#155, microsoft/WSL#9938",
        engine=False,
    ),
    _Rule(
        "driver_in_image",
        r"mount error: file creation failed: \S*/(lib(?:nvidia|cuda)[^\s/:]*): file exists",
        "the image holds a file of NVIDIA's driver ({0}) where the machine's own must go",
        "Such files come from a build on WSL: remove lib/x86_64-linux-gnu/libnvidia-* and libcuda.so.* "
        "in the image, or build it again: make build.",
        "NVIDIA/nvidia-docker#1551, NVIDIA/nvidia-docker#1699",
    ),
    _Rule(
        "driver_too_old",
        r"unsatisfied condition: (brand ?= ?\S+)",
        "the driver is too old for this image (of several conditions the last is shown: {0})",
        advice.DRIVER,
        "NVIDIA/nvidia-docker#861",
    ),
    _Rule(
        "driver_too_old",
        r"unsatisfied condition: ([^\n,\\]+)",
        "the driver is too old for this image: it needs {0}",
        advice.DRIVER,
        "NVIDIA/nvidia-docker#1442",
    ),
    _Rule(
        "driver_too_old",
        r"CUDA driver version is insufficient for CUDA runtime version",
        "the driver is too old for this CUDA",
        advice.DRIVER,
        "tensorflow/tensorflow#41401",
        engine=False,
    ),
    # How the engine hands out GPUs.
    _Rule(
        "cdi_missing",
        r"unresolvable CDI devices ([^\n\s:]+)|select device driver \"cdi\""
        r"|(nvidia\.com/gpu=\S+) is not an absolute path",
        "the engine knows no CDI device {0}{1}",
        advice.cdi,
        "NVIDIA/nvidia-container-toolkit#434, vespa-engine/vespa#27945",
    ),
    _Rule(
        "toolkit_missing",
        r'could not select device driver "\w*" with capabilities: \[\[[\w ]*gpu[\w ]*\]\]',
        "the engine has no way to give a container a GPU: NVIDIA's container toolkit is not set up for it",
        advice.set_up_toolkit,
        "NVIDIA/nvidia-docker#1034",
    ),
    _Rule(
        "runtime_not_registered",
        r'(?:unknown or invalid runtime name: |Unknown runtime specified |OCI runtime ")nvidia\b',
        "the engine has no runtime of the name nvidia",
        advice.set_up_toolkit,
        "NVIDIA/nvidia-docker#838, NVIDIA/nvidia-container-toolkit#150",
    ),
    _Rule(
        "device_missing",
        r'(?:while adding custom device "|^Error: stat )(/dev/nvidia[^":\s]*)',
        "{0} is not there",
        "The driver makes it when it is first used: sudo nvidia-modprobe -u -c=0, or run nvidia-smi once.",
        "webanck/docker-wine-steam#15",
    ),
    # The daemon.
    _Rule(
        "socket_permission",
        r"permission denied while trying to connect to the docker (?:daemon socket|API)"
        r"|dial unix \S+\.sock: connect: permission denied",
        "your user may not talk to the daemon",
        advice.socket,
        "docker-library/postgres#1124",
    ),
    _Rule(
        "daemon_down",
        r"Cannot connect to the Docker daemon|Is the docker daemon running\?|unable to connect to Podman socket"
        r"|^Cannot connect to Podman",
        "its daemon does not answer",
        advice.daemon,
        "zodern/meteor-up#1310, podman-container-tools/podman#20424",
    ),
    # Registries.
    _Rule(
        "schema_1",
        # Not "schema 1 support will be removed", a warning of engines that still read it.
        r"schema 1 support is disabled|docker\.distribution\.manifest\.v1\+\w+\"? (?:is no longer|not) supported",
        "the image is in a format (manifest schema 1) that this engine no longer reads",
        "An engine before Docker 26 or containerd 2.1 can pull it and save it again; or replace the base: "
        "BUILD_ARGS=BASE_IMAGE=...",
        "wagoodman/dive#541, ovh/cds#7735",
    ),
    _Rule(
        "wrong_platform",
        r"no matching manifest for (linux/\S+)|(no match for platform) in manifest"
        r"|no image found in (?:manifest list|image index) for architecture (\S+)"
        r"|^exec \S+: (exec format error)|exec user process caused:? \"?(exec format error)"
        r"|^Error: .*(exec(?:ve)?\b.*: exec format error)",
        "the image is for another kind of machine ({0}{1}{2}{3}{4}{5})",
        "The stacks' frameworks come as x86_64 wheels: take an x86_64 machine. "
        "Emulation cannot run them (no AVX), and its numbers would mean nothing.",
        "link-assistant/hive-mind#962, langfuse/langfuse#2556, docker-library/mysql#228",
        engine=False,
    ),
    _Rule(
        "rate_limit",
        rf"(?:{_SAID}|reading manifest )[^\n]*(?:toomanyrequests\b|429 Too Many Requests)|^toomanyrequests: ",
        "the registry's pull limit is reached: try again later",
        advice.LATER,
        "docker/hub-feedback#2429, elastic/golang-crossbuild#659",
    ),
    _Rule(
        "base_withdrawn",
        rf"(?:{_SAID})[^\n]*(?:manifest (?:for \S+ )?(?:not found|unknown)|MANIFEST_UNKNOWN)"
        r"|failed to solve(?!: failed to compute cache key)[^\n]*: not found"
        r"|^manifest (?:for \S+ )?not found: manifest unknown"
        r"|reading manifest \S+ in \S+: manifest unknown",
        "its base image was withdrawn from the registry",
        advice.GONE,
        "open-mmlab/OpenPCDet#1410, NVIDIA/nvidia-docker#1768",
    ),
    _Rule(
        "key_rotation",
        r"NO_PUBKEY A4B469963BF863CC",
        "NVIDIA's package key was changed in April 2022, and the base image still has the old one",
        "Nothing of that repository is needed: delete /etc/apt/sources.list.d/cuda.list and nvidia-ml.list "
        "before apt-get update, or take the new key (cuda-keyring).",
        "open-mmlab/OpenPCDet#955",
        only=("build",),
    ),
    _Rule(
        "buildx_missing",
        r"the --mount option requires BuildKit|buildx component is missing",
        "docker's buildx plugin is missing",
        "Install docker-buildx (docker-buildx-plugin), or build with ENGINE=podman.",
        "vllm-project/vllm#16205",
        only=("build",),
    ),
    _Rule(
        "no_space",
        r"no space left on device",
        "the disk is full",
        advice.PRUNE,
        "moby/moby#36473",
        only=("build",),
    ),
    _Rule(
        "no_space",
        rf"(?:{_SAID})[^\n]*no space left on device",
        "the disk is full",
        advice.PRUNE,
        "moby/moby#36473",
        only=("run", "ask"),
    ),
    _Rule(
        "registry_unreachable",
        r"\bdial (?:tcp|udp)\b|pinging container registry|net/http: TLS handshake timeout",
        "the registry cannot be reached",
        "See the network and proxy of the daemon (not only yours); or bring the image: make image-load FILE=",
        "docker/buildx#507, docker/for-win#910",
        only=("build",),
    ),
    _Rule(
        "build_network",
        r"Temporary failure resolving '|Retry\(total=0,[^\n]*(?:Temporary failure in name resolution|\[Errno -2\])",
        "a step of the build has no network, or no names in it",
        "Let builds use the machine's own network: COLDWARM_BUILD_NETWORK=host; a proxy must be the daemon's, too.",
        "docker/for-win#5486, simplex-chat/simplexmq#1253",
        only=("build",),
    ),
)
