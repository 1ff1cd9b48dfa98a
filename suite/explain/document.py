# SPDX-License-Identifier: Apache-2.0
"""explain.json: the whole explanation for machines. Times in seconds, shares within [0, 1], by repr."""

from __future__ import annotations

import msgspec

from suite.explain.explanation import Explained, Explanation
from suite.explain.record import ArmKind
from suite.records import SCHEMA, to_json


class NamedArm(msgspec.Struct, frozen=True):
    """One arm; what it took away stands in experiment.json."""

    name: str
    folder: str
    kind: ArmKind


class Document(msgspec.Struct, frozen=True):
    """explain.json: what the samples of an explanation say. Derived: nothing reads it, ``collect`` writes it again."""

    id: str
    stack: str
    arms: list[NamedArm]
    cells: list[Explained]
    missing_samples: int
    notes: list[str]
    schema: int = SCHEMA


def as_json(explanation: Explanation) -> str:
    """Return explain.json: strict JSON, sorted, derived from the samples alone."""
    experiment = explanation.experiment
    run = explanation.runs[experiment.arms[0].name]
    document = Document(
        id=experiment.id,
        stack=str(run.stack["name"]),
        arms=[NamedArm(each.name, each.folder, each.kind) for each in experiment.arms],
        cells=list(explanation.cells),
        missing_samples=explanation.missing,
        notes=list(explanation.notes),
    )
    return to_json(msgspec.to_builtins(document, str_keys=True), indent=1) + "\n"
