# SPDX-License-Identifier: Apache-2.0
"""Which engine measures, and why that one."""

from __future__ import annotations

from suite.errors import SuiteError
from suite.exits import Exit

ENGINES = ("docker", "podman", "local")


def choose(named: str | None) -> tuple[str, str]:
    """Return the engine's name and why it was taken.

    Raises
    ------
    SuiteError
        USAGE for a name that no engine has, NOT_PREPARED for one that this version does not have yet.
    """
    if named is None:
        return "local", "ENGINE was not set, and this version has no container engine yet"
    if named not in ENGINES:
        raise SuiteError(Exit.USAGE, f"ENGINE={named}: {named!r} is none of {', '.join(ENGINES)}")
    if named != "local":
        raise SuiteError(
            Exit.NOT_PREPARED,
            f"ENGINE={named}: containers are not in this version",
            "ENGINE=local measures in an environment made on this machine.",
        )
    return "local", "asked for by ENGINE=local"
