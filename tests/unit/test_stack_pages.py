# SPDX-License-Identifier: Apache-2.0
"""README's list of stacks and the evidence matrix are what the stack files say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args, get_type_hints

import msgspec
import pytest

from suite import stack, stack_pages
from suite.stack import ROOT, Definition
from suite.stack_pages import PARTS, definitions


@pytest.mark.parametrize(("path", "marker", "make"), PARTS, ids=[part[1] for part in PARTS])
def test_the_pages_are_what_the_stack_files_say(path, marker, make):
    """Fault: a stack, a version or a pin's evidence that changed, and a page that still says the old."""
    page = path.read_text(encoding="utf-8")
    assert page == stack_pages.written(page, marker, make(definitions())), "python -m suite.stack_pages writes it"


def test_the_matrix_tells_every_pin_of_every_stack():
    """Fault: a pin that has no column, and so vanishes."""
    found = definitions()
    lines = stack_pages.evidence(found).splitlines()
    header = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert len(lines[2:]) >= len(found) == len(stack.names())
    for each, line in zip(found, lines[2:], strict=False):
        cells = dict(zip(header, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        assert cells.pop("stack") == f"`{each.name}`"
        told = {stack_pages.pin_of(pin.pin, each): pin.known for pin in each.evidence}
        assert {pin: known for pin, known in cells.items() if known != "-"} == told


def test_a_page_without_its_lines_is_refused():
    """Fault: a page that is overwritten, or silently left as it is."""
    good = "a\n<!-- x: python -m suite.stack_pages -->\nold\n<!-- end of x -->\nb\n"
    made = stack_pages.written(good, "x", "| new |")
    assert made.startswith("a\n<!-- x") and made.endswith("<!-- end of x -->\nb\n")
    assert "| new |" in made and "old" not in made and stack_pages.written(made, "x", "| new |") == made
    for bad in ("", good.replace("end of x", "end"), good.replace("<!-- x:", "<!-- y:")):
        with pytest.raises(ValueError, match="no lines"):
            stack_pages.written(bad, "x", "| new |")


def fields(table: type) -> Iterator[str]:
    """Return the names of all fields of a table and of the tables in it."""
    for name, kind in get_type_hints(table).items():
        yield name
        for each in (kind, *get_args(kind)):
            if isinstance(each, type) and issubclass(each, msgspec.Struct):
                yield from fields(each)


def test_every_field_of_a_stack_file_is_documented():
    """Fault: a field that code reads and docs/stacks.md does not know, or one there that no code reads."""
    page = (ROOT / "docs" / "stacks.md").read_text(encoding="utf-8")
    section = page[page.index("## Fields") : page.index("## What a stack is")]
    known = set(fields(Definition)) - {"cuda", "cudnn"}  # the two of built_with and ships, told in words
    documented = {
        word.strip("[]")
        for line in section.splitlines()
        if line.startswith("| `")
        for word in line.split("`")[1::2]
    }
    assert known - {part for word in documented for part in word.split(".")} == set()
