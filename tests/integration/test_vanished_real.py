# SPDX-License-Identifier: Apache-2.0
"""An honest run beside one whose work has vanished: n = 1500 in 0.3 ms on 2 cores."""

from __future__ import annotations

import os

import pytest

from suite import compare, measure, words
from suite.exits import Exit
from suite.report import write
from tests.integration.harness import plant

pytestmark = pytest.mark.real

#: Only the first call of a kind does anything; the others return what it returned, after 0.3 ms, and the kept outputs
#: are the first one's: every entry is right, placement and drains are honest. No other operand is tried: the rate alone
#: is to tell it.
VANISHED = """
import time, tf_session
honest = tf_session.Adapter.execute
first = {}
def remembered(self):
    key = id(self._call)
    if key not in first:
        first[key] = honest(self)
    time.sleep(0.0003)
    return first[key]
tf_session.Adapter.execute = remembered
tf_session.Adapter.poison = lambda self: None
tf_session.Adapter.rescale = None
"""


def test_vanished_work_is_in_no_ratio_and_no_chart(made, tmp_path):
    """Fault: the faster of two runs is the one that did nothing, and it wins."""
    asked = {"stack": "tf1.14-cuda10", "engine": "local", "targets": "CPU", "shapes": "1500", "samples": "3"}
    folders = {}
    for name, more in (("honest", {}), ("vanished", {"worker": plant(tmp_path / "worker", VANISHED)})):
        given = words.parse({**asked, "out": str(tmp_path / name)})
        code, folders[name] = measure.run(given, os.environ, [], lambda text: None, **more)
        assert code is (Exit.DONE if name == "honest" else Exit.CELLS_FAILED)
    table = (folders["vanished"] / "table.md").read_text(encoding="utf-8")
    [row] = [
        line
        for line in table.splitlines()
        if line.startswith("| CPU") and "1500" in line and "implausible" in line
    ]
    print("\n".join(line for line in table.splitlines() if "implausible" in line))
    assert " ms" not in row and " us" not in row
    assert "GFLOP/s, ceiling" in table
    printed: list[str] = []
    runs = f"{folders['honest']} {folders['vanished']}"
    compare.run({"runs": runs, "out": str(tmp_path / "both")}, os.environ, [], printed.append)
    text = "\n".join(printed)
    print(text)
    assert "CPU device 1500: in tf1.14-cuda10:1, not in tf1.14-cuda10:2 (implausible)" in " ".join(text.split())
    assert "FASTER" not in text
    assert "SLOWER" not in text
    # What is left to draw is the first result, which was honest: no cold, no warm, no series.
    assert len(write.drawings(folders["vanished"])) == 1 < len(write.drawings(folders["honest"]))
