# SPDX-License-Identifier: Apache-2.0
"""What engines, registries and drivers have said in public, and what is near it and means nothing."""

from __future__ import annotations

HOOK = (
    "docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime "
    "create failed: runc create failed: unable to start container process: error during container init: error running "
    "hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n"
    "nvidia-container-cli: "
)


FROM_CUDA = "docker.io/nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04"


LIMIT = (
    "toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and "
    "upgrading: https://www.docker.com/increase-rate-limit"
)


SCHEMA = (
    "[DEPRECATION NOTICE] Docker Image Format v1 and Docker Image manifest version 2, schema 1 support is disabled by "
    "default and will be removed in an upcoming release. Suggest the author of docker.io/radial/busyboxplus:base to "
    "upgrade the image to the OCI Format or Docker Image manifest v2, schema 2."
)


#: code, what was done, exit code, the text; where it is from.
REPORTS = [
    # NVIDIA/nvidia-container-toolkit#394
    (
        "driver_mismatch",
        "run",
        125,
        HOOK + "initialization error: nvml error: driver/library version mismatch: unknown.",
    ),
    # NVIDIA/nvidia-container-toolkit#171: inside a container that was started
    ("driver_mismatch", "run", 18, "Failed to initialize NVML: Driver/library version mismatch\n"),
    # DeepVAC/TorchPod#43
    (
        "forward_compatibility",
        "run",
        1,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 804: forward compatibility was attempted on non "
        "supported HW",
    ),
    # NVIDIA/nvidia-container-toolkit#1227
    ("gpu_lost", "run", 255, "Failed to initialize NVML: Unknown Error\n"),
    # the toolkit's own page Troubleshooting
    ("gpu_permissions", "run", 4, "Failed to initialize NVML: Insufficient Permissions\n"),
    # containerd/containerd#6042
    ("gpu_permissions", "run", 125, HOOK + "initialization error: nvml error: insufficient permissions: unknown"),
    # podman-container-tools/podman#2025
    (
        "selinux",
        "run",
        127,
        "Error relocating /lib/ld-musl-x86_64.so.1: RELRO protection failed: Permission denied\n",
    ),
    # podman-container-tools/podman#20314
    (
        "selinux",
        "run",
        127,
        "/bin/sh: error while loading shared libraries: /lib/x86_64-linux-gnu/libc.so.6: cannot apply additional "
        "memory protection after relocation: Permission denied\n",
    ),
    ("driver_not_loaded", "run", 125, HOOK + "initialization error: nvml error: driver not loaded: unknown.\n"),
    # what nvidia-smi says
    (
        "driver_not_loaded",
        "ask",
        9,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.",
    ),
    # docker/for-win#13835
    (
        "driver_missing",
        "run",
        125,
        HOOK
        + "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such "
        "file or directory: unknown.",
    ),
    # NVIDIA/nvidia-container-toolkit#155
    (
        "wsl_no_gpu",
        "run",
        125,
        HOOK + "initialization error: WSL environment detected but no adapters were found: unknown",
    ),
    # NVIDIA/nvidia-docker#1699
    (
        "driver_in_image",
        "run",
        125,
        HOOK
        + "mount error: file creation failed: /var/lib/docker/overlay2/6011c5/merged/usr/lib/x86_64-linux-gnu/"
        "libnvidia-ml.so.1: file exists: unknown.",
    ),
    (
        "driver_too_old",
        "run",
        125,
        HOOK
        + "requirement error: unsatisfied condition: cuda>=12.6, please update your driver to a newer version, or "
        "use an earlier cuda container: unknown.",
    ),
    (
        "driver_too_old",
        "run",
        1,
        "failed call to cuInit: CUDA driver version is insufficient for CUDA runtime version",
    ),
    # seen on docker 26, podman 4.3 (exit 126) and docker 20.10 with both clients
    (
        "cdi_missing",
        "run",
        125,
        "docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=9.",
    ),
    ("cdi_missing", "run", 126, "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"),
    ("cdi_missing", "run", 125, "docker: nvidia.com/gpu=all is not an absolute path."),
    (
        "cdi_missing",
        "run",
        125,
        'docker: Error response from daemon: could not select device driver "cdi" with capabilities: []',
    ),
    (
        "toolkit_missing",
        "run",
        125,
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    ),
    (
        "toolkit_missing",
        "run",
        125,
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[utility gpu]].',
    ),
    (
        "runtime_not_registered",
        "run",
        125,
        "docker: Error response from daemon: Unknown runtime specified nvidia.",
    ),
    (
        "runtime_not_registered",
        "run",
        125,
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
    ),
    ("runtime_not_registered", "run", 125, 'Error: default OCI runtime "nvidia" not found: invalid argument'),
    (
        "device_missing",
        "run",
        127,
        "docker: Error response from daemon: error gathering device information while adding custom device "
        '"/dev/nvidia0": no such file or directory.',
    ),
    ("device_missing", "run", 125, "Error: stat /dev/nvidia0: no such file or directory"),
    (
        "socket_permission",
        "ask",
        1,
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
        '"http://%2Fvar%2Frun%2Fdocker.sock/v1.24/info": dial unix /var/run/docker.sock: connect: permission denied',
    ),
    (
        "daemon_down",
        "ask",
        1,
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    ),
    # radial/core-busyboxplus#6, wagoodman/dive#541
    ("schema_1", "build", 1, SCHEMA),
    # ovh/cds#7735
    (
        "schema_1",
        "build",
        1,
        "Error response from daemon: not implemented: media type "
        '"application/vnd.docker.distribution.manifest.v1+prettyjws" is no longer supported since containerd v2.1, '
        'please rebuild the image as "application/vnd.docker.distribution.manifest.v2+json" or '
        '"application/vnd.oci.image.manifest.v1+json"',
    ),
    # link-assistant/hive-mind#962, dbhi/qus#8
    (
        "wrong_platform",
        "build",
        1,
        "Error response from daemon: no matching manifest for linux/arm64/v8 in the manifest list entries: no match "
        "for platform in manifest: not found",
    ),
    (
        "wrong_platform",
        "run",
        125,
        "docker: no matching manifest for linux/arm64/v8 in the manifest list entries.\n",
    ),
    (
        "wrong_platform",
        "build",
        1,
        "ERROR: failed to solve: eclipse-temurin:11-jre-alpine: no match for platform in manifest: not found\n",
    ),
    ("wrong_platform", "run", 255, "exec /bin/sh: exec format error\n"),
    # docker/hub-feedback#2429, elastic/golang-crossbuild#659, ray-project/ray#15600
    ("rate_limit", "build", 1, "ERROR: Error response from daemon: " + LIMIT),
    (
        "rate_limit",
        "build",
        1,
        "ERROR: failed to solve: arm64v8/debian:12: failed to copy: httpReadSeeker: failed open: unexpected status "
        "code https://registry-1.docker.io/v2/arm64v8/debian/manifests/sha256:5369: 429 Too Many Requests - Server "
        f"message: {LIMIT}",
    ),
    ("rate_limit", "build", 1, "Step 1/11 : FROM alpine:3.12\n" + LIMIT),
    # open-mmlab/OpenPCDet#1410, NVIDIA/nvidia-docker#1768, #1735, NVlabs/instant-ngp#1406
    (
        "base_withdrawn",
        "build",
        1,
        f"ERROR: failed to solve: nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04: {FROM_CUDA}: not found",
    ),
    (
        "base_withdrawn",
        "build",
        125,
        "Error: error creating build container: initializing source docker://nvidia/cuda:10.2: reading manifest "
        "10.2-cudnn7-devel-ubuntu18.04 in docker.io/nvidia/cuda: manifest unknown: manifest unknown",
    ),
    (
        "base_withdrawn",
        "build",
        1,
        "Error response from daemon: manifest for nvidia/cuda:10.2-devel-ubuntu18.04 not found: manifest unknown: "
        "manifest unknown",
    ),
    # advimman/lama#128
    (
        "key_rotation",
        "build",
        1,
        "#6 4.901 W: GPG error: https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64  InRelease: "
        "The following signatures couldn't be verified because the public key is not available: NO_PUBKEY "
        "A4B469963BF863CC",
    ),
    # both seen with client 28 without the plugin
    (
        "buildx_missing",
        "build",
        1,
        "the --mount option requires BuildKit. Refer to https://docs.docker.com/go/buildkit/",
    ),
    ("buildx_missing", "build", 1, "ERROR: BuildKit is enabled but the buildx component is missing or broken."),
    (
        "no_space",
        "build",
        1,
        "ERROR: failed to solve: failed to register layer: write /x: no space left on device",
    ),
    (
        "no_space",
        "run",
        125,
        "docker: Error response from daemon: mkdir /var/lib/docker/overlay2/1: no space left on device.",
    ),
    (
        "registry_unreachable",
        "build",
        1,
        "ERROR: failed to solve: ubuntu:18.04: failed to do request: Head "
        '"https://registry-1.docker.io/v2/library/ubuntu/manifests/18.04": dial tcp: lookup registry-1.docker.io: no '
        "such host",
    ),
    # docker/for-win#5486, tianon/docker-brew-ubuntu-core#142
    (
        "build_network",
        "build",
        1,
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after "
        "connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.VerifiedHTTPSConnection object at "
        "0x7f16136c2b50>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': "
        "/simple/ariadne/",
    ),
    (
        "build_network",
        "build",
        1,
        "Err:2 http://archive.ubuntu.com/ubuntu bionic InRelease\n  Temporary failure resolving 'archive.ubuntu.com'\n",
    ),
]


