# SPDX-License-Identifier: Apache-2.0
"""Argument lists of the container engines, as they were agreed on: golden, per engine and way to a GPU."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from suite import sampling, stack
from suite.engines import daemon, images
from suite.engines.advice import About
from suite.engines.container import START, Container, container_name, gpu_arguments, mount, user_arguments
from suite.engines.ready import gpu_remark
from suite.launch import Outcome
from suite.worker_env import clean_environment

UUID = "GPU-1b2c3d4e-0000-1111-2222-333344445555"
FOLDER = Path("/r/tf1.14-cuda10/20261202T000000Z-abcdef/raw/fresh.CPU.device.50.1")


def engine(**changes) -> Container:
    plain = Container(
        name="docker",
        client="/usr/bin/docker",
        image="sha256:feed",
        python="python3.6",
        owner="77.123",
        place="boot.1",
        environ={"DOCKER_HOST": "unix:///x"},
        worker=Path("/c/suite/worker"),
        uid=1000,
        gid=1001,
    )
    return dataclasses.replace(plain, **changes)


def argv(which: Container, folder: Path = FOLDER) -> list[str]:
    environment = {"HOME": f"{folder}/cache/home", "LD_LIBRARY_PATH": "/host/lib", "CUDA_VISIBLE_DEVICES": "1"}
    return which.worker_command(folder / "request.json", environment).argv


def golden(extra: list[str]) -> list[str]:
    return [
        *("/usr/bin/docker", "run", "--rm"),
        *("--name", "coldwarm-77.123-20261202T000000Z-abcdef-fresh.CPU.device.50.1"),
        *("--label", "coldwarm.owner=77.123", "--label", "coldwarm.place=boot.1"),
        *("--label", "coldwarm.sample=fresh.CPU.device.50.1"),
        *("--pull=never", "--network=none", "--read-only", "--user=1000:1001", "--tmpfs=/tmp:rw,mode=1777"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges"),
        *extra,
        *("--mount", "type=bind,src=/c/suite/worker,dst=/coldwarm/worker,readonly"),
        *("--mount", f"type=bind,src={FOLDER},dst={FOLDER}"),
        "--entrypoint=/bin/sh",
        *("--env", f"HOME={FOLDER}/cache/home"),
        *("sha256:feed", "-c", START, str(FOLDER)),
        *("python3.6", "-I", "-u", "-B", "/coldwarm/worker", f"{FOLDER}/request.json"),
    ]


@pytest.mark.parametrize(
    ("changes", "extra"),
    [
        ({}, []),
        ({"gpu_way": "gpus"}, ["--gpus", "all"]),
        ({"gpu_way": "gpus", "gpu": UUID}, ["--gpus", f'"device={UUID}"']),
        ({"gpu_way": "gpus", "gpu": "1"}, ["--gpus", '"device=1"']),
        ({"gpu_way": "runtime"}, ["--runtime=nvidia", "--env", "NVIDIA_VISIBLE_DEVICES=all"]),
        ({"gpu_way": "runtime", "gpu": UUID}, ["--runtime=nvidia", "--env", f"NVIDIA_VISIBLE_DEVICES={UUID}"]),
        ({"gpu_way": "cdi"}, ["--device", "nvidia.com/gpu=all"]),
        ({"gpu_way": "cdi", "gpu": UUID}, ["--device", f"nvidia.com/gpu={UUID}"]),
        ({"cpus": 0.5}, ["--cpus=0.5"]),
        ({"cpuset": "0"}, ["--cpuset-cpus=0"]),
        ({"selinux": True}, ["--security-opt=label=disable"]),
        ({"selinux": True, "gpu_way": "cdi"}, ["--security-opt=label=disable", "--device", "nvidia.com/gpu=all"]),
    ],
)
def test_the_argument_list(changes, extra):
    """Fault: a container with a network, root's rights or another GPU; the host's libraries in the image."""
    assert argv(engine(**changes)) == golden(extra)


@pytest.mark.parametrize(
    ("name", "rootless", "wanted"),
    [
        ("docker", False, ["--user=1000:1001"]),
        ("podman", False, ["--user=1000:1001"]),
        ("docker", True, ["--user=0:0"]),
        ("podman", True, ["--userns=keep-id", "--user=1000:1001"]),
    ],
)
def test_what_a_container_writes_is_the_callers(name, rootless, wanted):
    """Fault: files of a number that nobody has, from an engine that maps users."""
    assert user_arguments(name, 1000, 1001, rootless=rootless) == wanted
    assert set(wanted) <= set(argv(engine(name=name, rootless=rootless)))


@pytest.mark.parametrize(
    ("driver", "way", "says"),
    [(False, "none", ""), (True, "cdi", ""), (True, "none", "nvidia-ctk")],
)
def test_a_missing_toolkit_is_said_with_the_next_command(driver, way, says):
    """Fault: GPU columns that are empty without a word, or a word on a machine that has no GPU."""
    for name in ("docker", "podman"):
        found = daemon.Daemon(name, "/usr/bin/x", gpu_way=way)  # type: ignore[arg-type]
        remark = gpu_remark(found, driver_loaded=driver)
        assert bool(remark) == bool(says) and says in remark


def test_podman_is_never_given_gpus():
    """Fault: podman takes --gpus, gives nothing, and exits 0."""
    assert daemon._podman("/usr/bin/podman", {}).gpu_way in ("none", "cdi")
    assert "--gpus" not in argv(engine(name="podman", client="/usr/bin/podman", gpu_way="cdi"))


@pytest.mark.parametrize("name", ["a b", "a:b", "a,b", 'a"b', "Klön", "a=b", "-x"])
def test_odd_paths_survive_a_mount(name):
    """Fault: -v splits at colons, --mount at commas."""
    folder = FOLDER.parent.parent.parent / name / "raw" / "pilot.CPU.device.50"
    [parsed] = csv.reader([mount(folder, str(folder), read_only=False)])
    assert parsed == ["type=bind", f"src={folder}", f"dst={folder}"]
    assert re.fullmatch(r"[a-zA-Z0-9_.-]+", container_name("7.8", folder))
    assert str(folder) in argv(engine(), folder)


@pytest.mark.parametrize(
    ("info", "hook", "way"),
    [
        ({}, False, "none"),
        ({"Runtimes": {"runc": {}}}, False, "none"),
        ({"Runtimes": {"runc": {}}}, True, "gpus"),
        ({"Runtimes": {"runc": {}, "nvidia": {"path": "x"}}}, True, "runtime"),
        ({"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}]}, False, "cdi"),
        ({"DiscoveredDevices": [{"Source": "cdi", "ID": "amd.com/gpu=0"}]}, False, "none"),
    ],
)
def test_what_a_daemon_offers_decides(info, hook, way):
    """Fault: --gpus on a daemon that cannot, said after minutes of building."""
    assert daemon.docker_gpu_way(info, hook) == way


def test_a_cdi_specification_is_found(tmp_path):
    """Fault: podman with CDI is thought to have no GPU, or any file in the folder is one."""
    (tmp_path / "other.json").write_text('{"kind": "amd.com/gpu"}')
    assert not daemon.has_nvidia_cdi((tmp_path, tmp_path / "missing"))
    (tmp_path / "nvidia.yaml").write_text("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n")
    assert daemon.has_nvidia_cdi((tmp_path,))


def test_no_way_needs_no_arguments():
    """Fault: a CPU machine's container is asked for a GPU."""
    assert gpu_arguments("none", UUID) == []


