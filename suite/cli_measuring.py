# SPDX-License-Identifier: Apache-2.0
"""The verbs that measure. Each imports what it needs when it runs: ``--help`` and ``list`` stay quick."""

from __future__ import annotations

import os
from pathlib import Path

import click

from suite.cli_words import OF_COMPARE, OF_EXPLAIN, OF_VIEW, WORDS, command_line, show, with_words
from suite.exits import Exit


@click.command(epilog=click.style("Lists are separated by commas or spaces: --shapes 50,500"))
@with_words(*(name for name in WORDS if name != "repeats"), *OF_VIEW)
def bench(**given: str | None) -> Exit:
    """Measure one stack: K fresh processes a cell, cold and warm apart, each number proven.

    \b
    $ python -m suite bench --stack tf1.14-cuda10 --targets XLA_CPU --shapes 50,500
    What a shape pays once, and then
    target    via       n     cold     warm  cold/warm [95 %]    samples
    --------  ------  ---  -------  -------  ------------------  ---------
    XLA_CPU   device   50  74.5 ms   455 us  164 [120, 220]      3/3 ok
    XLA_CPU   device  500  55.9 ms  2.03 ms  27.5 [27, 29]       3/3 ok
    ...
    """
    from suite import document, measure, resume, words

    view = document.view({name: given.pop(name) for name in OF_VIEW})
    earlier = resume.read(Path(given["resume"]), given) if given["resume"] else None
    if earlier is not None:
        given = earlier.words(given)
    code, folder = measure.run(words.parse(given), os.environ, command_line(), show, earlier=earlier, view=view)
    measure.leave_report(folder)
    return code


@click.command()
@with_words(
    *(
        "stack",
        "engine",
        "targets",
        "shapes",
        "repeats",
        "budget",
        "gpu",
        "cpus",
        "cpuset",
        "build_args",
        "out",
        "python",
        "wheels",
        "adopt",
        "format",
    )
)
def reproduce(**given: str | None) -> Exit:
    """Run the snippet of the question as it was, and set its numbers beside the question's.

    \b
    $ python -m suite reproduce --stack tf1.14-cuda10 --shapes 50,500
    Shape: (50, 50) Device: /device:CPU:0
    Time taken: 0:00:00.063115
    ...
    Verdict
    CANNOT BE TESTED HERE: its rule needs XLA_GPU and CPU at 10000 and 15000; ...
    """
    from suite import document, measure, words

    view = document.view({"format": given.pop("format")})
    code, folder = measure.run(
        words.parse(given), os.environ, command_line(), show, protocol="reproduce", view=view
    )
    measure.leave_report(folder)
    return code


@click.command()
@with_words(*(name for name in WORDS if name not in ("repeats", "resume")), "format")
def selftest(**given: str | None) -> Exit:
    """Measure a stack against itself, interleaved: no difference may be found.

    Also says what the clock and the harness cost, and the smallest difference that would be found. SAMPLES is 5
    where it is not given.

    \b
    $ python -m suite selftest --stack tf1.14-cuda10 --targets CPU --shapes 50,500
    ...
    Verdict
    PASSED: no difference in 4 comparisons of the stack with itself
    """
    import suite.selftest as test
    from suite import document, measure, words

    style = document.view({"format": given.pop("format")}).style
    given["samples"] = given["samples"] or str(test.SAMPLES)
    code, folder = test.run(words.parse(given), os.environ, command_line(), show, style=style)
    measure.leave_report(folder)
    return code


@click.command()
@with_words(
    *(*OF_COMPARE, *OF_VIEW),
    *("engine", "targets", "shapes", "samples", "profile", "level", "placement", "dtype", "precision", "gpu"),
    *("cpus", "cpuset", "budget", "timeout", "resume", "out", "wheels"),
)
def compare(**given: str | None) -> Exit:
    """Set stacks side by side: measured interleaved in one run, or from stored runs.

    \b
    $ python -m suite compare --stacks "tf1.14-cuda10 tf2.21-cuda12"
    ...
    tf2.21-cuda12 beside tf1.14-cuda10
    cell          n  time    ratio [95 %]      verdict    reason
    ----------  ---  ------  ----------------  ---------  -----------------
    CPU device   50  cold    3.62 [2.9, 4.5]   SLOWER     significant
    CPU device   50  warm    1.21 [0.71, 2.1]  AMBIGUOUS  interval_too_wide
    ...
    """
    import suite.compare as comparing
    from suite import bounded, measure

    if given["runs"]:
        bounded.expect_many()
    code, folder = comparing.run(given, os.environ, command_line(), show)
    measure.leave_report(folder)
    return code


@click.command()
@with_words(*(name for name in WORDS if name not in ("repeats", "profile", "level")), *OF_EXPLAIN)
def explain(**given: str | None) -> Exit:
    """Say what a cell's first run was spent on, by taking one thing away at a time in fresh processes.

    SAMPLES is 5 blocks, TARGETS is XLA_CPU, SHAPES is 500 and BUDGET is 3600 where they are not given.

    \b
    $ python -m suite explain --stack tf2.21-cuda12 --targets XLA_CPU --shapes 500
    ...
    cause                      cost [95 %]  of the excess
    ------------------  ------------------  ---------------  ----------
    compiling             26.2 [25, 27] ms  71 [67, 75] %    proven
    building            7.48 [7.3, 7.7] ms  20 [20, 21] %    proven
    unattributed        3.18 [1.3, 5.1] ms  9 [4, 13] %
    ...
    """
    from suite import measure
    from suite.explain import run as explaining

    code, folder = explaining.run(given, os.environ, command_line(), show)
    measure.leave_report(folder)
    return code
