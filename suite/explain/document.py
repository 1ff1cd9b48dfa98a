# SPDX-License-Identifier: Apache-2.0
"""explain.json: the whole explanation for machines. Times in seconds, shares within [0, 1], by repr."""

from __future__ import annotations

from typing import Any

import msgspec

from suite.explain.explanation import Explanation
from suite.records import SCHEMA, to_json


def as_json(explanation: Explanation) -> str:
    """Return explain.json: strict JSON, sorted, derived from the samples alone."""
    experiment = explanation.experiment
    run = explanation.runs[experiment.arms[0].name]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "id": experiment.id,
        "stack": run.stack["name"],
        "arms": [{"name": each.name, "folder": each.folder, "kind": each.kind} for each in experiment.arms],
        "cells": [msgspec.to_builtins(each, str_keys=True) for each in explanation.cells],
        "missing_samples": explanation.missing,
        "notes": list(explanation.notes),
    }
    return to_json(document, indent=1) + "\n"
