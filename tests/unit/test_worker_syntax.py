# SPDX-License-Identifier: Apache-2.0
"""The worker runs inside a stack that may be eight years old: its syntax and imports, read and not run."""

from __future__ import annotations

import ast
import sys

import pytest

from suite import stack

WORKER = stack.ROOT / "suite" / "worker"
FILES = sorted(WORKER.glob("*.py"))
OURS = {path.stem for path in FILES}
FRAMEWORKS = {"numpy", "tensorflow", "jax", "jaxlib", "torch"}
#: In our standard library, and not in that of Python 3.6.
NEWER_MODULES = {"contextvars", "dataclasses", "graphlib", "tomllib", "zoneinfo", "_py_warnings"}
NEWER_SUBMODULES = {"importlib.resources", "importlib.metadata", "concurrent.interpreters"}
#: Names of the standard library that came after 3.6, among those that a worker might reach for.
NEWER_NAMES = {
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "get_running_loop", "nullcontext"),
    *("removeprefix", "removesuffix", "isqrt", "prod", "dist", "cached_property", "fromisoformat", "breakpoint"),
    *("getencoding", "reconfigure", "orig_argv", "stdlib_module_names", "isascii", "bit_count", "pidfd_open"),
}
NEWER_KEYWORDS = {"capture_output", "dirs_exist_ok", "missing_ok"}


def too_new(source: str) -> list[str]:
    """Return what in a source Python 3.6 does not know."""
    found = []
    for node in ast.walk(ast.parse(source, feature_version=(3, 6))):
        name = type(node).__name__
        if name in ("NamedExpr", "Match", "TryStar", "TypeAlias"):
            found.append(name)
        elif isinstance(node, ast.arguments) and node.posonlyargs:
            found.append("positional-only parameter")
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            found += [each.name for each in node.names if each.name == "annotations"]
        elif isinstance(node, ast.Attribute) and node.attr in NEWER_NAMES:
            found.append(node.attr)
        elif isinstance(node, ast.Name) and node.id in NEWER_NAMES:
            found.append(node.id)
        elif isinstance(node, ast.Call):
            found += [each.arg for each in node.keywords if each.arg in NEWER_KEYWORDS]
        elif isinstance(node, ast.JoinedStr) and "=}" in (ast.get_source_segment(source, node) or ""):
            found.append("f-string with =")
    return found


def imported(source: str) -> set[str]:
    """Return the full names of the modules that a source imports; relative ones begin with a dot."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            below = {f"{base}.{each.name}" for each in node.names}
            found |= {base} | (below & NEWER_SUBMODULES)
    return found


def not_there(source: str) -> set[str]:
    """Return the imports that a bare stack cannot be expected to have."""
    allowed = (set(sys.stdlib_module_names) - NEWER_MODULES) | OURS | FRAMEWORKS
    return {name for name in imported(source) if name.partition(".")[0] not in allowed or name in NEWER_SUBMODULES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_parses_under_python_3_6(path):
    """Fault: a SyntaxError or AttributeError in every sample of the oldest stack."""
    assert too_new(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_only_what_a_stack_has(path):
    """Fault: the worker needs psutil, or the suite itself, inside the stack."""
    assert not_there(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_frameworks_are_imported_only_where_it_is_timed(path):
    """Fault: NumPy or TensorFlow at the top of a file: its import is in no phase, or in the wrong one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], [])
    assert not imported(ast.unparse(top)) & FRAMEWORKS


def test_no_name_hides_a_module_of_the_standard_library():
    """Fault: the worker's folder is first on sys.path, and a framework's `import queue` finds ours."""
    assert OURS - {"__main__"} and not (OURS - {"__main__"}) & set(sys.stdlib_module_names)
    assert not OURS & FRAMEWORKS


def test_every_file_is_looked_at():
    """Fault: a file in a folder below that this test does not see."""
    assert sorted(WORKER.rglob("*.py")) == FILES and len(FILES) >= 9


@pytest.mark.parametrize(
    "source",
    [
        "if (n := 3): pass",
        "def f(a, /): pass",
        "match 3:\n    case 3: pass",
        "from __future__ import annotations",
        "import time\ntime.monotonic_ns()",
        "run(capture_output=True)",
        "f'{x=}'",
    ],
)
def test_this_test_sees_what_is_too_new(source):
    """Fault: a check that passes whatever it is given."""
    try:
        assert too_new(source)
    except SyntaxError:
        ast.parse(source)  # right for us, wrong for 3.6


@pytest.mark.parametrize(
    "source",
    [
        "import psutil",
        "from suite import stack",
        "from . import clock",
        "import dataclasses",
        "import scipy.linalg",
    ]
    + ["from importlib import metadata", "import importlib.resources"],
)
def test_this_test_sees_what_is_not_there(source):
    """Fault: as above, for imports."""
    assert not_there(source)
    assert not_there("import os.path, clock, numpy\nfrom importlib import util") == set()
