# SPDX-License-Identifier: Apache-2.0
"""What reaches a container on each way to a GPU, by doubles of NVIDIA's hook, runtime and CDI specification.

A daemon of the test's own has the doubles; they say nothing of CUDA, only which flags arrived, and where.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from suite.engines import daemon
from suite.engines.container import Container

pytestmark = pytest.mark.real

UUID = "GPU-1b2c3d4e-0000-1111-2222-333344445555"

HOOK = """#!{python}
import json, sys
state = json.load(sys.stdin)
config = json.load(open(state["bundle"] + "/config.json"))
wanted = [each for each in config["process"]["env"] if each.startswith("NVIDIA_")]
root = config["root"]["path"]
if not root.startswith("/"):
    root = state["bundle"] + "/" + root
open(root + "/injected-by-hook", "w").write(" ".join(wanted))
"""

RUNTIME = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
if "create" in arguments:
    path = arguments[arguments.index("--bundle") + 1] + "/config.json"
    config = json.load(open(path))
    wanted = [each for each in config["process"]["env"] if each.startswith("NVIDIA_VISIBLE_DEVICES=")]
    if wanted:
        config["process"]["env"].append("INJECTED_BY_RUNTIME=" + wanted[-1])
        json.dump(config, open(path, "w"))
os.execvp("runc", ["runc"] + arguments)
"""

#: Stands where the worker does, and tells what it finds.
TELLS = """
import json, os, sys
there = os.path.exists("/injected-by-hook")
told = {"environ": dict(os.environ), "hook": open("/injected-by-hook").read() if there else None}
json.dump(told, open(os.path.join(os.path.dirname(sys.argv[1]), "told.json"), "w"))
"""

CDI = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "devices": [{"name": name, "containerEdits": {"env": [f"INJECTED_BY_CDI={name}"]}} for name in ("all", UUID)],
}


def executable(path: Path, text: str) -> None:
    path.write_text(text.replace("{python}", sys.executable), encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def doubled(require):
    """A docker daemon with the doubles of hook and runtime; yields its client's environment."""
    require("docker")
    require("stand_in")
    require("root")
    folder = Path(tempfile.mkdtemp(prefix="cwt", dir="/tmp"))
    bin_ = folder / "bin"
    bin_.mkdir()
    executable(bin_ / "nvidia-container-runtime-hook", HOOK)
    executable(bin_ / "nvidia-container-runtime", RUNTIME)
    config = {
        "data-root": str(folder / "data"), "exec-root": str(folder / "exec"), "pidfile": str(folder / "pid"),
        "hosts": [f"unix://{folder}/sock"], "iptables": False, "ip6tables": False, "bridge": "none",
        "storage-driver": "overlay2", "runtimes": {"nvidia": {"path": str(bin_ / "nvidia-container-runtime")}},
    }  # fmt: skip
    (folder / "daemon.json").write_text(json.dumps(config))
    environ = {**os.environ, "DOCKER_HOST": f"unix://{folder}/sock"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["dockerd", "--config-file", str(folder / "daemon.json")],
            env={**os.environ, "PATH": f"{bin_}:/usr/sbin:/usr/bin:/sbin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 30
        while daemon.ask("docker", environ).why:
            assert time.monotonic() < end, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        image = os.environ["COLDWARM_STAND_IN"] + ":py3.6"
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "load"], stdin=saved.stdout, env=environ, check=True, capture_output=True)
        yield environ
    finally:
        process.terminate()
        process.wait(timeout=30)
        subprocess.run(["umount", str(folder / "data")], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def told(name: str, client: str, environ: dict[str, str], folder: Path, **how) -> dict:
    """Run one container as a sample is run, with a worker that tells what reached it."""
    (folder / "worker").mkdir()
    (folder / "worker" / "__main__.py").write_text(TELLS)
    sample = folder / "run" / "raw" / "sample"
    sample.mkdir(parents=True)
    (sample / "request.json").write_text("{}")
    engine = Container(
        name=name,  # type: ignore[arg-type]
        client=client,
        image=os.environ["COLDWARM_STAND_IN"] + ":py3.6",
        python="python3.6",
        owner=daemon.owner(),
        place=daemon.place(),
        environ=environ,
        worker=folder / "worker",
        **how,
    )
    command = engine.worker_command(sample / "request.json", {"HOME": str(sample)})
    done = subprocess.run(command.argv, env=command.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((sample / "told.json").read_text())


def test_a_daemon_with_the_runtime_offers_it(doubled):
    """Fault: the runtime that the daemon has is not seen, and GPU columns stay empty."""
    assert daemon.ask("docker", doubled).gpu_way == "runtime"


@pytest.mark.parametrize(("gpu", "wanted"), [(None, "all"), (UUID, UUID), ("1", "1")])
def test_the_hook_is_asked_for_the_gpu(doubled, tmp_path, gpu, wanted):
    """Fault: quotes lost on the way: --gpus device=... asks for another device, or none."""
    found = told("docker", "docker", doubled, tmp_path, gpu_way="gpus", gpu=gpu)
    assert found["hook"] == f"NVIDIA_VISIBLE_DEVICES={wanted}"


@pytest.mark.parametrize(("gpu", "wanted"), [(None, "all"), (UUID, UUID)])
def test_the_runtime_is_asked_for_the_gpu(doubled, tmp_path, gpu, wanted):
    """Fault: --runtime=nvidia alone injects nothing into an image that names no device."""
    found = told("docker", "docker", doubled, tmp_path, gpu_way="runtime", gpu=gpu)
    assert found["environ"]["INJECTED_BY_RUNTIME"] == f"NVIDIA_VISIBLE_DEVICES={wanted}"


def test_without_a_way_nothing_is_injected(doubled, tmp_path):
    """Fault: a CPU run that holds a GPU."""
    found = told("docker", "docker", doubled, tmp_path)
    assert found["hook"] is None and "INJECTED_BY_RUNTIME" not in found["environ"]


@pytest.mark.parametrize(("gpu", "wanted"), [(None, "all"), (UUID, UUID)])
def test_podman_is_given_the_gpu_by_cdi(require, tmp_path, gpu, wanted):
    """Fault: podman's --gpus, which is taken and ignored; a specification that is not found."""
    require("podman")
    require("stand_in")
    require("root")
    path = Path("/etc/cdi/coldwarm-test.json")
    made = not path.parent.exists()
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(CDI))
    try:
        assert daemon.ask("podman", os.environ).gpu_way == "cdi"
        found = told("podman", "podman", dict(os.environ), tmp_path, gpu_way="cdi", gpu=gpu)
    finally:
        path.unlink()
        if made:
            path.parent.rmdir()
    assert found["environ"]["INJECTED_BY_CDI"] == wanted
