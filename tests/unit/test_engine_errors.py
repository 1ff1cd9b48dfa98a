# SPDX-License-Identifier: Apache-2.0
"""What engines, registries and NVIDIA's driver say, in the words of public reports, and what we make of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from suite import classify, levels, sampling
from suite.cuda_libraries import missing_libraries
from suite.engines import Command, errors
from suite.engines.advice import About
from suite.engines.errors import known
from suite.launch import Outcome
from suite.records import Planned
from suite.watch import Watch
from tests.engine_reports import HOOK, NEAR, REPORTS


@pytest.mark.parametrize(("code", "doing", "exit_code", "text"), REPORTS, ids=lambda each: str(each)[:40])
def test_a_public_report_is_known(code, doing, exit_code, text):
    """Fault: a failure with a known fix is shown as an exit code, or takes another failure's advice."""
    found = known(exit_code, text, About(), doing)
    assert found is not None and found.code == code
    assert len(found.next_step) > 20 and "{" not in found.text


def test_every_class_has_a_report():
    """Fault: a rule that nobody ever saw matching, or one without a source."""
    rules = errors.classes(About())
    assert {code for code, *_ in REPORTS} == {code for code, *_ in rules}
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+(, [\w.-]+/[\w.-]+#\d+)*", source) for *_, source in rules)


@pytest.mark.parametrize(("doing", "exit_code", "text"), NEAR, ids=lambda each: str(each)[:40])
def test_what_is_near_stays_unknown(doing, exit_code, text):
    """Fault: advice for a failure that did not happen."""
    assert known(exit_code, text, About(), doing) is None


@pytest.mark.parametrize(("code", "doing", "exit_code", "text"), REPORTS, ids=lambda each: str(each)[:40])
def test_a_warning_in_a_run_that_succeeded_is_no_class(code, doing, exit_code, text):
    """Fault: a line that a good run printed on its way makes it a failure."""
    assert known(0, text, About(), doing) is None


def test_advice_differs_where_causes_do():
    """Fault: one text with two causes gets the advice of one of them."""
    text = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    advice = {
        known(125, text, About(toolkit=toolkit, desktop=desktop)).next_step  # type: ignore[union-attr]
        for toolkit, desktop in ((None, False), (True, False), (False, False), (None, True))
    }
    assert len(advice) == 4
    denied = "Failed to initialize NVML: Insufficient Permissions"
    assert known(4, denied, About(selinux=True)) != known(4, denied, About(rootless=True))
    down = "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
    assert "Desktop" in known(1, down, About(desktop=True), "ask").next_step  # type: ignore[union-attr]
    cdi = "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"
    assert "daemon.json" not in known(126, cdi, About("podman")).next_step  # type: ignore[union-attr]


def test_the_words_that_matter_are_in_the_text():
    """Fault: the driver is too old, and by how much is lost."""
    for code, doing, exit_code, text in REPORTS:
        found = known(exit_code, text, About(), doing)
        if code == "driver_too_old" and "unsatisfied" in text:
            assert found is not None and "cuda>=12.6" in found.text
        if code == "driver_in_image":
            assert found is not None and "libnvidia-ml.so.1" in found.text


def documented() -> str:
    """The table of docs/doctor.md, made from the rules: a row each, advice as for docker on Linux."""
    rows = ["| class | what it means | what to do | seen in |", "|---|---|---|---|"]
    for code, text, step, source in dict.fromkeys(errors.classes(About())):
        links = ", ".join(
            f"[{each}](https://github.com/{each.replace('#', '/issues/')})" for each in source.split(", ")
        )
        step = step.replace("|", "\\|").replace("*", "\\*").replace("$USER", "`$USER`")
        rows.append(f"| `{code}` | {text} | {step} | {links} |")
    return "\n".join(rows)


def test_the_documented_classes_are_the_rules():
    """Fault: the page rots: a class that is no more, or advice that has changed. The right table is in the message."""
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
    table = page.partition("<!-- the rules -->\n")[2].partition("\n<!-- end -->")[0]
    assert table == documented(), documented()


def outcome(exit_code: int, ended_by: str = "itself") -> Outcome:
    return Outcome(0.0, 0.1, 1.0, 7, exit_code, None, ended_by)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (HOOK + "initialization error: nvml error: driver not loaded: unknown.", "unavailable"),
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "crashed"),
    ],
)
def test_a_container_that_could_not_start_says_why(text, status):
    """Fault: "ended with exit code 125" for a failure that is known, or its words lost."""
    reason, found = classify.by_engine(outcome(125), text, About(), "raw/x/engine-stderr.txt")  # type: ignore[misc]
    assert found == status and reason.next_step and reason.raw_file == "raw/x/engine-stderr.txt"
    assert classify.by_engine(outcome(125), "it broke", About(), "raw") is None
    assert classify.by_engine(outcome(125, "interrupt: x"), text, About(), "raw") is None


DLOPEN = (
    "2019-07-11 08:11:05.101 I tensorflow/stream_executor/platform/default/dso_loader.cc:53] Could not dlopen library "
    "'{0}'; dlerror: {1}: cannot open shared object file: No such file or directory; LD_LIBRARY_PATH: /usr/lib\n"
)


LOAD = (
    "2020-12-20 W tensorflow/stream_executor/platform/default/dso_loader.cc:60] Could not load dynamic library '{0}'; "
    "dlerror: {0}: cannot open shared object file: No such file or directory\n"
)


