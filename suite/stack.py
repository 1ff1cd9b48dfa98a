# SPDX-License-Identifier: Apache-2.0
"""A stack's definition, ``docker/<stack>/stack.toml``: its data model and the one place it is read."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from suite.errors import SuiteError
from suite.exits import Exit

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same parser, before it came into the standard library
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
STACKS = ROOT / "docker"

Target = Literal["CPU", "GPU", "XLA_CPU", "XLA_GPU"]
TARGETS: tuple[Target, ...] = ("CPU", "GPU", "XLA_CPU", "XLA_GPU")
Placement = Literal["device", "jit"]
Minor = Annotated[str, msgspec.Meta(pattern=r"^3\.\d+$")]
Capability = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+a?$")]
Version = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\d+)*$")]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of stack.toml: a field that is not known is refused, not passed over."""


class Framework(_Table, frozen=True):
    """What is measured: the package by its name on the index, and the name it is imported by."""

    package: str
    version: Version
    import_name: str


class Pythons(_Table, frozen=True):
    """The Python minors that this stack has a lock for."""

    default: Minor
    also: list[Minor] = []

    def minors(self) -> list[str]:
        return [self.default, *self.also]


class Install(_Table, frozen=True):
    """How the environment is made. Sizes in MB (10**6 bytes).

    ``sdists``: by Python minor, the only packages that may come as a source archive.
    """

    environment_mb: Annotated[int, msgspec.Meta(gt=0)]
    download_mb: Annotated[int, msgspec.Meta(gt=0)]
    sdists: dict[str, list[str]] = {}


class CudaVersions(_Table, frozen=True):
    """A CUDA toolkit version and the cuDNN beside it."""

    cuda: Version
    cudnn: Version


class Cuda(_Table, frozen=True):
    """CUDA as the wheel was built with it, as the stack ships it, and the oldest driver for it."""

    built_with: CudaVersions
    ships: CudaVersions
    minimum_driver: Version


class GpuCode(_Table, frozen=True):
    """Compute capabilities that the wheel carries machine code and PTX for."""

    native: list[Capability]
    ptx: list[Capability]


class Realisation(_Table, frozen=True):
    """How this stack realises one target. ``jit_cache``: does it use an on-disk JIT cache?"""

    target: Target
    placement: Placement
    device: Annotated[str, msgspec.Meta(pattern=r"^/device:[A-Z_]+:\d+$")]
    jit_cache: bool


class Evidence(_Table, frozen=True):
    """How a pin is known."""

    pin: str
    known: Literal["seen here", "two public sources", "unverified"]
    how: str


class Definition(_Table, frozen=True):
    """The whole of stack.toml, field for field."""

    schema: Literal[1]
    name: str
    title: str
    adapter: Literal["tf_session"]
    framework: Framework
    python: Pythons
    install: Install
    cuda: Cuda
    gpu_code: GpuCode
    placements: Annotated[list[Realisation], msgspec.Meta(min_length=1)]
    environment: dict[str, str] = {}
    evidence: list[Evidence] = []


class Stack(msgspec.Struct, frozen=True):
    """A definition together with the folder it was read from."""

    definition: Definition
    folder: Path

    @property
    def name(self) -> str:
        return self.definition.name

    def lock(self, minor: str) -> Path:
        """Return the path of the hashed lock for a Python minor, which need not exist."""
        return self.folder / f"requirements-py{minor}.lock"

    def realisations(self, target: str) -> list[Realisation]:
        """Return the ways this stack realises ``target``, in the file's order."""
        return [each for each in self.definition.placements if each.target == target]

    def sha256(self) -> str:
        """Return the hash of everything that defines the stack: names and bytes of its files."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                digest.update(path.relative_to(self.folder).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def names(stacks: Path = STACKS) -> list[str]:
    """Return the names of all stacks, sorted."""
    return sorted(path.parent.name for path in stacks.glob("*/stack.toml"))


def load(name: str, stacks: Path = STACKS) -> Stack:
    """Read and check one stack.

    Raises
    ------
    SuiteError
        USAGE where there is no stack of that name (the nearest name is given), NOT_PREPARED where its
        file is malformed: the message names file, field and what was expected.
    """
    path = stacks / name / "stack.toml"
    if not name or Path(name).name != name or not path.is_file():
        raise _unknown(name, names(stacks))
    return Stack(definition=read_definition(path), folder=path.parent)


def read_definition(path: Path) -> Definition:
    """Read one stack.toml; a malformed one raises one error that names file, field and expectation."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    next_step = "docs/stacks.md lists the fields of a stack file."
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: not TOML: {error}", next_step) from error
    except OSError as error:
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: cannot be read: {error.strerror}", next_step) from error
    try:
        definition = msgspec.convert(raw, Definition)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$")
        where = field.rstrip("`").lstrip(".") or "top level"
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: {where}: {what}", next_step) from error
    problem = _contradiction(definition, path.parent.name)
    if problem:
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: {problem}", next_step)
    return definition


def _contradiction(definition: Definition, folder: str) -> str:
    """Return what a field check alone cannot see, or "" where the definition is sound."""
    if definition.name != folder:
        return f"name: expected {folder!r}, the name of its folder, got {definition.name!r}"
    seen = set()
    for each in definition.placements:
        key = (each.target, each.placement)
        if key in seen:
            return f"placements: expected each target and placement once, got {key} twice"
        seen.add(key)
    minors = definition.python.minors()
    if len(set(minors)) != len(minors):
        return f"python.also: expected minors other than default, got {minors}"
    return ""


def _unknown(name: str, known: list[str]) -> SuiteError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    what = f"there is no stack {name!r}" if name else "no stack was named"
    return SuiteError(Exit.USAGE, what, f"{hint}STACK= is one of: {', '.join(known)}")
