# SPDX-License-Identifier: Apache-2.0
"""What a run says on stderr while it goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from suite.records import Sample

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Where stderr is no terminal, a line at most this often.
LINE_EVERY_S = 10.0


def say(text: str) -> None:
    """Print a sentence on stderr, wrapped to 80 columns."""
    # Names of files and hashes stay whole: somebody copies them.
    lines = textwrap.fill(text, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(lines, file=sys.stderr, flush=True)


def say_line(text: str) -> None:
    """Print a line on stderr as it is, however long: a command, which somebody pastes."""
    print(text, file=sys.stderr, flush=True)


def shown(folder: Path) -> str:
    """Return a folder's path as a person at this prompt would type it."""
    try:
        return str(folder.relative_to(Path.cwd()))
    except ValueError:
        return str(folder)


def say_where(folder: Path, interrupted: str = "") -> None:
    """Say where the results of a command are that has ended, by what if it was ended early."""
    what = f"interrupted ({interrupted}): what was measured is in" if interrupted else "results:"
    say(f"{what} {shown(folder)}")


class Progress:
    """The progress of ``total`` samples."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._bar: Bar | None = None
        self._task: Any = None
        self._said = 0.0

    def __enter__(self) -> Progress:
        self._said = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
                # Redrawn when a sample has ended, not on a timer: a thread that draws would run beside the
                # worker that is measured.
                auto_refresh=False,
            )
            self._bar.start()
            self._task = self._bar.add_task("samples", total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def more(self, count: int) -> None:
        """Expect so many samples more."""
        self._total += count
        if self._bar is not None:
            self._bar.update(self._task, total=self._total)

    def done(self, sample: Sample | None) -> None:
        """Count one sample; a failed one is said at once, in its own words. None: it was there already."""
        self._done += 1
        if sample is None:
            return
        if sample.status not in ("ok", "unavailable", "over_budget") and sample.reason:
            self._print(f"{sample.id}: {sample.status}: {sample.reason.text}")
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=sample.cell or sample.kind, refresh=True)
        elif self._done == self._total or time.monotonic() - self._said >= LINE_EVERY_S:
            self._said = time.monotonic()
            self._print(f"{self._done} of {self._total} samples")

    def _print(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            say(text)
