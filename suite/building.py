# SPDX-License-Identifier: Apache-2.0
"""``build``, ``image-save`` and ``image-load``: a stack's image made, kept and brought back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from suite import progress, stack
from suite.engines import images
from suite.engines.choose import choose
from suite.engines.daemon import Daemon
from suite.engines.images import Image
from suite.errors import SuiteError
from suite.exits import Exit
from suite.words import build_arguments

Report = Callable[[str], None]


def build(
    name: str, engine: str | None, build_args: str | None, environ: Mapping[str, str], report: Report
) -> Image:
    """Build one stack's image and report what it is and what was proven of it."""
    chosen = stack.load(name)
    image = images.build(
        _daemon(chosen, engine, environ), chosen, build_arguments(build_args), environ, progress.say
    )
    _tell(image, report)
    return image


def save(name: str, engine: str | None, file: Path, environ: Mapping[str, str], report: Report) -> None:
    """Write one stack's image to an archive and report its sum."""
    chosen = stack.load(name)
    digest = images.save(_daemon(chosen, engine, environ), chosen, file.absolute(), environ)
    report(f"{file}: {file.stat().st_size // 10**6} MB, sha256 {digest}\n")


def load(name: str, engine: str | None, file: Path, environ: Mapping[str, str], report: Report) -> None:
    """Load one stack's image from an archive and report what it is."""
    chosen = stack.load(name)
    _tell(images.load(_daemon(chosen, engine, environ), chosen, file.absolute(), environ), report)


def _daemon(chosen: stack.Stack, engine: str | None, environ: Mapping[str, str]) -> Daemon:
    found = choose(engine, chosen, environ)
    if found.daemon is None:
        raise SuiteError(Exit.NOT_PREPARED, f"no container engine: {found.why}", "ENGINE=local needs no image.")
    return found.daemon


def _tell(image: Image, report: Report) -> None:
    lines = [f"{image.tag} (base {image.base}), {image.size_bytes // 10**6} MB, {image.id}"]
    lines += [f"{state:<10}  {name}: {text}" for name, (state, text) in sorted(image.proofs.items())]
    report("\n".join(lines) + "\n")