#: What is near and is not it: what was done, exit code, text.
NEAR = [
    # A program's own exit code, whatever an engine's words it prints.
    ("run", 1, 'could not select device driver "" with capabilities: [[gpu]].'),
    ("run", 1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
    # 125 to 127 of the program itself.
    ("run", 127, "/bin/sh: 1: python3.7: not found\n"),
    ("run", 126, "/bin/sh: 1: /usr/local/bin/python3.7: Permission denied\n"),
    ("run", 125, "worker: giving up\n"),
    # Another device, another runtime, another key, another file.
    (
        "run",
        125,
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[tpu]].',
    ),
    ("run", 125, "docker: Error response from daemon: unknown or invalid runtime name: kata."),
    ("run", 125, "Error: stat /dev/fuse: no such file or directory"),
    ("build", 1, "W: GPG error: https://example.org InRelease: NO_PUBKEY DDCAE044F796ECB0"),
    ("run", 125, HOOK + "mount error: file creation failed: /x/merged/etc/hosts: file exists: unknown."),
    # A missing file of our own is no withdrawn base.
    (
        "build",
        1,
        "ERROR: failed to solve: failed to compute cache key: failed to calculate checksum of ref x: "
        '"/a.txt": not found',
    ),
    ("build", 1, "ERROR: No matching distribution found for tensorflow-gpu==1.14.0"),
    # moby/moby#47459: a warning of engines that still read such images; and OCI's own type, which is no schema 1.
    (
        "build",
        1,
        "[DEPRECATION NOTICE] Docker Image Format v1, and Docker Image manifest version 2, schema 1 support will be "
        'removed in an upcoming release.\nERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2',
    ),
    ("build", 1, "ERROR: failed to solve: media type application/vnd.oci.image.manifest.v1+json: bad digest"),
    # A retry that may have helped; an answer of the registry, which was reached.
    (
        "build",
        1,
        "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError(...: Failed "
        "to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/six/",
    ),
    ("build", 1, "ERROR: failed to solve: x/y:1: failed to resolve source metadata for x/y:1: 403 Forbidden"),
    ("run", 125, HOOK + "initialization error: load library failed: libfoo.so.1: cannot open shared object file"),
    ("run", 1, "Exception: manifest unknown"),
    # A program's own full disk, network or 429 is not the engine's.
    ("run", 1, "OSError: [Errno 28] No space left on device: '/results/x'"),
    ("run", 1, "urllib.error.HTTPError: HTTP Error 429: Too Many Requests"),
    # NVML says much that is no class.
    ("run", 1, "Failed to initialize NVML: Driver Not Loaded?"),
    ("run", 1, "cuda error 80: something"),
    ("run", 1, "python: can't open file 'exec format error.py'"),
    ("run", 125, ""),
]
