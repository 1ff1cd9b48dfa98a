# SPDX-License-Identifier: Apache-2.0
"""Make report.html of a run's folder, and its charts as files of their own where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from suite import journal, pairs
from suite.errors import SuiteError
from suite.exits import Exit
from suite.question import question
from suite.records import Run, Sample
from suite.report import bench_page, figures, reproduce_page, svg
from suite.report.figures import Drawn
from suite.report.view import view

REPORT = "report.html"
CHARTS = "charts"
Format = Literal["svg", "png"]


def report(run: Run, samples: Sequence[Sample], notes: Sequence[str] = ()) -> str:
    """Return the report of a run: the same bytes for the same input, wherever and whenever."""
    with svg.settings():
        if run.protocol == "reproduce":
            return reproduce_page.reproduce_page(run, samples, notes)
        return bench_page.bench_page(view(run, samples, notes))


def drawings(run: Run, samples: Sequence[Sample]) -> list[Drawn]:
    """Return the charts of a run's report."""
    if run.protocol == "reproduce":
        return reproduce_page.figures(pairs.rows(run, samples, question()))
    return figures.every(view(run, samples))


def write(folder: Path) -> Path:
    """Write report.html into a run's folder and return its path.

    Raises
    ------
    journal.Unreadable
        run.json cannot be used.
    OSError
        The report cannot be written.
    """
    run = journal.read_run(folder)
    samples, notes = journal.read_samples(folder)
    path = folder / REPORT
    journal.write_atomically(path, report(run, samples, notes))
    return path


def on_request(folder: Path, format_: Format | None) -> list[Path]:
    """Write a run's report, and its charts in a format that was asked for; return the paths.

    Raises
    ------
    SuiteError
        USAGE where the folder holds no run that can be read, CELLS_FAILED where it cannot be written to.
    """
    try:
        return [write(folder), *(write_charts(folder, format_) if format_ else [])]
    except journal.Unreadable as error:
        raise SuiteError(Exit.USAGE, str(error), "Name the folder of a run: it holds run.json.") from error
    except OSError as error:
        what = f"{folder}: the report cannot be written: {error.strerror or error}"
        raise SuiteError(Exit.CELLS_FAILED, what, "The folder must be yours, and there must be room.") from error


def write_charts(folder: Path, format_: Format) -> list[Path]:
    """Write every chart of a run as a file below ``charts/`` and return their paths; raises as :func:`write`."""
    run = journal.read_run(folder)
    samples, _ = journal.read_samples(folder)
    (folder / CHARTS).mkdir(exist_ok=True)
    paths = []
    with svg.settings():
        for each in drawings(run, samples):
            path = folder / CHARTS / f"{each.name}.{format_}"
            figure = each.draw()
            if format_ == "png":
                path.write_bytes(svg.png(figure))
            else:
                journal.write_atomically(path, svg.standalone(figure))
            paths.append(path)
    return paths
