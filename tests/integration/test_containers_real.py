# SPDX-License-Identifier: Apache-2.0
"""Real images from the stacks' own Dockerfiles, real containers, under docker and podman.

Where no registry can be reached the base is a stand-in, named in COLDWARM_STAND_IN (localhost/coldwarm-stand-in): the
images then say so, and what is replaced goes through the Dockerfiles' declared arguments alone.
"""

from __future__ import annotations

import contextlib
import csv
import http.server
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from suite import stack
from suite.engines import daemon, images
from suite.levels import CACHE_VARIABLES
from tests.integration import making
from tests.integration.making import environment, make, start, until

pytestmark = pytest.mark.real

ENGINES = ("docker", "podman")
REPLACED = {
    "tf1.14-cuda10": "BASE_IMAGE={base}:py3.6 SYSTEM_PACKAGES= CUDA_ARCHIVES=none",
    "tf2.21-cuda12": "BASE_IMAGE={base}:py3.12 CUDA_WHEELS=none",
    "jax0.11-cuda13": "BASE_IMAGE={base}:py3.12 CUDA_WHEELS=none",
}
#: 5.5 GB with CUDA's wheels, without which it cannot be imported: built by one engine.
TORCH = "torch2.11-cuda13"
TARGETS = {
    "tf1.14-cuda10": "CPU,XLA_CPU",
    "tf2.21-cuda12": "CPU,XLA_CPU",
    "jax0.11-cuda13": "XLA_CPU",
    TORCH: "CPU",
}


@pytest.fixture(scope="session")
def base(require) -> str:
    require("stand_in")
    return os.environ["COLDWARM_STAND_IN"]


