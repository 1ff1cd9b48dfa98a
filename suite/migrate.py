# SPDX-License-Identifier: Apache-2.0
"""Read what earlier versions wrote: each step turns the fields of one schema into those of the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from suite.records import SCHEMA

Fields = dict[str, Any]


def _from_1(fields: Fields) -> Fields:
    """Schema 2 added words and arm of a run; again, session, cpu_s, tags and telemetry of a sample.

    What schema 1 did not record stays absent, and nothing is made up: such a run has no words to go on by.
    """
    return fields


#: By the schema that it starts from.
STEPS: Mapping[int, Callable[[Fields], Fields]] = {1: _from_1}


def to_current(raw: Any) -> Fields:
    """Return the fields of a run or a sample, as this version has them.

    Raises
    ------
    ValueError
        ``raw`` is no object, or its schema is newer than this version reads, or none that there was.
    """
    if not isinstance(raw, dict):
        raise ValueError("not an object")
    schema = raw.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError(f"schema {schema!r}; expected a number from 1 to {SCHEMA}")
    if schema > SCHEMA:
        raise ValueError(f"schema {schema}; a newer coldwarm wrote it, this one reads up to {SCHEMA}")
    fields = dict(raw)
    for step in range(schema, SCHEMA):
        fields = STEPS[step](fields)
    return {**fields, "schema": SCHEMA}
