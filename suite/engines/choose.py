# SPDX-License-Identifier: Apache-2.0
"""Which engine measures, and why that one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from suite.engines import daemon
from suite.engines.daemon import Daemon
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import Stack

ENGINES = ("docker", "podman", "local")
#: What ENGINE is where nothing is said.
VARIABLE = "COLDWARM_ENGINE"


@dataclass(frozen=True)
class Choice:
    """The engine's name, why it was taken, and what its daemon said (None for local)."""

    name: str
    why: str
    daemon: Daemon | None = None


def choose(
    named: str | None,
    stack: Stack | None,
    environ: Mapping[str, str],
    ask: Callable[[daemon.Name, Mapping[str, str]], Daemon] | None = None,
) -> Choice:
    """Return the engine that measures: the one that is named, else docker, else podman, else local.

    An engine counts where its daemon answers within two seconds.

    Parameters
    ----------
    stack
        Needs a Dockerfile to be measured in a container; None: some stack that has one.
    ask
        Asks a daemon; None asks it now.

    Raises
    ------
    SuiteError
        USAGE for a name that no engine has, NOT_PREPARED for a named one that does not answer.
    """
    by = f"ENGINE={named}"
    if named is None and environ.get(VARIABLE):
        named = environ[VARIABLE]
        by = f"{VARIABLE}={named}"
    if named is not None and named not in ENGINES:
        raise SuiteError(Exit.USAGE, f"{by}: {named!r} is none of {', '.join(ENGINES)}")
    if named == "local":
        return Choice("local", f"asked for by {by}")
    refused = []
    names: tuple[daemon.Name, ...] = ("docker", "podman")
    for name in names:
        if named not in (None, name):
            continue
        if stack is not None and not stack.dockerfile().is_file():
            refused.append(f"{name}: {stack.name} has no Dockerfile")
            continue
        found = (ask or daemon.ask)(name, environ)
        if not found.why:
            why = f"asked for by {by}" if named else "ENGINE was not set, and this one answers"
            return Choice(name, f"{why} ({found.version})", found)
        refused.append(f"{name}: {found.why}")
    if named is not None:
        raise SuiteError(
            Exit.NOT_PREPARED, f"{by}: {'; '.join(refused)}", "ENGINE=local measures without containers."
        )
    return Choice("local", f"ENGINE was not set; {'; '.join(refused)}")
