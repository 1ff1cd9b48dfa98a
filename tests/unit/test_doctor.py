# SPDX-License-Identifier: Apache-2.0
"""doctor: what it says of GPUs, by their facts; the matrix; and that every trouble has a next step."""

from __future__ import annotations

import dataclasses

import pytest

from suite import cli, collect, doctor, doctor_gpu, doctor_matrix, measure, plan, pythons, stack, words
from suite.engines import daemon, images
from suite.engines.daemon import Daemon
from suite.errors import SuiteError
from suite.exits import Exit
from suite.finding import Finding, render
from suite.gpu_facts import Found, Gpu, Holder
from suite.records import Reason
from tests.synthetic import RECORDING, STACK, Synthetic, in_place

GIB = 2**30
A100 = Gpu(
    index=0,
    name="NVIDIA A100-SXM4-40GB",
    driver="535.54.03",
    capability="8.0",
    memory_total_bytes=40 * GIB,
    memory_used_bytes=GIB // 2,
    compute_mode="default",
    persistence=True,
    mig=False,
    holders=(),
)
NOTHING = Found((), driver_loaded=False, why="no NVIDIA driver is loaded")


def of(name: str, *gpus: Gpu) -> dict[str, Finding]:
    chosen = stack.load(name) if name else None
    return {each.subject: each for each in doctor_gpu.findings(Found(gpus, driver_loaded=True), chosen)}


def with_gpu(**changes) -> Gpu:
    return dataclasses.replace(A100, **changes)


#: GPUs with one thing wrong: the stack, what differs, the subject, its state, words in text or next step.
TROUBLES = [
    ("tf2.21-cuda12", {"driver": "470.57.02"}, "gpu 0 driver", "problem", ["525.60.13", "Only the driver counts"]),
    ("tf2.21-cuda12", {"driver": "470.57.02"}, "gpu 0 code", "problem", ["cannot run"]),
    ("tf2.18-cuda12.5", {"driver": "525.60.13"}, "gpu 0 driver", "note", ["minor version", "555.42.02"]),
    ("tf2.21-cuda12", {"driver": None}, "gpu 0 driver", "note", ["not known"]),
    ("tf1.14-cuda10", {"capability": "9.0"}, "gpu 0 code", "problem", ["predate", "CUDA 11.8 or later"]),
    ("tf2.21-cuda12", {"capability": "12.0"}, "gpu 0 code", "note", ["PTX JIT", "TIMEOUT="]),
    ("tf2.21-cuda12", {"capability": "5.0"}, "gpu 0 code", "problem", ["cannot run", "make doctor"]),
    ("tf2.21-cuda12", {"capability": None}, "gpu 0 code", "note", ["CAPABILITY="]),
    ("", {"capability": None}, "gpu 0", "note", ["CAPABILITY="]),
    (
        "",
        {"holders": (Holder(7, "C", "python", 38 * GIB),), "memory_used_bytes": 39 * GIB},
        "gpu 0 memory",
        "problem",
        ["python (pid 7", "GPU="],
    ),
    ("", {"holders": (Holder(7, "C", "python"),)}, "gpu 0 memory", "note", ["contended"]),
    ("", {"holders": (Holder(7, "G", "Xorg"),)}, "gpu 0 memory", "note", ["only draw"]),
    ("", {"memory_used_bytes": 38 * GIB, "holders": None}, "gpu 0 memory", "note", ["SHAPES="]),
    ("", {"memory_used_bytes": None}, "gpu 0 memory", "note", ["does not tell"]),
    ("", {"compute_mode": "prohibited"}, "gpu 0 mode", "problem", ["-c DEFAULT"]),
    (
        "",
        {"compute_mode": "exclusive_process", "holders": (Holder(7, "C", "python"),)},
        "gpu 0 mode",
        "problem",
        ["refused", "-c DEFAULT"],
    ),
    ("", {"mig": True}, "gpu 0 MIG", "note", ["GPU=MIG-"]),
    ("", {"persistence": False}, "gpu 0 persistence", "note", ["-pm 1"]),
]


