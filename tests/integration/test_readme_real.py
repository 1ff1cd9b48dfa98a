# SPDX-License-Identifier: Apache-2.0
"""README's commands, taken from README and run in a fresh clone, as root as a newcomer's container is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.integration import making

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made", "made221")]

BLOCKS = re.findall(r"```sh\n(.*?)```", (making.ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A fresh clone of the committed tree, at a path as people have them."""
    target = tmp_path_factory.mktemp("Klön 1: neu") / "coldwarm"
    subprocess.run(["git", "clone", "-q", str(making.ROOT), str(target)], check=True)
    return target


def shape(text: str) -> list[str]:
    """Return the lines without what differs from run to run: numbers, and how wide their columns are."""
    out = []
    for line in text.splitlines():
        line = re.sub(r" \(\d+!\)", "", line)  # how many samples are tagged is the machine's affair
        line = re.sub(r"\[[^\]]*\d[^\]]*\]( (us|ms|s)\b)?", "[]", line)
        line = re.sub(r"\d[\w.,:-]*( (us|ms|s)\b)?\*?", "#", line)
        out.append(re.sub(r"-{2,}", "--", " ".join(line.split())))
    return out


def test_the_commands_are_there():
    """Fault: README's blocks are no longer found, and nothing is tested."""
    assert COMMANDS[0] == "make bench STACK=tf1.14-cuda10"
    verbs = ["bench", "reproduce", "compare", "explain", "list", "doctor", "bench", "bench", "doctor", "selftest"]
    verbs += ["collect", "collect", "export"]
    assert [line.split()[1] for line in COMMANDS] == verbs


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_readme(clone, command):
    """Fault: a command that works only on its author's machine, or whose output is another than the one shown."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=clone, env=making.environment(), capture_output=True, text=True, check=False
    )
    verb = command.split()[1]
    if verb in ("compare", "selftest"):  # what they find is this machine's affair
        last = [line for line in done.stderr.splitlines() if line.startswith("coldwarm: exit ")][-1]
        assert last.split()[2] in ("0", "1", "6"), done.stderr[-3000:]
    else:
        assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if not line.startswith("make ")]  # those are to be pasted
    if "FORMAT=" not in command:  # a terminal's own; Markdown and the like are as wide as they are
        assert max(len(line) for line in lines) <= 80
    if verb in ("bench", "reproduce", "collect", "doctor"):
        assert done.stderr.splitlines()[-1] == "coldwarm: exit 0 (done)"
    if command == COMMANDS[0]:
        shown = re.search(
            r"<!-- output: results/examples/bench-tf1.14-cuda10 -->\n```text\n(.*?)```", _readme(), re.S
        )
        assert shown is not None
        assert _rows(shape(done.stdout)) == _rows(shape(shown.group(1)))
        check_table(done.stdout)


def check_table(text: str) -> None:
    """Check what the first command must show: CPU and XLA_CPU rows, GPU rows with the reason, the engine."""
    cells, _, rest = text.partition("What a process pays once")
    for target in ("CPU", "XLA_CPU"):
        found = [line for line in cells.splitlines() if line.split()[:1] == [target]]
        assert len(found) == 3 and all("3/3 ok" in line and "[" in line for line in found), text
        assert any(line.split()[:1] == [target] and "3/3 ok" in line for line in rest.splitlines())
    if not Path("/proc/driver/nvidia/version").exists():
        assert len([line for line in cells.splitlines() if "GPU" in line and line.endswith("unavailable")]) == 6
        assert "no GPU: the framework sees CPU:0, XLA_CPU:0" in " ".join(text.split())
    assert "engine local: asked for by COLDWARM_ENGINE=local" in text


def _readme() -> str:
    return (making.ROOT / "README.md").read_text(encoding="utf-8")


def _rows(lines: list[str]) -> list[str]:
    """Return the lines up to the notes: those depend on the machine."""
    until = lines.index("Notes")
    return [line for line in lines[:until] if "CPUs; Python" not in line and not line.startswith("engine")]


def test_soft_placement_in_the_environment_changes_nothing(tmp_path):
    """Fault: TF_FORCE_... or a config of the user's shell puts a CPU's time into a GPU's row."""
    environ = making.environment(
        CUDA_VISIBLE_DEVICES="-1",  # where there is a GPU, hide it: a CPU must not stand in for it
        TF_SOFT_PLACEMENT="1",
        TF_ENABLE_SOFT_PLACEMENT="1",
        TF_XLA_FLAGS="--tf_xla_auto_jit=2",
    )
    done = making.make(
        *("bench", f"STACK={making.STACK}", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}"), env=environ
    )
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    by_target = {
        str(line["cell"]).split(".")[0]: line for line in making.lines(tmp_path) if line["kind"] == "prepared"
    }
    for target in ("GPU", "XLA_GPU"):
        assert by_target[target]["status"] == "unavailable" and by_target[target]["cold_s"] is None
    assert by_target["CPU"]["status"] == "ok"
