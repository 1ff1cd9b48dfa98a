# SPDX-License-Identifier: Apache-2.0
"""One more stack beside the two that every run of the tests measures: another one each day, by the calendar.

COLDWARM_ROTATE=<stack> takes that one. Which it is, is printed (`pytest -s`, and in the report of a failure).
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from suite import environment, journal, pythons, stack
from suite.stack import Wheels
from tests.integration import making

#: Measured by other tests, always.
ALWAYS = ("tf1.14-cuda10", "tf2.21-cuda12")


def rotated(environ: Mapping[str, str], day: int, there: Callable[[str], bool]) -> str:
    """Return the stack of a day of the year; "" where no other stack's Python is on this machine.

    Parameters
    ----------
    there
        Tells whether a Python minor can be used here.
    """
    if environ.get("COLDWARM_ROTATE"):
        return environ["COLDWARM_ROTATE"]
    others = [name for name in stack.names() if name not in ALWAYS]
    usable = [name for name in others if there(stack.load(name).definition.python.default)]
    return usable[day % len(usable)] if usable else ""


def test_each_of_the_others_has_its_day():
    """Fault: a stack that no day takes; one that is measured anyway; a word that is passed over."""
    others = sorted(set(stack.names()) - set(ALWAYS))
    assert sorted(rotated({}, day, lambda _: True) for day in range(len(others))) == others
    assert {rotated({}, day, lambda minor: minor == "3.8") for day in range(7)} == {
        "tf2.3-cuda10.1",
        "tf2.4-cuda11.0",
    }
    assert rotated({"COLDWARM_ROTATE": "tf2.10-cuda11"}, 1, lambda _: False) == "tf2.10-cuda11"
    assert rotated({}, 1, lambda _: False) == ""


@pytest.mark.real
def test_the_stack_of_the_day_is_installed_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], require: Callable[[str], None]
):
    """Fault: a stack that is locked and can no longer be installed, imported or proven on CPU and XLA_CPU."""

    def there(minor: str) -> bool:
        return bool(pythons.likely(minor, os.environ))

    name = rotated(os.environ, datetime.datetime.now(datetime.timezone.utc).timetuple().tm_yday, there)
    if not name:
        require("py311")  # skips, or fails where CI requires it: two of the others run on it
        pytest.fail("there is a Python 3.11, and none of the stacks that run on it was taken")
    with capsys.disabled():
        sys.stdout.write(f"\nthe stack of the day is {name} (COLDWARM_ROTATE= names another)\n")
    chosen = stack.load(name)
    targets = [target for target in ("CPU", "XLA_CPU") if chosen.realisations(target)]
    words = [f"STACK={name}", f"TARGETS={','.join(targets)}", "PLACEMENT=all", "SHAPES=50", "SAMPLES=1"]
    if not chosen.definition.install.cuda_included:
        words.append("WHEELS=cpu")
    done = making.make("bench", *words, f"OUT={tmp_path}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    [folder] = (tmp_path / name).iterdir()
    run, (samples, notes) = journal.read_run(folder), journal.read_samples(folder)
    assert notes == [] and {each.status for each in samples} == {"ok"}
    measured = {each.cell for each in samples if each.kind == "prepared"}
    wanted = {f"{each.target}.{each.placement}.50" for target in targets for each in chosen.realisations(target)}
    assert measured == wanted
    wheels: Wheels = "cuda" if chosen.definition.install.cuda_included else "cpu"
    made = environment.find_made(chosen, run.plan.cells[0].python, environ=os.environ, wheels=wheels)
    assert made is not None and made.packages[run.stack["definition"]["framework"]["package"]]
