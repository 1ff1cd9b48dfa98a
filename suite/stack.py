# SPDX-License-Identifier: Apache-2.0
"""A stack's definition, ``docker/<stack>/stack.toml``: its data model and the one place it is read."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from suite.ablation import Ablation, Mechanism, Role
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
Adapter = Literal["tf_session", "tf_function", "jax_jit", "torch_eager", "torch_compile"]
Wheels = Literal["cpu", "cuda"]
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
    ``cuda_mb``: what CUDA's wheels need more, where they have a lock of their own; else 0.
    ``cuda_included``: they are in the plain lock, because the framework cannot be imported without them.
    ``cuda_environment``: variables with which the framework finds them, where it does not look for them itself;
    {packages} stands for the folder that packages are installed in.
    """

    environment_mb: Annotated[int, msgspec.Meta(gt=0)]
    download_mb: Annotated[int, msgspec.Meta(gt=0)]
    sdists: dict[str, list[str]] = {}
    cuda_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    cuda_included: bool = False
    cuda_environment: dict[str, str] = {}


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
    """Compute capabilities that the wheel carries machine code and PTX for.

    ``partly``: those of ``native`` that only a part of the wheel's kernels has; the others come from PTX there.
    """

    native: list[Capability]
    ptx: list[Capability]
    partly: list[Capability] = []


class Realisation(_Table, frozen=True):
    """How this stack realises one target.

    ``jit_cache``: does it use an on-disk JIT cache? ``adapter``: where it is not the stack's own.
    ``environment``: variables that only these workers get, beside the stack's.
    """

    target: Target
    placement: Placement
    device: Annotated[str, msgspec.Meta(pattern=r"^/device:[A-Z_]+:\d+$")]
    jit_cache: bool
    adapter: Adapter | None = None
    environment: dict[str, str] = {}


class CompileLog(_Table, frozen=True):
    """How the framework says on stderr that XLA compiled something.

    ``pattern``: a regular expression whose only group is the time; ``seconds``: what one unit of it is.
    """

    pattern: str
    seconds: Annotated[float, msgspec.Meta(gt=0)]


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
    adapter: Adapter
    framework: Framework
    python: Pythons
    install: Install
    cuda: Cuda
    gpu_code: GpuCode
    placements: Annotated[list[Realisation], msgspec.Meta(min_length=1)]
    environment: dict[str, str] = {}
    compile_log: CompileLog | None = None
    ablations: list[Ablation] = []
    evidence: list[Evidence] = []


class Stack(msgspec.Struct, frozen=True):
    """A definition together with the folder it was read from."""

    definition: Definition
    folder: Path

    @property
    def name(self) -> str:
        return self.definition.name

    def locks(self, minor: str, wheels: Wheels = "cpu") -> list[Path]:
        """Return the paths of the hashed locks for a Python minor, which need not exist.

        CUDA's wheels have a lock of their own, with what the plain one lacks: no package is in both.
        """
        plain = self.folder / f"requirements-py{minor}.lock"
        if wheels == "cpu" or self.definition.install.cuda_included:
            return [plain]
        return [plain, self.folder / f"requirements-cuda-py{minor}.lock"]

    def dockerfile(self) -> Path:
        """Return the path of the stack's Dockerfile, which need not exist."""
        return self.folder / "Dockerfile"

    def has_cuda_wheels(self) -> bool:
        """Tell whether CUDA comes as wheels: in a lock of their own, or in the plain one."""
        return self.definition.install.cuda_mb > 0 or self.definition.install.cuda_included

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


def by_version(definition: Definition) -> tuple[str, tuple[int, ...]]:
    """Return what stacks are sorted by for people: 2.3 comes before 2.10."""
    framework = definition.framework
    return framework.import_name, tuple(int(part) for part in framework.version.split("."))


