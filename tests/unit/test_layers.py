# SPDX-License-Identifier: Apache-2.0
"""Which module may import which: data flows one way, and a layer knows nothing of those above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.stack import ROOT

SUITE = ROOT / "suite"


def imported(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, at its top or when it runs; "suite.a" for ``from suite import a``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import is not looked at"
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def importers(layer: str) -> set[str]:
    """Return the modules outside a package that import it, by their path below suite/."""
    return {
        str(path.relative_to(SUITE))
        for path in sorted(SUITE.rglob("*.py"))
        if SUITE / layer not in path.parents
        and any(name == f"suite.{layer}" or name.startswith(f"suite.{layer}.") for name in imported(path))
    }


#: By package, what stands above it: verbs, what derives all results of a tree again (collect), and the schemas of all.
ABOVE = {
    "explain": {"cli_measuring.py", "collecting.py", "report/explain_page.py", "schemas.py"},
    "report": {"cli_stored.py", "measure.py"},
}


@pytest.mark.parametrize("layer", ABOVE)
def test_only_what_stands_above_imports_a_layer(layer):
    """Fault: what all runs are measured with needs ``explain`` or the report, and none of them can be changed alone."""
    assert importers(layer) == ABOVE[layer]


def test_the_worker_and_the_host_side_import_nothing_of_each_other():
    """Fault: the worker needs a package that its stack has not, or the host side the Python 3.6 that it runs in."""
    worker = {path.stem for path in (SUITE / "worker").glob("*.py")}
    for path in (SUITE / "worker").glob("*.py"):
        assert not [name for name in imported(path) if name.split(".")[0] in ("suite", "tests")], path
    assert "matmul" in worker and importers("worker") == set()