@pytest.mark.parametrize(("code", "signal"), [(137, 9), (139, 11), (134, 6), (143, 15)])
def test_a_signal_inside_is_a_signal(code, signal):
    """Fault: a worker that the kernel killed for memory shows as exit code 137."""
    inside = sampling.as_seen_inside(Outcome(0.0, 0.1, 1.0, 7, code, None, "itself"))
    assert (inside.exit_code, inside.signal) == (None, signal)


@pytest.mark.parametrize("code", [0, 1, 125, 126, 127, 128, 255])
def test_other_codes_stay(code):
    """Fault: an engine's own 125 to 127 are taken for signals."""
    outcome = Outcome(0.0, 0.1, 1.0, 7, code, None, "itself")
    assert sampling.as_seen_inside(outcome) == outcome


def test_containers_of_dead_runs_are_told_from_living_ones():
    """Fault: a run removes the containers of another that still measures."""
    living = container_name(daemon.owner(), FOLDER)
    assert daemon._alive(living)
    assert not daemon._alive(container_name("1.999999999999", FOLDER))
    assert not daemon._alive("coldwarm-nonsense")


def test_the_build_command():
    """Fault: a build that reads this machine's settings, or an image without the hash of what it was built from."""
    tf114 = stack.load("tf1.14-cuda10")
    plain = images.build_command("docker", tf114, {}, {}, docker=True)
    assert plain == [
        *("docker", "build", "--tag", images.tag(tf114), "--progress=plain"),
        *("--build-arg", f"DEFINITION={tf114.sha256()}", str(tf114.folder)),
    ]
    environ = {"COLDWARM_BUILD_NETWORK": "host", "COLDWARM_PIP_CONF": "/p", "COLDWARM_PIP_CA": "/ca"}
    asked = images.build_command("podman", tf114, {"BASE_IMAGE": "x"}, environ, docker=False)
    assert asked[4:] == [
        "--network=host",
        *("--secret", "id=pip_conf,src=/p", "--secret", "id=pip_ca,src=/ca"),
        *("--build-arg", "BASE_IMAGE=x", "--build-arg", f"DEFINITION={tf114.sha256()}", str(tf114.folder)),
    ]


