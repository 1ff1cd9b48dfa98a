# SPDX-License-Identifier: Apache-2.0
"""One finding of doctor, and findings as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "problem"]
_MARKS: dict[State, str] = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``blocks``: the engine cannot measure like this."""

    subject: str
    state: State
    text: str
    next_step: str = ""
    blocks: bool = False


def render(findings: Sequence[Finding], width: int = 80) -> str:
    """Return the findings as text: each with its state and, where there is one, what to do."""
    lines = []
    for each in findings:
        first = f"{_MARKS[each.state]}  {each.subject}: "
        lines += _wrapped(each.text, width, first, 9)
        if each.next_step:
            lines += _wrapped(each.next_step, width, " " * 9 + "-> ", 12)
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int, first: str, indent: int) -> list[str]:
    """Return lines; commands and paths are copied by people, so they are not broken at hyphens."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
