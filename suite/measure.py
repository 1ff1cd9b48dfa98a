# SPDX-License-Identifier: Apache-2.0
"""One run, from the words of ``bench`` or ``reproduce`` to its tables."""

from __future__ import annotations

import contextlib
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from suite import bench, claim, plan, progress, ready, reproduce, resume, stack
from suite.document import View
from suite.engines import WORKER
from suite.errors import SuiteError
from suite.exits import Exit
from suite.journal import Journal
from suite.progress import shown
from suite.ready import Ready
from suite.records import Protocol, Run, Sample
from suite.watch import Watch
from suite.words import Words


def run(
    words: Words,
    environ: Mapping[str, str],
    command: Sequence[str],
    report: Callable[[str], None],
    *,
    protocol: Protocol = "isolated",
    worker: Path = WORKER,
    stacks: Path = stack.STACKS,
    recording: Path | None = None,
    earlier: resume.Earlier | None = None,
    view: View | None = None,
) -> tuple[Exit, Path]:
    """Measure one stack by one of the two protocols and print its tables.

    Parameters
    ----------
    report
        Takes the finished tables.
    worker, stacks, recording
        See :func:`suite.ready.make_ready`.
    earlier
        The run to go on with (RESUME=); ``words`` are then its own.
    view
        How the tables are printed.

    Returns
    -------
    tuple
        The exit code and the run's folder.
    """
    made = ready.make_ready(words, environ, protocol=protocol, worker=worker, stacks=stacks, recording=recording)
    record = _record(made, command, earlier)
    with claim.gpus(record):
        if earlier is None:
            folder = words.out / made.chosen.name / record.run_id
            log = Journal.create(folder, record)
        else:
            folder = earlier.folder
            log = Journal.reopen(folder)
            earlier = resume.read_again(earlier)
        return _measure(made, record, folder, log, environ, lambda: bench.finish(folder, report, view), earlier)


def _record(made: Ready, command: Sequence[str], earlier: resume.Earlier | None) -> Run:
    if made.protocol == "reproduce":
        return made.record(ready.reproduce_plan(made.words, made.cells), command)
    seed = secrets.randbelow(2**32)
    words = made.words
    planned = plan.schedule(made.cells, words.samples, words.profile.fresh_at, seed)
    record = made.record(ready.bench_plan(words, made.cells, planned, seed), command)
    if earlier is None:
        return record
    resume.check_identity(earlier.run, record)
    return earlier.run


def _measure(
    made: Ready,
    record: Run,
    folder: Path,
    log: Journal,
    environ: Mapping[str, str],
    finish: Callable[[], None],
    earlier: resume.Earlier | None,
) -> tuple[Exit, Path]:
    measured: bench.Bench | reproduce.Reproduce
    try:
        with Watch(environ) as watch:
            setting = made.setting(record, folder, watch, earlier.session if earlier else 0)
            if record.protocol == "isolated":
                setting.caches.recover(setting.raw, record.plan.cells)
                measured = bench.Bench(record, setting, log, watch, taken=earlier.samples if earlier else ())
            else:
                measured = reproduce.Reproduce(record, setting, log, watch)
            try:
                measured.measure()
            except BaseException as error:
                # Its cause is what must be told, not that the tables cannot be written either.
                with contextlib.suppress(SuiteError):
                    finish()
                if isinstance(error, SuiteError) and error.exit_code is Exit.CELLS_FAILED:
                    _say_how_to_go_on(record, folder)
                raise
            interrupted = watch.tripped()
            if not interrupted:
                setting.caches.discard()  # only a run that is complete needs them no more
            finish()
    finally:
        log.close()
    samples: list[Sample] = measured.samples
    progress.say_where(folder, interrupted)
    if interrupted:
        _say_how_to_go_on(record, folder)
    verdict = bench.verdict if record.protocol == "isolated" else reproduce.verdict
    return verdict(record, samples, bool(interrupted)), folder


def leave_report(folder: Path) -> None:
    """Make report.html of a run or a comparison that has ended: the last thing that a command does.

    What was measured stays measured where a picture of it cannot be made.
    """
    from suite.report import write

    again = f"make report RUN={shlex.quote(shown(folder))}"
    try:
        why_not = write.left_out(folder)
        if why_not:
            progress.say(f"no report.html: {why_not}; {again} makes it all the same")
        else:
            progress.say(f"report: {shown(write.write(folder))}")
    except Exception as error:
        progress.say(f"report.html cannot be made: {error}; {again} tries again")


def _say_how_to_go_on(record: Run, folder: Path) -> None:
    if record.protocol == "isolated":
        progress.say("what is missing is taken by:")
        progress.say_line(f"make bench STACK={record.stack['name']} RESUME={shlex.quote(shown(folder))}")