def test_a_worker_knows_its_user_s_name_without_a_passwd_file(tmp_path):
    """Fault: torch.compile crashed in every container but root's: Inductor asks for the name of a uid that has none."""
    code = "import getpass, pwd; del pwd.getpwuid; print(getpass.getuser())"
    environment = clean_environment({"USER": "someone", "LOGNAME": "someone"}, tmp_path, {})
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "coldwarm\n"


@pytest.mark.parametrize(
    ("of", "environ", "told"),
    [
        (daemon.Daemon("docker", info={"DockerRootDir": "{here}"}), {}, True),
        (daemon.Daemon("docker", info={"DockerRootDir": "{here}"}), {"DOCKER_HOST": "unix:///x"}, True),
        (daemon.Daemon("podman", info={"store": {"graphRoot": "{here}"}}), {"DOCKER_HOST": "tcp://x"}, True),
        (daemon.Daemon("docker", info={"DockerRootDir": "{here}"}), {"DOCKER_HOST": "tcp://far:2376"}, False),
        (
            daemon.Daemon("docker", info={"DockerRootDir": "{here}", "OperatingSystem": "Docker Desktop"}),
            {},
            False,
        ),
        (daemon.Daemon("docker", info={"DockerRootDir": "/not/here"}), {}, False),
        (daemon.Daemon("docker", info={"DockerRootDir": "{here}"}), {"DOCKER_CONTEXT": "far"}, False),
        (daemon.Daemon("podman"), {}, False),
    ],
)
def test_too_little_room_for_an_image_is_said_before_it_is_built(tmp_path, monkeypatch, of, environ, told):
    """Fault: a disk that is full after half an hour of downloads; or that of another machine is looked at."""
    of = dataclasses.replace(of, info=json.loads(json.dumps(of.info).replace("{here}", str(tmp_path))))
    free = types.SimpleNamespace(free=4_999_999_999)
    monkeypatch.setattr(images.shutil, "disk_usage", lambda folder: free)
    assert images._little_room(of, 4999, environ) == ""
    expected = f"; only 4999 MB are free in {tmp_path}" if told else ""
    assert images._little_room(of, 5000, environ) == expected

    def closed(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    # Below /var/lib/docker, which is root's: no error, for it was to be a warning.
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", closed)
        assert images._little_room(of, 5000, environ) == ""


@pytest.mark.parametrize("name", stack.names())
def test_the_size_that_is_said_before_a_build_has_cuda_s_wheels_in_it(name):
    """Fault: "600 MB and more" before an image of 4.9 GB, which has CUDA's wheels on a machine without a driver too."""
    chosen = stack.load(name)
    install = chosen.definition.install
    assert images.size_mb(chosen, {}) == install.environment_mb + install.cuda_mb
    assert images.size_mb(chosen, {"CUDA_WHEELS": "none"}) == install.environment_mb


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (
            "#9 1.2 cuda_archives: http://x/c.run has the wrong checksum: sha256 aa, expected bb",
            "an archive has the wrong checksum (sha256 aa, expected bb): see where it comes from",
        ),
        (
            "cuda_archives: http://x/c.run cannot be fetched: <urlopen error [Errno 111] Connection refused>",
            "http://x/c.run cannot be fetched: <urlopen error [Errno 111] Connection refused>",
        ),
        (
            "ERROR: failed to solve: ubuntu:18.04@sha256:1: not found: manifest unknown",
            "its base image was withdrawn from the registry",
        ),
        (
            "toomanyrequests: You have reached it",
            "the registry's pull limit is reached: try again later",
        ),
        ("dial tcp: lookup registry-1.docker.io: no such host", "the registry cannot be reached"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE", "a package is not the one that the lock names"),
        ("failed     cudnn: is 7.4.2, stack.toml says 7.6.5.32", "cudnn is 7.4.2, stack.toml says 7.6.5.32"),
        ("something else", "see its words above"),
    ],
)
def test_what_a_failed_build_means(words, meaning):
    """Fault: advice for another fault, or a withdrawn base called a network error."""
    said, step = images.explain(words, About())
    assert said == meaning
    assert bool(step) is (meaning != "see its words above")


def test_the_engine_s_words_are_told_from_a_program_s():
    """Fault: what a client said is judged by another engine's advice, or not as an engine's at all."""
    about = About("podman", selinux=True)
    command = engine(name="podman", about=about).worker_command(FOLDER / "request.json", {})
    assert command.words and command.about == about