@pytest.fixture(scope="session", params=ENGINES)
def engine(request, require) -> str:
    require(request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def built(engine, base):
    """Builds stacks' images with one engine, once a session."""
    done = {}

    def build(name: str) -> making.Made:
        if name not in done:
            arguments = REPLACED[name].format(base=base)
            done[name] = make(
                "build", f"STACK={name}", f"ENGINE={engine}", f"BUILD_ARGS={arguments}", timeout_s=1800
            )
        assert done[name].exit_line() == "coldwarm: exit 0 (done)", done[name].err[-4000:]
        return done[name]

    return build


def rows(out: Path, name: str) -> dict[tuple[str, str, int], dict[str, str]]:
    [folder] = (out / name).iterdir()
    with (folder / "table.csv").open(newline="") as file:
        return {(row["target"], row["placement"], int(row["n"])): row for row in csv.DictReader(file)}


def containers(engine: str) -> list[str]:
    done = subprocess.run(
        [engine, "ps", "--all", "--filter", "label=coldwarm.owner", "--format", "{{.Names}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_build_says_what_was_replaced_and_proves_the_rest(built, base):
    """Fault: a stand-in that passes for the stack; a proof of CUDA in an image without."""
    said = built("tf1.14-cuda10")
    assert f"replaced: BASE_IMAGE={base}:py3.6 instead of ubuntu:18.04@sha256:" in " ".join(said.err.split())
    assert "replaced: CUDA_ARCHIVES=none instead of sealed" in " ".join(said.err.split())
    assert "(base stand-in)" in said.out
    states = {line.split()[1].rstrip(":"): line.split()[0] for line in said.out.splitlines()[1:] if ":" in line}
    assert states == {
        "framework": "ok",
        "cuda": "not_proven",
        "cudnn": "not_proven",
        "ptxas": "not_proven",
        "libdevice": "not_proven",
        "libraries": "not_proven",
    }


@pytest.mark.parametrize("name", sorted(REPLACED))
def test_a_bench_in_containers(built, engine, tmp_path, name):
    """Fault: another table than the local engine's, files of root, a container that stays, a start in a phase."""
    built(name)
    bench(engine, tmp_path / "results: 1, ü", name)


def test_pytorch_in_containers_with_all_of_its_image(base, require, tmp_path):
    """Fault: the image with CUDA's wheels fails its own proof; Inductor finds no compiler, or writes elsewhere."""
    require("docker")
    require("root")
    words = (f"STACK={TORCH}", "ENGINE=docker", f"BUILD_ARGS=BASE_IMAGE={base}:py3.12")
    said = make("build", *words, timeout_s=1800)
    assert said.exit_line() == "coldwarm: exit 0 (done)", said.err[-4000:]
    states = [line.split()[0] for line in said.out.splitlines()[1:]]
    assert states == ["ok"] * 6, said.out
    for sample in bench("docker", tmp_path / "out", TORCH, "PLACEMENT=all", "SHAPES=50", "SAMPLES=1"):
        if ".jit." in sample["cell"]:
            assert {path.split("/")[0] for path in sample["caches"]["after"]} == {"inductor"}
    # Inductor asks who it is when it is imported.
    assert as_nobody("docker", TORCH, tmp_path, adapter="torch_compile", placement="jit")[-1] == "done"


def bench(engine: str, out: Path, name: str, *more: str) -> list[dict[str, Any]]:
    """Measure a stack's CPU columns with one engine; return the samples, which hold what every engine's hold."""
    words = (f"TARGETS={TARGETS[name]}", "SHAPES=50,500", "SAMPLES=2", *more)
    done = make("bench", f"STACK={name}", f"ENGINE={engine}", *words, f"OUT={out}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err + done.out
    found = rows(out, name)
    assert {row["status"] for row in found.values()} == {"ok"} and {row["base"] for row in found.values()} == {
        "stand-in"
    }
    assert "base=stand-in" in done.out and f"engine {engine}" in done.out
    [folder] = (out / name).iterdir()
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    for sample in samples:
        lengths: dict[str, float] = {}
        for phase in sample["phases"]:
            lengths[phase["name"]] = lengths.get(phase["name"], 0.0) + phase["end_s"] - phase["begin_s"]
        # The container's start is engine_start's and no other phase's.
        assert lengths["engine_start"] > 0.05 and lengths["interpreter"] < 0.5, lengths
        assert sample["untimed_s"] <= 0.01 * sample["wall_s"] + 0.02, sample["untimed_s"]
        if sample["kind"] != "probe":
            assert sample["proofs"]["bytecode"]["state"] == "ok", sample["proofs"]["bytecode"]
        if any(word in sample["cell"] for word in ("XLA", ".jit.")) and sample["kind"] == "prepared":
            cold = ("build", "compile", "first_execution")
            assert sum(sample["compiles"][phase]["count"] for phase in cold if phase in sample["compiles"]) == 1
    # What the engine takes to start a container is told, and is no one else's work. Of one sample it can be nothing:
    # the machine counts in ticks of 10 ms, and podman's client, which does most of it, counts as ours.
    told = [each["telemetry"]["cpu"]["engine_s"] for each in samples if each["kind"] in ("prepared", "fresh")]
    assert min(told) >= 0 and statistics.median(told) > 0.02, sorted(told)
    assert {path.lstat().st_uid for path in out.rglob("*")} == {os.getuid()}
    assert containers(engine) == []
    return samples


def as_nobody(engine: str, name: str, tmp_path: Path, **asked: str) -> list[str]:
    """Run one worker as a uid that no passwd file has; return the events that it told, last."""
    out = tmp_path / "nobody"
    out.mkdir()
    uid = 4321
    for below in (".", *CACHE_VARIABLES.values()):
        (out / below).mkdir(exist_ok=True)
        os.chown(out / below, uid, uid)
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    # The daemon belongs to root: what is tested is the user inside the container and of the files it leaves.
    code = (
        "import json, os, sys; from pathlib import Path; from suite.engines import container, daemon, images;"
        "from suite import levels, stack, worker_env; engine, name = sys.argv[1:3]; out = Path(sys.argv[3]);"
        "d = daemon.ask(engine, os.environ); s = stack.load(name); i = images.find(d, s, os.environ);"
        "python = 'python' + s.definition.python.default;"
        "e = container.Container(engine, d.client, i.id, python, daemon.owner(), daemon.place(), dict(os.environ),"
        f" uid={uid}, gid={uid});"
        "caches = {name: str(out / below) for name, below in levels.CACHE_VARIABLES.items()};"
        "environment = worker_env.clean_environment(os.environ, out / 'home', caches);"
        "c = e.worker_command(out / 'request.json', environment); os.execvpe(c.argv[0], c.argv, c.environment)"
    )
    request = {
        "v": 1, "events": str(out / "events.jsonl"), "kind": "fresh", "device": "/device:CPU:0",
        "precision": "default", "level": "jit", "n": 50, "seed": 1,
        "dtype": "float32", "warm_calls": None,
        "warm_s": 0.0, "modules_folder": str(out / "modules"), "spawn_s": time.monotonic(), **asked,
    }  # fmt: skip
    (out / "request.json").write_text(json.dumps(request))
    (out / "request.json").chmod(0o644)
    command = [str(making.ROOT / ".venv-test/bin/python"), "-c", code, engine, name, str(out)]
    done = subprocess.run(command, cwd=making.ROOT, env=environment(), capture_output=True, text=True, check=False)
    said = out / "stderr.txt"
    assert done.returncode == 0, done.stderr + (said.read_text()[-3000:] if said.exists() else "")
    assert {path.lstat().st_uid for path in out.rglob("*") if path.name != "request.json"} == {uid}
    return [json.loads(line)["event"] for line in (out / "events.jsonl").read_text().splitlines()]


def test_a_uid_without_a_passwd_entry(built, engine, tmp_path, require):
    """Fault: files of root in a user's folder, or a framework that asks who it is."""
    require("root")
    built("tf1.14-cuda10")
    asked = {"adapter": "tf_session", "placement": "device"}
    assert as_nobody(engine, "tf1.14-cuda10", tmp_path, **asked)[-1] == "done"


def test_limits_are_recorded_and_used(built, engine, tmp_path):
    """Fault: half a CPU and two threads that wait for each other; three machines that look like one."""
    built("tf1.14-cuda10")
    found = {}
    for name, limit in (("none", ()), ("quota", ("CPUS=0.5",)), ("pinned", ("CPUSET=0",))):
        words = ("TARGETS=CPU", "SHAPES=500", "SAMPLES=1", *limit, f"OUT={tmp_path / name}")
        done = make("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", *words)
        assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
        assert ("LIMITED" in done.out) == bool(limit)
        row = rows(tmp_path / name, "tf1.14-cuda10")["CPU", "device", 500]
        found[name] = (float(row["effective_cpus"]), row["threads"])
    machine = len(os.sched_getaffinity(0))
    assert found["none"] == (machine, "default" if machine == os.cpu_count() else str(machine))
    assert found["quota"] == (0.5, "1")
    assert found["pinned"] == (1.0, "1")
    assert len(set(found.values())) == 3


def test_an_ordinary_user_without_a_passwd_entry(base, require, tmp_path):
    """Fault: from nothing, in a fresh clone, as nobody in particular: files of root, or a results folder that is."""
    require("docker")
    require("root")
    uid = 4321
    clone, home = tmp_path / "clone", tmp_path / "home"
    subprocess.run(["git", "clone", "-q", str(making.ROOT), str(clone)], check=True)
    home.mkdir()
    for path in (clone, home):
        subprocess.run(["chown", "-R", f"{uid}:{uid}", str(path)], check=True)
    for path in (tmp_path, *tmp_path.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    socket = Path(os.environ["DOCKER_HOST"].removeprefix("unix://"))
    socket.parent.chmod(0o711)
    socket.chmod(0o666)
    system = next(path for path in (Path("/usr/bin/python3"), Path(sys.executable)) if path.exists())
    environ = environment(HOME=str(home), PATH=f"{system.parent}:{os.environ['PATH']}")
    for name in ("COLDWARM_CACHE", "UV_CACHE_DIR", "XDG_CACHE_HOME", "DOCKER_CONFIG", "COLDWARM_PIP_CONF"):
        environ.pop(name, None)
    arguments = REPLACED["tf1.14-cuda10"].format(base=base)
    words = ("TARGETS=CPU", "SHAPES=50", "SAMPLES=1", "ENGINE=docker", f"BUILD_ARGS={arguments}")
    command = [
        "setpriv",
        f"--reuid={uid}",
        f"--regid={uid}",
        "--clear-groups",
        "make",
        "bench",
        "STACK=tf1.14-cuda10",
    ]
    for _ in range(2):  # results/ has only what git has of it, and then again
        done = subprocess.run(
            [*command, *words], cwd=clone, env=environ, capture_output=True, text=True, check=False
        )
        assert "coldwarm: exit 0 (done)" in done.stderr, done.stderr[-3000:]
    made = list((clone / "results" / "tf1.14-cuda10").rglob("*"))
    assert len(made) > 10 and {path.lstat().st_uid for path in made} == {uid}
    subprocess.run(["chown", "-R", "0:0", str(clone / "results")], check=True)
    begin = time.monotonic()
    done = subprocess.run([*command, *words], cwd=clone, env=environ, capture_output=True, text=True, check=False)
    assert time.monotonic() - begin < 10
    assert "coldwarm: exit 4 " in done.stderr and "belongs to uid 0, you are uid 4321" in " ".join(
        done.stderr.split()
    )


def processes_that_name(word: str) -> list[str]:
    """Return the command lines of other processes that hold ``word``: what watches a container has its name there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if word in line and path.parent.name != str(os.getpid()):
                found.append(line)
    return found


def test_ctrl_c_leaves_no_container(built, engine, tmp_path):
    """Fault: the client dies and its container measures on."""
    built("tf1.14-cuda10")
    process = start("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", "TARGETS=CPU", f"OUT={tmp_path}")
    until(lambda: len(making.lines(tmp_path)) >= 2 and bool(containers(engine)))
    os.killpg(process.pid, signal.SIGINT)
    done = making.finish(process, 60)
    assert done.exit_line() == "coldwarm: exit 130 (interrupted)"
    until(lambda: containers(engine) == [], 10)
    [folder] = (tmp_path / "tf1.14-cuda10").iterdir()
    until(lambda: processes_that_name(folder.name) == [], 10)
    assert making.lines(tmp_path)[-1]["status"] == "interrupted"


def test_a_timeout_leaves_no_container(built, engine, tmp_path):
    """Fault: a hung container for each sample that timed out."""
    built("tf1.14-cuda10")
    words = ("TARGETS=CPU", "SHAPES=12000", "SAMPLES=1", "TIMEOUT=4", "BUDGET=100000")
    make("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", *words, f"OUT={tmp_path}")
    statuses = {str(line["status"]) for line in making.lines(tmp_path)}
    assert statuses & {"timeout", "over_budget"}, statuses
    assert containers(engine) == []


def test_containers_of_a_killed_run_are_removed_by_the_next(built, engine, tmp_path):
    """Fault: containers that pile up after kill -9."""
    built("tf1.14-cuda10")
    client = daemon.ask(engine, os.environ)  # type: ignore[arg-type]
    image = images.find(client, stack.load("tf1.14-cuda10"), os.environ)
    assert image is not None
    name = "coldwarm-1.999999999-left-behind"
    subprocess.run(
        [engine, "run", "--detach", "--network=none", "--name", name, "--label", "coldwarm.owner=1.999999999"]
        + ["--label", f"coldwarm.place={daemon.place()}", "--entrypoint=/bin/sleep", image.id, "300"],
        check=True,
        capture_output=True,
    )
    assert name in containers(engine)
    done = make(
        "bench",
        "STACK=tf1.14-cuda10",
        f"ENGINE={engine}",
        *("TARGETS=CPU", "SHAPES=50", "SAMPLES=1"),
        f"OUT={tmp_path}",
    )
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert "removed 1 containers" in done.err and name not in containers(engine)


def test_an_archive_brings_an_image_back(built, engine, tmp_path):
    """Fault: an image that is lost with its registry; an archive that was damaged."""
    built("tf1.14-cuda10")
    archive = tmp_path / "tf1.14.tar"
    saved = make("image-save", "STACK=tf1.14-cuda10", f"ENGINE={engine}", f"FILE={archive}")
    assert saved.exit_line() == "coldwarm: exit 0 (done)", saved.err
    loaded = make("image-load", "STACK=tf1.14-cuda10", f"ENGINE={engine}", f"FILE={archive}")
    assert loaded.exit_line() == "coldwarm: exit 0 (done)", loaded.err
    with archive.open("r+b") as file:
        file.seek(1000)
        file.write(b"damaged")
    refused = make("image-load", "STACK=tf1.14-cuda10", f"ENGINE={engine}", f"FILE={archive}")
    assert refused.exit_line().startswith("coldwarm: exit 4 ") and "sha256 is" in refused.err


@pytest.fixture
def other(tmp_path, monkeypatch, built):
    """A fresh clone whose stack a test may change."""
    target = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(making.ROOT), str(target)], check=True)
    return target


def test_a_stale_image_is_refused(other, built, engine, tmp_path):
    """Fault: a measurement of an image that the folder no longer defines."""
    built("tf1.14-cuda10")
    with (other / "docker" / "tf1.14-cuda10" / "requirements.in").open("a") as file:
        file.write("# changed\n")
    done = make("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", "SHAPES=50", f"OUT={tmp_path}/out", cwd=other)
    assert done.exit_line().startswith("coldwarm: exit 4 "), done.err
    assert "is stale" in done.err and "make build STACK=tf1.14-cuda10" in done.err


def test_a_suite_change_needs_no_rebuild(other, built, engine, tmp_path):
    """Fault: a change of measuring code that makes everybody build again."""
    built("tf1.14-cuda10")
    with (other / "suite" / "worker" / "clock.py").open("a") as file:
        file.write("# changed\n")
    words = ("TARGETS=CPU", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}/out")
    done = make("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", *words, cwd=other)
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert "building" not in done.err


@pytest.mark.parametrize(
    ("archives", "says"),
    [
        ("http://127.0.0.1:9/cuda.run,http://127.0.0.1:9/cudnn.tgz", "cannot be fetched"),
        ("file:///etc/hostname,file:///etc/hostname", "has the wrong checksum"),
    ],
    ids=["unreachable", "another file"],
)
def test_an_archive_that_is_not_the_one(base, engine, archives, says):
    """Fault: CUDA from a file that nobody checked; a traceback instead of what failed."""
    arguments = f"BASE_IMAGE={base}:py3.6 SYSTEM_PACKAGES= CUDA_ARCHIVES={archives}"
    done = make("build", "STACK=tf1.14-cuda10", f"ENGINE={engine}", f"BUILD_ARGS={arguments}")
    assert done.exit_line().startswith("coldwarm: exit 4 "), done.err
    words = " ".join(done.err.split())
    assert any(each in words for each in says.split("|")), words[-2000:]
    assert "ENGINE=local" in words


class Registry(http.server.BaseHTTPRequestHandler):
    """A registry from which everything was withdrawn."""

    def do_GET(self) -> None:
        answer = (
            b"{}"
            if self.path == "/v2/"
            else b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
        )
        self.send_response(200 if self.path == "/v2/" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(answer)

    do_HEAD = do_GET

    def log_message(self, *arguments: object) -> None: ...


def test_a_base_that_was_withdrawn(engine, tmp_path):
    """Fault: minutes of retries and a builder's stack trace where the registry says that the base is gone."""
    conf = tmp_path / "registries.conf"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = f"localhost:{server.server_port}"
        conf.write_text(f'[[registry]]\nlocation = "{where}"\ninsecure = true\n')
        arguments = f"BASE_IMAGE={where}/library/python:gone"
        words = ("STACK=tf2.21-cuda12", f"ENGINE={engine}", f"BUILD_ARGS={arguments}")
        done = make("build", *words, env=environment(CONTAINERS_REGISTRIES_CONF=str(conf)))
        server.shutdown()
    assert done.exit_line().startswith("coldwarm: exit 4 "), done.err
    assert "its base image was withdrawn from the registry" in " ".join(done.err.split()), done.err[-3000:]
    assert "ENGINE=local" in done.err


def test_a_gpu_by_name_in_a_container_of_a_cpu_machine(built, engine, tmp_path):
    """Fault: minutes before it is said, or an exit code that hides it."""
    built("tf1.14-cuda10")
    done = make("bench", "STACK=tf1.14-cuda10", f"ENGINE={engine}", "TARGETS=GPU", "SHAPES=50", f"OUT={tmp_path}")
    assert done.exit_line().startswith("coldwarm: exit 3 "), done.err