@pytest.mark.parametrize(("name", "changes", "subject", "state", "words"), TROUBLES)
def test_a_gpu_with_something_wrong(name, changes, subject, state, words):
    """Fault: minutes of building or measuring before it shows, or a finding without what to do."""
    found = of(name, with_gpu(**changes))[subject]
    assert found.state == state and found.next_step
    assert all(word in f"{found.text} {found.next_step}" for word in words), found


@pytest.mark.parametrize("name", ["tf2.4-cuda11.0", "tf2.21-cuda12"])
def test_a_good_gpu_is_ok(name):
    """Fault: a free GPU with a good driver is called a problem."""
    assert not [each for each in of(name, A100).values() if each.state == "problem"]
    assert of("", A100)["gpu 0 memory"].text == "39.5 of 40.0 GiB free, held by nobody"


def test_an_exclusive_gpu_that_nobody_holds_is_ok():
    """Fault: a mode that does no harm to one process at a time is a problem."""
    assert of("", with_gpu(compute_mode="exclusive_process"))["gpu 0 mode"].state == "ok"


def test_no_gpu_says_what_is_left():
    """Fault: a machine without a GPU is a failure; a driver without a GPU is none; WSL is sent to install a driver."""
    [none] = doctor_gpu.findings(NOTHING, None)
    assert none.state == "note" and "CPU and XLA_CPU" in none.next_step
    [broken] = doctor_gpu.findings(Found((), driver_loaded=True, why="nvidia-smi failed"), None)
    assert broken.state == "problem" and "nvidia-smi" in broken.next_step
    [wsl] = doctor_gpu.findings(NOTHING, None, wsl=True)
    assert "Windows" in wsl.next_step


def told(**gpu_ways) -> dict[str, Daemon]:
    return {
        name: Daemon(name, f"/usr/bin/{name}", version="1", gpu_way=gpu_ways[name])  # type: ignore[arg-type]
        if name in gpu_ways
        else Daemon(name, why="not installed")  # type: ignore[arg-type]
        for name in ("docker", "podman")
    }


def examined(monkeypatch, engines: dict[str, Daemon], found: Found, name: str = "") -> dict[str, Finding]:
    monkeypatch.setattr(daemon, "ask", lambda which, _: engines[which])
    chosen = stack.load(name) if name else None
    findings = doctor.examine(chosen, {"HOME": "/nonexistent", "PATH": ""}, found=found)
    # What holds for every finding of every machine.
    assert all(each.next_step for each in findings if each.state != "ok"), findings
    return {each.subject: each for each in findings}


def test_the_engine_and_its_way_to_a_gpu(monkeypatch):
    """Fault: an engine without NVIDIA's runtime is found out after the image was built."""
    here = Found((A100,), driver_loaded=True)
    by_name = examined(monkeypatch, told(docker="none"), here)
    assert by_name["docker gpu"].state == "problem" and "nvidia-ctk" in by_name["docker gpu"].next_step
    assert by_name["engine"].text.startswith("docker measures")
    assert examined(monkeypatch, told(docker="runtime"), here)["docker gpu"].state == "ok"
    assert "docker gpu" not in examined(monkeypatch, told(docker="none"), NOTHING)
    assert examined(monkeypatch, told(), NOTHING)["engine"].text.startswith("local measures")


def test_a_daemon_that_is_down_has_its_advice(monkeypatch):
    """Fault: "does not answer" without how to start it, or another failure's advice."""
    down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    denied = "dial unix /var/run/docker.sock: connect: permission denied"
    steps = []
    for said in (down, denied, "something else"):
        engines = {
            **told(),
            "docker": Daemon("docker", "/d", why="installed, its daemon does not answer", said=said),
        }
        steps.append(examined(monkeypatch, engines, NOTHING)["docker"].next_step)
    assert "systemctl start docker" in steps[0] and "usermod" in steps[1] and "ENGINE=local" in steps[2]


