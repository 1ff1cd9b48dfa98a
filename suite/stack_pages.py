# SPDX-License-Identifier: Apache-2.0
"""The parts of README and docs/stacks.md that are made from the stack files: the list of stacks, the evidence matrix.

    python -m suite.stack_pages

writes them again between their markers; a test holds them equal to the files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from suite import stack
from suite.stack import ROOT, STACKS, Definition

#: Everything whose evidence a stack tells, in the matrix's order; ``framework`` stands for its package and version.
PINS = ("framework", "gpu_code", "cuda.built_with", "cuda.ships", "cuda.minimum_driver", "base image")
#: Pins that only some stacks have.
FURTHER_PINS = ("system packages",)
NAMES = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}


def definitions(stacks: Path = STACKS) -> list[Definition]:
    """Return every stack's definition, by framework and version."""
    return sorted((stack.load(name, stacks).definition for name in stack.names(stacks)), key=stack.by_version)


def pin_of(pin: str, definition: Definition) -> str:
    """Return a pin's name in the matrix: ``framework`` for ``tensorflow==2.21.0``."""
    framework = definition.framework
    return "framework" if pin == f"{framework.package}=={framework.version}" else pin


def list_of_stacks(found: Sequence[Definition]) -> str:
    """Return README's table: a row a stack."""
    body = []
    for each in found:
        framework, ships = each.framework, each.cuda.ships
        name = NAMES.get(framework.import_name, framework.import_name)
        ways = sorted({where.placement for where in each.placements}, key=["jit", "device"].index)
        body.append(
            [
                f"`{each.name}`",
                f"{name} {framework.version}",
                *(ships.cuda, ships.cudnn),
                ", ".join(each.python.minors()),
                " and ".join(f"`{way}`" for way in ways),
            ]
        )
    return _table(body, ["stack", "framework", "CUDA", "cuDNN", "Pythons", "placements"])


def evidence(found: Sequence[Definition]) -> str:
    """Return the evidence matrix, and under it what is known of each unverified pin."""
    pins = [*PINS, *(pin for pin in FURTHER_PINS if any(pin in _known(each) for each in found))]
    body = [[f"`{each.name}`", *(_known(each).get(pin, "-") for pin in pins)] for each in found]
    by_how: dict[tuple[str, str], list[str]] = {}
    for each in found:
        for told in each.evidence:
            if told.known == "unverified":
                by_how.setdefault((pin_of(told.pin, each), told.how), []).append(f"`{each.name}`")
    lines = [f"- unverified {pin} of {', '.join(names)}: {how}" for (pin, how), names in by_how.items()]
    return "\n".join([_table(body, ["stack", *pins]), "", *lines]) if lines else _table(body, ["stack", *pins])


def _known(definition: Definition) -> dict[str, str]:
    return {pin_of(each.pin, definition): each.known for each in definition.evidence}


def _table(body: Sequence[Sequence[str]], header: list[str]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("".join(["|", *(f" {cell} |" for cell in line)]).replace(" --- ", "---") for line in lines)


#: Each generated part: its page, its marker, and what makes it.
PARTS: tuple[tuple[Path, str, Callable[[Sequence[Definition]], str]], ...] = (
    (ROOT / "README.md", "stacks", list_of_stacks),
    (ROOT / "docs" / "stacks.md", "evidence", evidence),
)


def written(page: str, marker: str, made: str) -> str:
    """Return a page with what stands between a marker's lines replaced.

    Raises
    ------
    ValueError
        where the page has no such marker.
    """
    begin, end = f"<!-- {marker}: python -m suite.stack_pages -->\n", f"<!-- end of {marker} -->"
    before, opened, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (opened and closed):
        raise ValueError(f"the page has no lines {begin.strip()} and {end}")
    return f"{before}{begin}\n{made}\n\n{end}{after}"


def main() -> int:
    """Write every part again."""
    found = definitions()
    for path, marker, make in PARTS:
        page = path.read_text(encoding="utf-8")
        path.write_text(written(page, marker, make(found)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
