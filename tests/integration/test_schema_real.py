# SPDX-License-Identifier: Apache-2.0
"""What a real run of a real stack leaves, held against the published JSON Schemas."""

from __future__ import annotations

import json

import pytest

from tests.integration.making import STACK, folder, make
from tests.validating import faults, problems_below

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made")]


def test_what_a_real_run_leaves_fits_the_published_schemas(tmp_path):
    """Fault: a replayed run fits, but not what a real worker tells, or this machine's own facts."""
    done = make("bench", f"STACK={STACK}", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    count, problems = problems_below(tmp_path)
    assert problems == [] and count > 10
    run = json.loads((folder(tmp_path) / "run.json").read_bytes())
    assert faults("run", {**run, "colour": "red"})