@pytest.mark.parametrize("name", stack.names())
def test_a_stack_on_a_machine_with_nothing(monkeypatch, name):
    """Fault: a finding of some stack has no next step, or a missing Python does not block."""
    monkeypatch.setattr(pythons, "_from_uv", lambda minor, environ: None)
    by_name = examined(monkeypatch, told(), NOTHING, name)
    assert by_name["python"].state == "problem" and by_name["python"].blocks
    assert by_name["environment"].state == "note"


def test_what_local_lacks_blocks_only_where_local_measures(monkeypatch):
    """Fault: exit 4 for a Python that no container needs; or doctor, which only reads, runs a container."""
    asked = []
    monkeypatch.setattr(pythons, "_from_uv", lambda minor, environ: None)
    monkeypatch.setattr(images, "find", lambda *_, proofs=True: asked.append(proofs))
    by_name = examined(monkeypatch, told(docker="none"), NOTHING, "tf1.14-cuda10")
    assert by_name["python"].state == "problem" and not any(each.blocks for each in by_name.values())
    assert by_name["docker image"].state == "note" and asked == [False]


def matrix(gpu: str | None, driver: str | None = None) -> list[str]:
    every = [stack.load(name) for name in stack.names()]
    return doctor_matrix.matrix(
        every, gpu, driver, {each.name: "docker, podman, local (?)" for each in every}
    ).split("\n")


@pytest.mark.parametrize("gpu", ["3.0", "5.0", "7.0", "8.6", "9.0", "10.0", "12.0", "99.0", None])
def test_the_matrix_has_every_stack_and_fits(gpu):
    """Fault: a stack is missing, or a terminal of 80 columns breaks the rows."""
    lines = matrix(gpu)
    assert max(len(line) for line in lines) <= 80
    assert {line.split()[0] for line in lines if "-cuda" in line} >= set(stack.names())


def test_the_matrix_answers_by_the_drivers_age_too():
    """Fault: a stack that this machine's driver cannot load is shown as native."""
    row = next(line for line in matrix("8.9", "450.80.02") if line.startswith("tf2.21"))
    assert "cannot run" in row
    row = next(line for line in matrix("8.9", "580.65.06") if line.startswith("tf2.21"))
    assert "native" in row


def test_each_kind_of_gpu_has_its_matrix():
    """Fault: of two different GPUs only the first is answered for, or of two alike both."""
    two = Found((A100, with_gpu(index=1), with_gpu(index=2, capability="9.0")), driver_loaded=True)
    text = doctor_matrix.matrices(two, None, {"PATH": ""}, [])
    assert text.count("code on 8.0") == 1 and text.count("code on 9.0") == 1
    assert "CAPABILITY=" in doctor_matrix.matrices(NOTHING, None, {"PATH": ""}, [])
    assert "code on 8.6" in doctor_matrix.matrices(two, "8.6", {"PATH": ""}, [])


@pytest.mark.parametrize("text", ["9", "9.0a", "10.0f", "x", "", "8,6"])
def test_a_capability_that_is_none_is_usage(text):
    """Fault: a typing error is answered, or ends in a traceback."""
    with pytest.raises(SuiteError) as caught:
        doctor_matrix.capability_word(text)
    assert caught.value.exit_code is Exit.USAGE and "8.6" in caught.value.next_step


@pytest.mark.parametrize(("word", "code"), [("8.6", 0), ("9.0a", 2)])
def test_the_command(monkeypatch, capsys, word, code):
    """Fault: the word does not reach the matrix, or the exit code is another."""
    monkeypatch.setattr(daemon, "ask", lambda which, _: told()[which])
    assert cli.main(["doctor", "--capability", word]) == code
    said = capsys.readouterr()
    assert (f"code on {word}" in said.out) is (code == 0)
    assert said.err.strip().splitlines()[-1].startswith(f"coldwarm: exit {code} ")


def test_a_stack_on_a_gpu_elsewhere(monkeypatch, capsys):
    """Fault: CAPABILITY= beside STACK= is passed over."""
    monkeypatch.setattr(daemon, "ask", lambda which, _: told()[which])
    cli.main(["doctor", "--stack", "tf1.14-cuda10", "--capability", "8.6"])
    assert "PROBLEM  code on 8.6: runs but its CUDA libraries predate" in capsys.readouterr().out


