# SPDX-License-Identifier: Apache-2.0
"""The verbs on what is stored. Each imports what it needs when it runs: ``--help`` and ``list`` stay quick."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from suite.cli_words import OF_VIEW, show, with_words
from suite.exits import Exit


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", default=None, metavar="OUT", help="Folders with results. Default: results.")
@click.option("--stack", default=None, metavar="STACK", help="Only runs of this stack.")
@click.option("--cell", default="", metavar="CELL", help='The history of a cell: "XLA_CPU jit 500".')
@click.option(
    "--tables", type=click.Choice(["0", "1"]), default="0", help="1: print the tables of every run, too."
)
@with_words(*OF_VIEW)
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
    return collect_all(where, stack, show, cell=cell, tables=tables == "1", view=document.view(shown))


@click.command()
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


@click.command()
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
