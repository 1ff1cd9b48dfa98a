# SPDX-License-Identifier: Apache-2.0
"""What ``list`` says: every stack, its versions, and what this machine has of it. Reads only, no network."""

from __future__ import annotations

import os
from collections.abc import Mapping

from suite import environment, pythons, stack
from suite.errors import SuiteError


def text(environ: Mapping[str, str] = os.environ) -> str:
    """Return the table of stacks, for a terminal of 80 columns."""
    from tabulate import tabulate

    body, broken = [], []
    for name in stack.names():
        try:
            each = stack.load(name)
        except SuiteError as error:
            broken.append(error.what)
            continue
        d = each.definition
        minors = ", ".join(d.python.minors())
        body.append(
            [name, d.framework.version, d.cuda.ships.cuda, d.cuda.ships.cudnn, minors, _here(each, environ)]
        )
    header = ["stack", "framework", "CUDA", "cuDNN", "Python", "local engine"]
    table = tabulate(body, header, tablefmt="simple", disable_numparse=True)
    return "\n".join([table, *(f"broken_stack: {what}" for what in broken)]) + "\n"


def _here(each: stack.Stack, environ: Mapping[str, str]) -> str:
    minor = each.definition.python.default
    if environment.find_made(each, minor, environ=environ, wheels=environment.wheels_for(each)):
        return "environment made"
    try:
        pythons.find(minor, environ)
    except SuiteError:
        return f"no Python {minor} here"
    return "can be made"