def test_findings_fit_a_terminal_and_commands_stay_whole():
    """Fault: a command is broken at its hyphens, so that what is copied does not run."""
    step = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; " * 3
    text = render([Finding("docker gpu", "problem", "x " * 100, step)])
    assert max(len(line) for line in text.split("\n")) <= 80
    assert text.count("--output=/etc/cdi/nvidia.yaml;") == 3


def cells(name: str, targets: list[str]):
    return plan.cells(
        stack.load(name),
        targets,
        "all",
        [50],
        dtype="float32",
        precision="default",
        level="jit",
        python="3.6",
        engine="local",
    )


def test_bench_knows_a_wheel_that_cannot_run_before_it_starts():
    """Fault: a GPU for which the wheel has no code is tried for minutes, or CPU cells are refused with it."""
    definition = stack.load("tf2.21-cuda12").definition
    every = cells("tf2.21-cuda12", ["CPU", "GPU", "XLA_CPU", "XLA_GPU"])
    settled = doctor_gpu.cannot_run(every, definition, {"compute_capability": "5.0"})
    assert settled and set(settled) == {each.id for each in every if "GPU" in each.target}
    for reason, status in settled.values():
        assert (reason.code, status) == ("unsupported_arch", "unsupported_arch")
        assert "no code that runs on 5.0" in reason.text and reason.next_step
    for static in (None, {}, {"compute_capability": "8.9"}, {"compute_capability": "12.0"}):
        assert doctor_gpu.cannot_run(every, definition, static) == {}


@pytest.mark.parametrize(
    ("name", "static", "words"),
    [
        ("tf2.21-cuda12", {"compute_capability": "12.0", "driver_version": "580.65.06"}, ["PTX JIT", "TIMEOUT="]),
        ("tf1.14-cuda10", {"compute_capability": "9.0", "driver_version": "580.65.06"}, ["predate", "wrong"]),
        ("tf2.21-cuda12", {"compute_capability": "8.9", "driver_version": "450.80.02"}, ["older than 525.60.13"]),
        ("tf2.21-cuda12", {"compute_capability": "8.9", "driver_version": "580.65.06"}, []),
        ("tf2.21-cuda12", {}, []),
    ],
)
def test_bench_says_what_is_coming(name, static, words):
    """Fault: minutes of PTX JIT look like a hang; a good GPU is talked about."""
    said = doctor_gpu.remarks(cells(name, ["GPU"]), stack.load(name).definition, static)
    assert bool(said) is bool(words)
    assert all(word in " ".join(said) for word in words)
    assert doctor_gpu.remarks(cells(name, ["CPU"]), stack.load(name).definition, static) == []


def test_settled_cells_are_rows_with_the_reason_and_start_nothing(tmp_path):
    """Fault: a GPU cell that cannot run is started all the same, or its row has another reason than doctor's."""
    synthetic = Synthetic()
    reason = Reason("unsupported_arch", "the wheel has no code that runs on 3.0", "Take another stack.")
    asked = {"stack": STACK, "targets": "CPU,GPU", "shapes": "50", "samples": "2", "out": str(tmp_path)}
    tables: list[str] = []
    with in_place(synthetic, settled={"GPU.device.50": (reason, "unsupported_arch")}):
        code, folder = measure.run(words.parse(asked), {}, ["bench"], tables.append, recording=RECORDING)
    assert code is Exit.IMPOSSIBLE  # GPU was asked for by name
    _, samples, _ = collect.derive(folder)
    refused = [each for each in samples if each.cell == "GPU.device.50"]
    assert refused and {each.status for each in refused} == {"unsupported_arch"}
    assert {each.reason.text for each in refused if each.reason} == {reason.text}
    assert not [name for name in synthetic.ran if "GPU" in name] and [
        name for name in synthetic.ran if "CPU" in name
    ]
    assert "unsupported_arch" in tables[0] and reason.text in tables[0]
