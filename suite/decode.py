# SPDX-License-Identifier: Apache-2.0
"""From bytes to the records of :mod:`suite.records`, quickly where this version wrote them.

What this version wrote is decoded straight to its struct. All else (an earlier schema, a fault) takes the way over
:func:`suite.records.from_json` and :mod:`suite.migrate`, which alone say what is wrong: the quick way never refuses.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from suite import migrate
from suite.records import SCHEMA, Comparison, Run, Sample, from_json

_Record = TypeVar("_Record", Run, Sample, Comparison)


class _Version(msgspec.Struct, frozen=True):
    schema: int


class NotJson(ValueError):
    """Bytes that are no strict JSON at all."""


_version = msgspec.json.Decoder(_Version)
_run, _sample, _comparison = (
    msgspec.json.Decoder(Run),
    msgspec.json.Decoder(Sample),
    msgspec.json.Decoder(Comparison),
)


def run(data: bytes) -> Run:
    """Return what a run.json says. Raises :class:`NotJson`, or ValueError for JSON that is no run."""
    return _decoded(data, _run, Run)


def sample(data: bytes) -> Sample:
    """Return what a line of samples.jsonl says. Raises as :func:`run`."""
    return _decoded(data, _sample, Sample)


def comparison(data: bytes) -> Comparison:
    """Return what a comparison.json says. Raises as :func:`run`."""
    return _decoded(data, _comparison, Comparison)


def _decoded(data: bytes, decoder: msgspec.json.Decoder[_Record], kind: type[_Record]) -> _Record:
    try:
        data.decode("utf-8")  # fields that are not known are skipped, not looked at
        if _version.decode(data).schema == SCHEMA:
            return decoder.decode(data)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        pass
    try:
        raw = from_json(data)
    except ValueError as error:
        raise NotJson(str(error)) from error
    return msgspec.convert(migrate.to_current(raw), kind)
