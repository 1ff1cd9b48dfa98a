# SPDX-License-Identifier: Apache-2.0
"""noxfile.py as nox sees it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from suite import stack

NOXFILE = stack.ROOT / "noxfile.py"


@pytest.fixture(scope="module")
def sessions():
    """Return what ``nox -l`` prints, told as nox's own interpreter tells it."""
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-l", "--nocolor"],
        cwd=stack.ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        line[2:].split(" -> ")[0] for line in done.stdout.splitlines() if line[:2] in ("- ", "* ")
    ], done.stdout


def test_it_imports_nothing_of_the_suite():
    """Fault: nox needs the suite's packages before it can make them, or imports a checkout that is broken."""
    tree = ast.parse(NOXFILE.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("__import__", "exec", "eval")
    assert "nox" in found and found - set(sys.stdlib_module_names) <= {"nox", "tomli"}


def test_it_lists_a_bench_for_each_stack(sessions):
    """Fault: `nox -s "bench(tf1.14-cuda10)"` is not a session, or a new stack has none."""
    listed = [name for name in sessions[0] if name.startswith("bench")]
    assert listed == [f"bench({name})" for name in stack.names()] and "bench(tf1.14-cuda10)" in listed


def test_nothing_runs_by_itself(sessions):
    """Fault: a bare `nox` measures for hours or rewrites the locks."""
    names, text = sessions
    assert {"lock", "lock_host", "tests", "lint"} <= set(names)
    assert [line for line in text.splitlines() if line.startswith("* ")] == []


def test_no_session_makes_an_environment_of_its_own():
    """Fault: nox makes an environment that no lock knows, with whatever Python it finds."""
    decorators = [
        decorator
        for node in ast.parse(NOXFILE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if "nox.session" in ast.unparse(decorator)
    ]
    assert len(decorators) >= 5
    assert {ast.unparse(each) for each in decorators} == {"nox.session(python=False)"}
