# SPDX-License-Identifier: Apache-2.0
"""A tenth stack is one folder and no code: every part that knows stacks knows it as soon as it lies there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suite import doctor, listing, plan, stack, stack_pages
from suite.errors import SuiteError
from suite.stack import ROOT, STACKS
from tests import pins

LIKE, NAME = "tf2.21-cuda12", "tf9.9-cuda12"


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All stacks and one more, made as docs/stacks.md says: a folder copied, its name and version changed."""
    root = tmp_path_factory.mktemp("ten")
    shutil.copytree(STACKS, root / "docker", ignore=shutil.ignore_patterns("__pycache__"))
    folder = root / "docker" / NAME
    shutil.copytree(STACKS / LIKE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "stack.toml",
        "Dockerfile",
        "requirements.in",
        "requirements-cuda.in",
        "requirements-py3.12.lock",
    ):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(LIKE, NAME).replace("2.21.0", "9.9.0"), encoding="utf-8")
    shutil.copy(ROOT / "noxfile.py", root)
    return root / "docker"


def test_it_loads_and_its_pins_agree(stacks):
    """Fault: a check that knows the nine by name, or takes any folder."""
    assert stack.names(stacks) == sorted([*stack.names(), NAME])
    assert pins.problems(stack.load(NAME, stacks)) == []


def test_list_shows_it_last_and_within_80_columns(stacks, tmp_path):
    """Fault: a list of its own of stacks, or their order, in the code."""
    text = listing.text({"PATH": str(tmp_path), "HOME": str(tmp_path)}, stacks)
    rows = [line.split() for line in text.splitlines() if line.startswith("tf")]
    assert len(rows) == 10 and rows[-1][:2] == [NAME, "9.9.0"]
    assert max(map(len, text.splitlines())) <= 80


def test_it_is_planned(stacks):
    """Fault: placements that only known stacks have."""
    how = {"dtype": "float32", "precision": "default", "level": "jit", "python": "3.12", "engine": "local"}
    cells = plan.cells(stack.load(NAME, stacks), ["CPU", "XLA_CPU"], "all", [50], **how)
    assert [cell.id for cell in cells] == ["CPU.device.50", "XLA_CPU.jit.50", "XLA_CPU.device.50"]
    assert {cell.stack for cell in cells} == {NAME}


def test_doctor_says_what_this_machine_has_of_it(stacks, tmp_path):
    """Fault: doctor asks for a stack that only docker/ of this checkout can hold."""
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    found = {each.subject: each for each in doctor.examine(stack.load(NAME, stacks), environ)}
    assert found["environment"].text.startswith("not made yet: ")
    assert found["disk"].state == "ok"


def test_the_pages_know_it(stacks):
    """Fault: a table of README or docs/stacks.md that somebody types."""
    found = stack_pages.definitions(stacks)
    assert f"| `{NAME}` | TensorFlow 9.9.0 |" in " ".join(stack_pages.list_of_stacks(found).split()).replace(
        "  ", " "
    )
    assert stack_pages.evidence(found).count(f"`{NAME}`") >= 2


def test_a_misspelt_name_leads_to_it(stacks):
    """Fault: hints from a list in the code."""
    with pytest.raises(SuiteError) as caught:
        stack.load("tf9.9-cuda", stacks)
    assert caught.value.next_step.startswith(f"Did you mean {NAME}?")


def test_nox_has_sessions_for_it(stacks):
    """Fault: sessions by a list in noxfile.py."""
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-l", "--nocolor"],
        cwd=stacks.parent,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for verb in ("bench", "build", "reproduce", "selftest"):
        assert f"- {verb}({NAME}) -> " in done.stdout


def test_no_module_names_a_stack_to_decide_anything():
    """Fault: a branch on a stack's name: the next stack needs code."""
    for path in sorted((ROOT / "suite").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in stack.names():
            for quoted in (f'"{name}"', f"'{name}'"):
                assert quoted not in text, f"{path.name} holds {quoted}"