def load(name: str, stacks: Path = STACKS) -> Stack:
    """Read and check one stack.

    Raises
    ------
    SuiteError
        USAGE where there is no stack of that name (the nearest name is given), NOT_PREPARED where its
        file is malformed: the message names file, field and what was expected.
    """
    path = stacks / name / "stack.toml"
    if name not in names(stacks):
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
        what += _what_may_be(where, what) + _offending_key(raw, where)
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: {where}: {what}", next_step) from error
    problem = _contradiction(definition, path.parent.name)
    if problem:
        raise SuiteError(Exit.NOT_PREPARED, f"{shown}: {problem}", next_step)
    return definition


#: Fields whose values are words of a list: msgspec's message names only what was found.
_CHOICES: dict[str, tuple[object, ...]] = {
    "schema": (1,),
    "adapter": get_args(Adapter),
    "target": TARGETS,
    "placement": get_args(Placement),
    "known": get_args(get_type_hints(Evidence)["known"]),
    "kind": get_args(get_type_hints(Mechanism)["kind"]),
    "role": get_args(Role),
    "prepare": get_args(get_type_hints(Ablation)["prepare"]),
}


def _what_may_be(where: str, what: str) -> str:
    choices = _CHOICES.get(where.rpartition(".")[2])
    if not choices or not what.startswith("Invalid enum value"):
        return ""
    return f", expected one of: {', '.join(str(each) for each in choices)}"


def _offending_key(raw: dict[str, Any], where: str) -> str:
    """Return the key of a table of free keys that msgspec's path shows as [...], where one value is at fault."""
    table, bracket, _ = where.partition("[...]")
    if not bracket:
        return ""
    found: Any = raw
    for part in re.findall(r"[^.\[\]]+", table):
        found = found[int(part)] if isinstance(found, list) else found.get(part, {})
    wanted = list if table.endswith("sdists") else str
    at_fault = [key for key, value in found.items() if not isinstance(value, wanted)] if found else []
    return f" (key {', '.join(at_fault)})" if at_fault else ""


def _contradiction(definition: Definition, folder: str) -> str:
    """Return what a field check alone cannot see, or "" where the definition is sound."""
    if definition.name != folder:
        return f"name: expected {folder!r}, the name of its folder, got {definition.name!r}"
    seen = set()
    for way in definition.placements:
        key = (way.target, way.placement)
        if key in seen:
            return f"placements: expected each target and placement once, got {key} twice"
        seen.add(key)
    problem = _patterns(definition)
    if problem:
        return problem
    if definition.install.cuda_included and definition.install.cuda_mb:
        return "install.cuda_mb: expected 0 where cuda_included is true: CUDA's wheels are in environment_mb"
    strangers = sorted(set(definition.gpu_code.partly) - set(definition.gpu_code.native))
    if strangers:
        return f"gpu_code.partly: expected capabilities that are in native, got {', '.join(strangers)}"
    minors = definition.python.minors()
    if len(set(minors)) != len(minors):
        return f"python.also: expected minors other than default, got {minors}"
    return ""


def _patterns(definition: Definition) -> str:
    """Return which regular expression or name of an ablation is at fault, "" where all are sound."""
    log = definition.compile_log
    if log is not None:
        try:
            groups = re.compile(log.pattern).groups
        except re.error as error:
            return f"compile_log.pattern: expected a regular expression: {error}"
        if groups != 1:
            return f"compile_log.pattern: expected one group, the time, got {groups}"
    for each in definition.ablations:
        try:
            re.compile(each.mechanism.pattern if each.mechanism else "")
        except re.error as error:
            return f"ablations: {each.name}: mechanism.pattern: expected a regular expression: {error}"
    beyond = [each.name for each in definition.ablations if each.over]
    if beyond:
        return f"ablations: {beyond[0]}: over: expected none: explain adds what goes beyond another ablation"
    named = [each.name for each in definition.ablations]
    if len(set(named)) != len(named):
        return f"ablations: expected each name once, got {', '.join(named)}"
    return ""


def _unknown(name: str, known: list[str]) -> SuiteError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    what = f"there is no stack {name!r}" if name else "no stack was named"
    return SuiteError(Exit.USAGE, what, f"{hint}STACK= is one of: {', '.join(known)}")