def test_a_missing_library_is_named():
    """Fault (tensorflow/tensorflow#30748): XLA_GPU is there and GPU is not, and nobody says which file lacks."""
    said = DLOPEN.format("libcudart.so.10.0", "libcudart.so.10.0") + DLOPEN.format(
        "libcudnn.so.7", "libcublas.so.10.0"
    )
    reason, status = classify.unavailable("/device:GPU:0", ["/device:CPU:0", "/device:XLA_GPU:0"], "raw", said)
    assert (status, reason.code, reason.raw_file) == ("unavailable", "cuda_library_missing", "raw")
    named = "libcudart.so.10.0, libcudnn.so.7 (which needs libcublas.so.10.0)"
    assert reason.text.startswith(f"XLA_GPU but no GPU: {named}")
    assert "LD_LIBRARY_PATH" in reason.next_step


@pytest.mark.parametrize(
    ("said", "devices"),
    [
        ("", ["XLA_GPU:0"]),
        (LOAD.format("libcudart.so.11.0"), ["CPU:0", "GPU:0"]),
        (LOAD.format("libnvinfer.so.7"), ["CPU:0", "XLA_GPU:0"]),
        # No driver at all: TF 2.4 then says both, and a library would not help.
        (LOAD.format("libcudart.so.11.0") + LOAD.format("libcuda.so.1"), ["CPU:0"]),
        (LOAD.format("libcudart.so.11.0") + "failed call to cuInit: UNKNOWN ERROR (303)\n", ["CPU:0"]),
    ],
)
def test_a_library_that_is_not_the_cause_is_not_named(said, devices):
    """Fault: TensorRT, which no cell needs, or a library on a machine without a driver is called the cause."""
    assert missing_libraries(said, devices) is None


def test_a_version_that_names_none_is_said():
    """Fault: TF 2.16 and later do not name the library, and the reason is empty."""
    said = "W gpu_device.cc:2343] Cannot dlopen some GPU libraries. Please make sure the missing libraries are there\n"
    found = missing_libraries(said, ["CPU:0"])
    assert found is not None and found.names == () and "does not name them" in found.text


def test_the_driver_s_fault_is_the_reason_of_a_missing_gpu():
    """Fault: "no GPU" beside a log that says that driver and library do not match."""
    said = (
        "E cuda_driver.cc:328] failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported "
        "display driver / cuda driver combination\n"
    )
    reason, status = classify.unavailable("/device:GPU:0", ["CPU:0"], "raw", said)
    assert (reason.code, status) == ("driver_mismatch", "unavailable")
    assert classify.unavailable("/device:XLA_CPU:0", ["CPU:0"], "raw", said)[0].code == "no_device"
    assert classify.unavailable("/device:GPU:0", ["CPU:0"], "raw", "nothing")[0].code == "no_device"


class Client:
    """Stands where a container engine does: its client says ``words`` and ends with ``code``; ``first`` runs before."""

    name = "docker"

    def __init__(self, words: str, code: int, first: str = ":") -> None:
        self.script = f"{first}; cat >&2 <<'END'\n{words}\nEND\nexit {code}"

    def worker_command(self, request, environment):
        return Command(["/bin/sh", "-c", self.script, str(request.parent)], {}, words="engine-", about=About())

    def clean_up(self, folder):
        """Nothing is left running."""

    def identity(self):
        return {}


def taken(folder: Path, client: Client):
    with Watch({}) as watch:
        setting = sampling.Setting(
            engine=client,
            environment=lambda home, more: dict(more),
            probe_adapter="tf_session",
            placement_environment=lambda _: {},
            compile_log=None,
            ceiling_flops=1e12,
            timeout_s=20.0,
            operand_seed=1,
            raw=folder / "raw",
            load=dict,
            watch=watch,
            caches=levels.Folders(folder / "kept"),
        )
        return sampling.take(setting, Planned("probe", "probe", "", 0), None, 0)


def test_a_sample_whose_container_did_not_start_has_the_class_and_the_raw_text(tmp_path):
    """Fault: the row says "exit code 125"; the file that it names is empty, or there is none."""
    words = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    sample = taken(tmp_path, Client(words, 125))
    assert (sample.status, sample.reason.code) == ("crashed", "toolkit_missing")
    assert "nvidia-ctk" in sample.reason.next_step
    assert words in (tmp_path / sample.reason.raw_file).read_text()
    lost = taken(
        tmp_path / "b", Client(HOOK + "initialization error: nvml error: driver not loaded: unknown.", 125)
    )
    assert (lost.status, lost.reason.code) == ("unavailable", "driver_not_loaded")


def test_unknown_words_stay_and_are_quoted(tmp_path):
    """Fault: an engine's failure that nobody knows is given a class, or its words are nowhere."""
    sample = taken(tmp_path, Client("docker: Error response from daemon: the moon is full.", 125))
    assert sample.reason.code == "crashed" and "the moon is full" in sample.reason.text
    assert "the moon is full" in (tmp_path / sample.reason.raw_file).read_text()


@pytest.mark.parametrize("code", [125, 126, 127])
def test_the_program_s_own_exit_code_is_not_the_engine_s(tmp_path, code):
    """Fault: a program in a container that ended with 125 to 127 is taken for an engine that could not start it."""
    words = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    sample = taken(tmp_path, Client(words, code, first='echo "my own words" > "$0/stderr.txt"'))
    assert sample.reason.code == "crashed" and f"exit code {code}" in sample.reason.text
    assert "my own words" in sample.reason.text and sample.reason.raw_file.endswith("/stderr.txt")
