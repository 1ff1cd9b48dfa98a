# SPDX-License-Identifier: Apache-2.0
"""RESUME= as a person uses it: a run of the real stack is killed, and finished with one more command."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from pathlib import Path

import pytest

from suite import collect, journal, rows
from tests.integration import making
from tests.integration.making import STACK, make, start, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made")]

SMALL = ("TARGETS=CPU", "SHAPES=50", "SAMPLES=3")
#: A probe, a pilot, three prepared and three fresh samples.
PLANNED = 8


def running(out: Path, at_least: int) -> bool:
    """Tell whether a worker of the run below ``out`` runs and so many samples have ended."""
    return len(making.lines(out)) >= at_least and bool(making.processes(str(out)))


def check_finished(folder: Path, before: list[dict[str, object]]) -> None:
    """Check that a run is what its plan said, and that what was there before is there as it was."""
    run, samples, notes = collect.derive(folder)
    assert notes == [] and rows.missing(run, samples) == 0 and len(run.plan.planned) == PLANNED
    wanted = [planned.id for planned in run.plan.planned]
    planned = [sample for sample in samples if not sample.again and ".session-" not in sample.id]
    assert sorted(sample.id for sample in planned) == sorted(wanted)
    assert {sample.status for sample in samples} == {"ok"}
    lines = making.lines(folder.parent.parent)
    assert lines[: len(before)] == before
    assert {line["session"] for line in lines[len(before) :]} == {1}
    orders = [line["order"] for line in lines]
    assert orders == sorted(set(orders))
    [row] = rows.cell_rows(run, samples)
    assert row.count.text() == "3/3 ok" and row.cold and row.warm and row.ratio and row.ratio.low
    [once] = rows.target_rows(run, samples)
    assert once.count.text() == "3/3 ok" and once.first_result
    table = (folder / collect.TABLE_MD).read_text()
    assert "PARTIAL" not in table and "measured in 2 sessions (RESUME=)" in table


def test_a_run_that_was_killed_is_finished(tmp_path):
    """Fault: after SIGKILL a run must be measured anew, or what is added to it was measured under another identity."""
    process = start("bench", f"STACK={STACK}", *SMALL, f"OUT={tmp_path}")
    until(lambda: running(tmp_path, 4))
    # make's whole group, and whatever of nox, suite and worker has left it: nobody can say a last word.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in making.processes(str(tmp_path)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    making.finish(process, 30)
    until(lambda: not making.processes(str(tmp_path)), 10)
    folder, before = making.folder(tmp_path), making.lines(tmp_path)
    assert 4 <= len(before) < PLANNED and not (folder / collect.TABLE_MD).exists()
    done = make("bench", f"STACK={STACK}", f"RESUME={folder}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert f"{len(before) - 1} of them were taken before" in " ".join(done.err.split())
    check_finished(folder, before)
    assert "3/3 ok" in done.out


def test_after_ctrl_c_the_command_that_was_named_finishes_the_run(tmp_path):
    """Fault: the command that Ctrl-C names does not work as it stands: a path that is relative, or not quoted."""
    out = tmp_path / "d'été & 2: a name that is longer than the eighty columns after which all else is wrapped"
    process = start("bench", f"STACK={STACK}", *SMALL, f"OUT={out}")
    until(lambda: running(out, 4))
    os.killpg(process.pid, signal.SIGINT)
    stopped = making.finish(process, 30)
    assert stopped.exit_line() == "coldwarm: exit 130 (interrupted)", stopped.err
    folder, before = making.folder(out), making.lines(out)
    assert before[-1]["status"] == "interrupted" and "PARTIAL" in (folder / collect.TABLE_MD).read_text()
    [command] = [line for line in stopped.err.splitlines() if "RESUME=" in line]
    words = shlex.split(command)
    assert words == ["make", "bench", f"STACK={STACK}", f"RESUME={folder}"]
    done = make(*words[1:])
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    check_finished(folder, before)


def test_a_run_is_gone_on_with_below_this_folder(tmp_path):
    """Fault: RESUME=results/..., as the message shows it at the prompt, starts workers that find no request."""
    done = make("bench", f"STACK={STACK}", "TARGETS=CPU", "SHAPES=50", "SAMPLES=1", f"OUT={tmp_path}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    folder = making.folder(tmp_path)
    path = folder / journal.SAMPLES
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    relative = os.path.relpath(folder, making.ROOT)
    done = make("bench", f"STACK={STACK}", f"RESUME={relative}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    assert journal.read_samples(folder)[1] == []


def test_level_disk_reads_the_framework_from_the_disk(tmp_path):
    """Fault: LEVEL=disk drops nothing and says that it did; or a sample of it is refused on a machine that can."""
    done = make(
        "bench", f"STACK={STACK}", "TARGETS=CPU", "SHAPES=50", "SAMPLES=1", "LEVEL=disk", f"OUT={tmp_path}"
    )
    proofs = [line["proofs"].get("cold") for line in making.lines(tmp_path) if line["kind"] != "probe"]
    reason = (
        "this machine's file system does not let LEVEL=disk be proven: no read_bytes in /proc/self/io, or files that "
        f"stay in the page cache (tmpfs, another process that maps them); the proofs say {proofs}"
    )
    assert proofs and all(proof and proof["state"] == "ok" for proof in proofs), reason
    assert all(proof["text"].startswith("read ") and " MB from the disk" in proof["text"] for proof in proofs)
    read = [float(proof["text"].split()[1]) for proof in proofs]
    assert min(read) > 50, reason  # TensorFlow's one library alone is larger
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    [row] = rows.cell_rows(*collect.derive(making.folder(tmp_path))[:2])
    assert row.cell.level == "disk" and row.count.text() == "1/1 ok"
