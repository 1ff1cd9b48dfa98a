# SPDX-License-Identifier: Apache-2.0
"""The verbs on the machine, its stacks and their images. Each imports what it needs when it runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from suite.cli_words import show
from suite.exits import Exit


@click.command("list")
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


@click.command()
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


_STACK = click.option("--stack", required=True, metavar="STACK", help="A folder of docker/.")
_CONTAINER_ENGINE = click.option(
    "--engine", default=None, metavar="ENGINE", help="docker or podman. Default: the first that answers."
)


@click.command()
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

    building.build(stack, engine, build_args, os.environ, show)
    return Exit.DONE


@click.command("image-save")
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

    building.save(stack, engine, file, os.environ, show)
    return Exit.DONE


@click.command("image-load")
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

    building.load(stack, engine, file, os.environ, show)
    return Exit.DONE


@click.command("check-stack", hidden=True)
@click.argument("name", default="")
def check_stack(name: str) -> Exit:
    """Exit 2 with the nearest name where there is no such stack: nox's own words would not help."""
    from suite import stack as stacks

    stacks.load(name)
    return Exit.DONE
