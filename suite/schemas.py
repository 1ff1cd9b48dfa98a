# SPDX-License-Identifier: Apache-2.0
"""The published JSON Schemas of what a run leaves: made from the data models, described by docs/values.md.

    python -m suite.schemas

writes docs/schema/ again; a test holds the files equal to the code.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from suite.explain.document import Document
from suite.explain.record import Experiment
from suite.records import SCHEMA, Comparison, Run, Sample
from suite.stack import ROOT
from suite.usable import LONGEST_S, SHORTEST_S

FOLDER = ROOT / "docs" / "schema"
MEANINGS = ROOT / "docs" / "values.md"

#: Name of each document, its model, and the heading of docs/values.md below which its fields are told.
DOCUMENTS: Mapping[str, tuple[type[msgspec.Struct], str]] = {
    "run": (Run, "`run.json`"),
    "sample": (Sample, "`samples.jsonl`"),
    "comparison": (Comparison, "`comparison.json`"),
    "experiment": (Experiment, "`experiment.json`"),
    "explain": (Document, "`explain.json`"),
}

#: By model, what docs/values.md calls it in the table of parts.
PARTS = {
    **{"Plan": "plan", "Cell": "cell", "Planned": "planned", "Reason": "reason", "Interval": "phase"},
    **{"Warm": "warm", "Compiles": "compiles", "Proof": "proof", "Pair": "pair", "Caches": "caches"},
    **{"Arm": "arm", "Judging": "judging", "DeviceClock": "device_clock"},
    **{"ExperimentArm": "arm", "NamedArm": "arm", "Ablation": "ablation", "Mechanism": "mechanism"},
    **{"Explained": "explained", "Count": "count", "Estimate": "estimate", "Account": "account", "Entry": "entry"},
    **{"Effect": "effect", "Instead": "instead", "BreakEven": "break_even"},
}

#: Times that a clock read between two moments: what is shorter or longer is no measurement (:mod:`suite.usable`).
MEASURED = (
    "cold_s",
    "first_result_s",
    "question_clock_s",
    "wall_s",
    "worker_wall_s",
    "outer_s",
    "calls_s",
    "taken_s",
)

#: A moment as this tool writes it.
UTC = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each document, by its name; draft 2020-12, of this version's format.

    Raises
    ------
    ValueError
        A field has no meaning in docs/values.md.
    """
    return {name: _schema(name, model, heading) for name, (model, heading) in DOCUMENTS.items()}


def text(schema: Mapping[str, Any]) -> str:
    """Return a schema as the text of its file: always the same bytes."""
    return json.dumps(schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """Return the file of a document's schema."""
    return folder / f"{name}.schema.json"


def _schema(name: str, model: type[msgspec.Struct], heading: str) -> dict[str, Any]:
    made = msgspec.json.schema(model)
    parts = {each: _described(each, made["$defs"][each], heading) for each in sorted(made["$defs"])}
    top = parts.pop(model.__name__)
    top["properties"]["schema"] = {"const": SCHEMA, "description": top["properties"]["schema"]["description"]}
    top["required"] = [*top["required"], "schema"]
    if model is Sample:
        top["allOf"] = list(_measured_whole())
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:coldwarm:{name}:{SCHEMA}",
        "$comment": "SPDX-License-Identifier: Apache-2.0; made by python -m suite.schemas",
    }
    return {**head, **top, "$defs": parts}


def _described(model: str, found: dict[str, Any], heading: str) -> dict[str, Any]:
    """Return one model's schema, closed, with what each of its fields means, its unit and its bounds."""
    told = _meanings()
    where = PARTS.get(model, heading)
    first_sentence = str(found.get("description", "")).split("\n\n")[0].replace("``", "")
    out = {
        **found,
        "description": " ".join(first_sentence.split()),
        "properties": {},
        "additionalProperties": False,
    }
    for field, schema in found["properties"].items():
        meaning = told.get((where, field))
        if meaning is None:
            raise ValueError(f"docs/values.md does not tell what {field!r} of {where} means")
        schema = {key: value for key, value in schema.items() if key != "default"}
        if field.endswith("_s"):
            schema["x-unit"] = "s"
        if field in MEASURED:
            _bound(schema)
        if field.endswith("_utc"):
            schema["pattern"] = UTC
        out["properties"][field] = {"description": meaning, **schema}
    return out


def _bound(schema: dict[str, Any]) -> None:
    if schema.get("type") == "number":
        schema.update(minimum=SHORTEST_S, maximum=LONGEST_S)
    for each in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        _bound(each)


def _measured_whole() -> Iterator[dict[str, Any]]:
    """Yield what an ok sample of its kind must have: without it nothing of it can be counted."""
    prepared = {
        "cold_s": {"type": "number"},
        "warm": {"type": "object", "properties": {"calls_s": {"minItems": 1}}},
    }
    for kind, needed in (("prepared", prepared), ("fresh", {"first_result_s": {"type": "number"}})):
        ok = {"properties": {"kind": {"const": kind}, "status": {"const": "ok"}}}
        yield {"if": ok, "then": {"required": list(needed), "properties": needed}}


@functools.cache
def _meanings() -> dict[tuple[str, str], str]:
    """Return what docs/values.md says of each field, by the heading or part that it belongs to."""
    out: dict[tuple[str, str], str] = {}
    heading = ""
    for line in MEANINGS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ").partition(":")[0]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| `") else []
        if len(cells) == 2:
            out.update({(heading, name): _plain(cells[1]) for name in _names(cells[0])})
        elif len(cells) == 3:
            out.update({(part, name): _plain(cells[2]) for part in _names(cells[0]) for name in _names(cells[1])})
    return out


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _plain(markdown: str) -> str:
    """Return a table's words without Markdown's marks; a link's target goes, its words stay."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("*", "")


def main(folder: Path = FOLDER) -> int:
    """Write every schema again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        path_of(name, folder).write_text(text(schema), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
