# SPDX-License-Identifier: Apache-2.0
"""``explain`` on the real framework: a compile is found, and a sleep that nothing explains stays unattributed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from suite import journal
from suite.engines import WORKER
from suite.exits import Exit
from suite.explain import general
from suite.explain import run as explaining
from suite.explain.explanation import Explained
from suite.stack import ROOT
from tests.integration.harness import plant
from tests.unit.test_explain_resume import check_whole
from tests.validating import problems_below

pytestmark = pytest.mark.real

#: The first execution of whatever the adapter has built last takes a second more.
SLEEP = """
import time, tf_session
built, executed = tf_session.Adapter.build, tf_session.Adapter.execute
def build(self):
    self._asleep = True
    built(self)
def execute(self):
    if self._asleep:
        self._asleep = False
        time.sleep(1.0)
    return executed(self)
tf_session.Adapter.build, tf_session.Adapter.execute = build, execute
"""


def explained(out: Path, worker: Path) -> tuple[Explained, str]:
    given = {"stack": "tf1.14-cuda10", "targets": "XLA_CPU", "shapes": "500", "samples": "3", "engine": "local"}
    texts: list[str] = []
    more = {"ablations": "second-shape,same-shape-again", "out": str(out)}
    code, folder = explaining.run({**given, **more}, os.environ, ["explain"], texts.append, worker=worker)
    assert code is Exit.DONE
    assert problems_below(folder)[1] == []
    return explaining.derive(folder)[1].cells[0], texts[0]


def test_a_compile_is_found_and_a_hidden_sleep_is_unattributed(made, tmp_path):
    """Fault: the log names a compile, and all of a slow first call is put down to it."""
    honest, _ = explained(tmp_path / "honest", WORKER)
    compiling = next(each for each in honest.account.entries if each.name == "compiling")
    assert compiling.proven and compiling.share.centre > 0.3
    slept, text = explained(tmp_path / "slept", plant(tmp_path / "worker", SLEEP))
    assert slept.account.unattributed_s.centre > 0.95
    assert slept.account.unattributed_s.centre < 1.15
    assert slept.account.unattributed.low > 0.8 and "unattributed" in text


def taken(out: Path) -> int:
    """Return how many lines all arms' journals hold together."""
    return sum(len(path.read_bytes().splitlines()) for path in out.glob(f"explain/*/*/{journal.SAMPLES}"))


def test_what_was_killed_is_finished(made, tmp_path):
    """Fault: after SIGKILL of the command RESUME= measures real workers otherwise than the first session did."""
    command = [sys.executable, "-m", "suite", "explain", "--stack", "tf1.14-cuda10", "--engine", "local"]
    command += ["--samples", "3", "--ablations", "second-shape,plain-cpu", "--out", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline_s = time.monotonic() + 240
    while taken(tmp_path) < 8 and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 8 <= taken(tmp_path) < 18
    [folder] = (tmp_path / "explain").iterdir()
    texts: list[str] = []
    code, kept = explaining.run({"resume": str(folder)}, os.environ, ["explain"], texts.append)
    assert code is Exit.DONE and kept == folder and "PARTIAL" not in texts[0]
    check_whole(folder)
    assert problems_below(folder)[1] == []


def test_what_goes_beyond_an_arm_begins_with_what_that_one_keeps(made_jax, tmp_path):
    """Fault: it compiles and chooses for itself, so that another choice is taken for what it takes away.

    On a CPU there are no choices to keep: JAX's own compile cache stands in for XLA's of its autotuning.
    """
    kept = next(each for each in general.OF_FRAMEWORK["jax"] if each.name == "compile cache kept")
    beyond = general.once_tuned(kept)
    given = {"stack": "jax0.11-cuda13", "targets": "XLA_CPU", "shapes": "500", "samples": "2", "engine": "local"}
    asked = {**given, "ablations": beyond.slug, "out": str(tmp_path)}
    with mock.patch.dict(general.OF_FRAMEWORK, {"jax": [kept, beyond]}):
        code, folder = explaining.run(asked, os.environ, ["explain"], lambda text: None)
    assert code is Exit.DONE
    samples = {
        arm: journal.read_samples(folder / arm)[0] for arm in ("compile-cache-kept", "second-shape-once-tuned")
    }
    assert {each.status for taken in samples.values() for each in taken} == {"ok"}
    first = {arm: next(each for each in taken if each.kind == "priming").caches for arm, taken in samples.items()}
    own, added = first["compile-cache-kept"].after, first["second-shape-once-tuned"]
    assert own and added.before == own and own.items() < added.after.items()
    for each in samples["second-shape-once-tuned"]:
        if each.kind == "prepared":
            assert each.caches.before == added.after == each.caches.after
