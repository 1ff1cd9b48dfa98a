# SPDX-License-Identifier: Apache-2.0
"""Hold files against the published JSON Schemas, with a validator that knows nothing of the suite."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import jsonschema

from suite import journal, migrate, schemas
from suite.collect import COMPARISON, comparison_folders, run_folders
from suite.explain import run as explaining


@functools.cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schemas.path_of(name).read_text(encoding="utf-8")))


def faults(name: str, document: Any) -> list[str]:
    """Return what is wrong with a document by the committed schema of that name, each with its place."""
    return [f"{each.json_path}: {each.message}" for each in _validator(name).iter_errors(document)]


def damaged(document: Any, where: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy of a document with another value at a place, or without that field where it is "absent"."""
    copied = copy.deepcopy(document)
    at = copied
    for step in where[:-1]:
        at = at[step]
    if value == "absent":
        del at[where[-1]]
    else:
        at[where[-1]] = value
    return copied


def problems_below(tree: Path) -> tuple[int, list[str]]:
    """Hold every run, comparison and explanation below a folder against the schemas.

    Returns how many documents they have, and the faults.
    What an earlier version wrote is migrated first, as every reader does.
    """
    documents: list[tuple[str, str, Any]] = []
    for folder in run_folders(tree):
        documents.append(("run", f"{folder}", json.loads((folder / journal.RUN).read_bytes())))
        lines = (folder / journal.SAMPLES).read_bytes().splitlines()
        documents += [("sample", f"{folder} line {k}", json.loads(line)) for k, line in enumerate(lines, 1)]
    for folder in comparison_folders(tree):
        documents.append(("comparison", f"{folder}", json.loads((folder / COMPARISON).read_bytes())))
    for path in sorted(tree.rglob(journal.EXPERIMENT)):
        documents.append(("experiment", f"{path}", json.loads(path.read_bytes())))
        derived = path.with_name(explaining.JSON)
        if derived.exists():
            documents.append(("explain", f"{derived}", json.loads(derived.read_bytes())))
        for run in sorted(path.parent.glob(f"*/{journal.RUN}")):
            documents.append(("run", f"{run}", json.loads(run.read_bytes())))
            lines = run.with_name(journal.SAMPLES).read_bytes().splitlines()
            documents += [
                ("sample", f"{run.parent} line {k}", json.loads(line)) for k, line in enumerate(lines, 1)
            ]
    return len(documents), [
        f"{where}: {fault}" for name, where, each in documents for fault in faults(name, migrate.to_current(each))
    ]
