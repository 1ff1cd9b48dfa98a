# SPDX-License-Identifier: Apache-2.0
"""The command line. Each verb imports what it needs when it runs: ``--help`` and ``list`` stay quick."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from suite import __version__
from suite.errors import SuiteError
from suite.exits import Exit, closing_line, first_that_applies

_WORDS: dict[str, str] = {
    "stack": "The stack to measure: a folder of docker/.",
    "engine": "Where samples run: docker, podman or local. Default: the first that is there.",
    "targets": "CPU, GPU, XLA_CPU, XLA_GPU. Default: all; naming one makes its absence exit 3.",
    "shapes": "Sizes n of the n x n matmul. Default: those of the profile.",
    "samples": "Samples of each kind a cell. Default: those of the profile.",
    "repeats": "Whole processes of the snippet. Default: 1; 5 to publish.",
    "profile": "quick, full or publish. Default: quick.",
    "level": "process (caches kept), jit (new empty caches) or disk (files dropped, too). Default: jit.",
    "placement": "device, jit or all.",
    "dtype": "float32, or bfloat16 where the stack has it (PyTorch).",
    "precision": "default, ieee, tf32 or bf16.",
    "gpu": "Index or UUID of the GPU.",
    "cpus": "CPUs' worth of time that a container may use, such as 0.5. Default: no limit.",
    "cpuset": "CPUs that a container may run on, such as 0 or 0-3. Default: all.",
    "build_args": "Arguments of the Dockerfile, should the image have to be built: A=x B=y.",
    "budget": "Seconds for the whole run. Default: 600 in quick.",
    "timeout": "Seconds for one sample. Default: 300.",
    "resume": "Folder of a run or comparison that ended early: finish what is missing.",
    "out": "Folder for results. Default: results.",
    "python": "The stack's Python: a minor (3.7) or an interpreter's path.",
    "wheels": "cpu or cuda. Default: cuda where an NVIDIA driver is present.",
    "adopt": "1: use the interpreter of --python as it is, with its own packages.",
}

_OF_COMPARE: dict[str, str] = {
    "stacks": "The stacks to measure, interleaved in one run: two or more folders of docker/.",
    "runs": "Folders of stored runs to compare instead of measuring; or one of a comparison.",
    "baseline": "What the others are judged beside. Default: the first named.",
    "margin": "Share within which two times are the SAME: 0.05, 5% or none. Default: 0.05.",
    "allow": "Fields that may differ all the same, such as threads: verdicts are marked.",
    "fail_on": "ambiguous (exit 1 on SLOWER, 6 on AMBIGUOUS), slower, or none. Default: ambiguous.",
}
#: How tables are printed: no word of what is measured.
_OF_VIEW: dict[str, str] = {
    "format": "simple, github, grid, plain, html, latex or csv. Default: simple.",
    "layout": "wide (a table for each question) or long (a row a cell). Default: wide.",
}
_OF_EXPLAIN: dict[str, str] = {
    "ablations": "What to take away, such as second-shape,autotuning-off. Default: all that apply.",
}
_ALL_WORDS = {**_WORDS, **_OF_COMPARE, **_OF_VIEW, **_OF_EXPLAIN}

_Command = Callable[..., Any]


def _with_words(*names: str) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for name in reversed(names):
            command = click.option(
                f"--{name.replace('_', '-')}", default=None, metavar=name.upper(), help=_ALL_WORDS[name]
            )(command)
        return command

    return decorate


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="coldwarm")
def cli() -> None:
    """Why is the first run slow, on which stack, by how much, and is the number real?"""


@cli.command(epilog=click.style("Lists are separated by commas or spaces: --shapes 50,500"))
@_with_words(*(name for name in _WORDS if name != "repeats"), *_OF_VIEW)
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

    view = document.view({name: given.pop(name) for name in _OF_VIEW})
    earlier = resume.read(Path(given["resume"]), given) if given["resume"] else None
    if earlier is not None:
        given = earlier.words(given)
    code, folder = measure.run(words.parse(given), os.environ, _command(), _print, earlier=earlier, view=view)
    measure.leave_report(folder)
    return code


@cli.command()
@_with_words(
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
    code, folder = measure.run(words.parse(given), os.environ, _command(), _print, protocol="reproduce", view=view)
    measure.leave_report(folder)
    return code


@cli.command()
@_with_words(*(name for name in _WORDS if name not in ("repeats", "resume")), "format")
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
    code, folder = test.run(words.parse(given), os.environ, _command(), _print, style=style)
    measure.leave_report(folder)
    return code


@cli.command()
@_with_words(
    *(*_OF_COMPARE, *_OF_VIEW),
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
    code, folder = comparing.run(given, os.environ, _command(), _print)
    measure.leave_report(folder)
    return code


@cli.command()
@_with_words(*(name for name in _WORDS if name not in ("repeats", "resume", "profile", "level")), *_OF_EXPLAIN)
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

    code, folder = explaining.run(given, os.environ, _command(), _print)
    measure.leave_report(folder)
    return code


@cli.command("list")
def list_stacks() -> Exit:
    """List the stacks: versions, Pythons, and what this machine has of each.

    \b
    $ python -m suite list
    stack             version    CUDA/DNN    Python     state        ENGINE=
    ----------------  ---------  ----------  ---------  -----------  ---------
    tf1.14-cuda10     1.14.0     10.0/7.6    3.6 3.7    built        local
    tf1.15-cuda10     1.15.5     10.0/7.6    3.7 3.6    locked only  local
    ...
    """
    from suite import listing

    click.echo(listing.text(os.environ), nl=False)
    return Exit.DONE


@cli.command()
@click.option("--stack", default=None, metavar="STACK", help="Also look at what this stack needs.")
@click.option("--python", default=None, metavar="PYTHON", help="The stack's Python interpreter, by path.")
@click.option("--capability", default=None, metavar="CAPABILITY", help="Of a GPU that is not here, such as 8.6.")
def doctor(stack: str | None, python: str | None, capability: str | None) -> Exit:
    """Say what this machine can measure and, where it cannot, what to do.

    Reads only. Without a stack, all of them are set against this machine's GPU.

    \b
    $ python -m suite doctor --capability 8.6
    ...
    stack            CUDA    driver >=    code on 8.6    measured here by
    ---------------  ------  -----------  -------------  ------------------
    tf1.14-cuda10    10.0    410.48       no trust       local
    tf2.4-cuda11.0   11.0    450.51.06    older minor    local
    ...
    older minor: code of an older GPU of the same major runs, nothing is compiled
    """
    import suite.doctor as examination
    from suite import stack as stacks

    text, blocked = examination.text(stacks.load(stack) if stack else None, os.environ, python, capability)
    click.echo(text, nl=False)
    return Exit.NOT_PREPARED if blocked else Exit.DONE


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", default=None, metavar="OUT", help="Folders with results. Default: results.")
@click.option("--stack", default=None, metavar="STACK", help="Only runs of this stack.")
@click.option("--cell", default="", metavar="CELL", help='The history of a cell: "XLA_CPU jit 500".')
@click.option(
    "--tables", type=click.Choice(["0", "1"]), default="0", help="1: print the tables of every run, too."
)
@_with_words(*_OF_VIEW)
def collect(
    paths: tuple[Path, ...], out: str | None, stack: str | None, cell: str, tables: str, **shown: str | None
) -> Exit:
    """Derive the tables of stored runs again from their raw files, and index whole trees of them.

    PATHS are run folders, or folders with runs below them. Of one run its tables are printed, of a tree its index,
    which is also kept as index.md and index.csv.

    \b
    $ python -m suite collect results/examples
    13 runs
    stack            on      run                      profile         ok
    ---------------  ------  -----------------------  -----------  -----
    tf1.14-cuda10    625700  20261202T141117Z-32b9aa  quick 5        4/8
    ...
    """
    from suite import bounded, document, folders
    from suite import stack as stacks
    from suite.collecting import collect_all

    bounded.expect_many()
    named = [Path(each).expanduser() for each in folders.listed(out or "", "OUT")]
    where = list(paths) or named or [stacks.ROOT / "results"]
    return collect_all(where, stack, _print, cell=cell, tables=tables == "1", view=document.view(shown))


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", default=None, metavar="OUT", help="Folder with results. Default: results.")
@click.option("--stack", default=None, metavar="STACK", help="Only runs of this stack.")
@click.option("--format", "style", default=None, metavar="FORMAT", help="csv or parquet. Default: csv.")
@click.option("--runs", default="", metavar="RUNS", help="Further PATHS, as RUNS= of compare.")
@click.option(
    "--to", default=None, metavar="TO", type=click.Path(path_type=Path), help="Where to. Default: results/export."
)
def export(
    paths: tuple[Path, ...], out: str | None, stack: str | None, style: str | None, runs: str, to: Path | None
) -> Exit:
    """Write stored runs as tidy tables: a row a sample, a row a warm call, a row a pair.

    PATHS are run folders, or folders with runs below them.

    \b
    $ python -m suite export results/examples --to /tmp/tidy
    /tmp/tidy/samples.csv
    /tmp/tidy/calls.csv
    /tmp/tidy/pairs.csv
    """
    from suite import export as exporting
    from suite import folders
    from suite import stack as stacks

    results = Path(out) if out else stacks.ROOT / "results"
    where = [*paths, *(Path(each).expanduser() for each in folders.listed(runs, "RUNS"))]
    code, files = exporting.export(where or [results], to or results / "export", style, stack)
    for path in files:
        click.echo(path)
    return code


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--charts", type=click.Choice(["svg", "png"]), default=None, help="Each chart as a file too, below charts/."
)
def report(folder: Path, charts: Literal["svg", "png"] | None) -> Exit:
    """Make report.html again: tables and charts in one file that needs no network.

    FOLDER is that of a run, of a comparison or of an explanation.

    \b
    $ python -m suite report results/examples/bench-tf2.21-cuda12
    results/examples/bench-tf2.21-cuda12/report.html
    """
    from suite.report import write

    for path in write.on_request(folder, charts):
        click.echo(path)
    return Exit.DONE


_STACK = click.option("--stack", required=True, metavar="STACK", help="A folder of docker/.")
_CONTAINER_ENGINE = click.option(
    "--engine", default=None, metavar="ENGINE", help="docker or podman. Default: the first that answers."
)


@cli.command()
@_STACK
@_CONTAINER_ENGINE
@click.option("--build-args", default=None, metavar="ARGS", help="Arguments of the Dockerfile: A=x B=y.")
def build(stack: str, engine: str | None, build_args: str | None) -> Exit:
    """Build a stack's image from docker/<stack>/Dockerfile and prove what it holds.

    \b
    $ python -m suite build --stack tf1.14-cuda10
    localhost/coldwarm/tf1.14-cuda10:... (base pinned)
    ok          cuda: 10.0.130
    ...
    """
    from suite import building

    building.build(stack, engine, build_args, os.environ, _print)
    return Exit.DONE


@cli.command("image-save")
@_STACK
@_CONTAINER_ENGINE
@click.option(
    "--file", "file", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The archive."
)
def image_save(stack: str, engine: str | None, file: Path) -> Exit:
    """Write a stack's image to an archive, its sha256 beside it: it outlives every registry.

    \b
    $ python -m suite image-save --stack tf1.14-cuda10 --file tf1.14.tar
    """
    from suite import building

    building.save(stack, engine, file, os.environ, _print)
    return Exit.DONE


@cli.command("image-load")
@_STACK
@_CONTAINER_ENGINE
@click.option(
    "--file", "file", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The archive."
)
def image_load(stack: str, engine: str | None, file: Path) -> Exit:
    """Load a stack's image from an archive of image-save; its sum must be right.

    \b
    $ python -m suite image-load --stack tf1.14-cuda10 --file tf1.14.tar
    """
    from suite import building

    building.load(stack, engine, file, os.environ, _print)
    return Exit.DONE


@cli.command("check-stack", hidden=True)
@click.argument("name", default="")
def check_stack(name: str) -> Exit:
    """Exit 2 with the nearest name where there is no such stack: nox's own words would not help."""
    from suite import stack as stacks

    stacks.load(name)
    return Exit.DONE


def _command() -> list[str]:
    return ["python", "-m", "suite", *sys.argv[1:]]


def _print(text: str) -> None:
    click.echo(text, nl=False)


def main(arguments: Sequence[str]) -> int:
    """Run one command; the last line on stderr is always the exit code and its meaning."""
    code = _run(arguments)
    sys.stdout.flush()
    if code is Exit.DONE and list(arguments[:1]) == [check_stack.name]:
        return 0  # a question that make asks on its way: the last line is the verb's that follows
    print(closing_line(code), file=sys.stderr, flush=True)
    return int(code)


def _run(arguments: Sequence[str]) -> Exit:
    try:
        # Without standalone mode click returns what the verb returned, and 0 after --help.
        returned = cli.main(list(arguments), prog_name="python -m suite", standalone_mode=False)
    except SuiteError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return error.exit_code
    except click.UsageError as error:
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        print("coldwarm: interrupted before anything was measured", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone: no fault of the run, and nothing more can be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception:
        traceback.print_exc()
        return Exit.INTERNAL
    return returned if isinstance(returned, Exit) else first_that_applies([])
