# SPDX-License-Identifier: Apache-2.0
"""What must agree in a stack's folder: versions, checksums and digests in all the files that name them.

Each check takes a stack and returns what is wrong, a sentence each. They know no stack by name: one that is added is
checked by them as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from suite.stack import ROOT, Stack

ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
ARCHIVE = re.compile(r'"(https?://[^"]+)",\n\s+"([0-9a-f]{64})"')
BASE = re.compile(r"^ARG BASE_IMAGE=(\S+)$", re.MULTILINE)
#: The only option that a lock holds: an index or a path would be one of a machine.
OPTIONS = {"--hash=sha256"}


def problems(stack: Stack) -> list[str]:
    """Return everything that does not agree in a stack's folder."""
    found: list[str] = []
    for check in (_asked, _locked, _lock_files, _satisfied, _sdists, _cuda_wheels, _archives, _image, _evidence):
        found += check(stack)
    return found


def text_of(path: Path) -> str:
    """Return a file's text, "" where there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def locks(stack: Stack) -> dict[str, list[Path]]:
    """Return the locks that an installation is made from, by Python minor."""
    wheels = "cuda" if stack.has_cuda_wheels() else "cpu"
    return {minor: stack.locks(minor, wheels) for minor in stack.definition.python.minors()}


def pins(paths: list[Path]) -> dict[str, str]:
    """Return name and version of each package of some locks."""
    return {canonicalize_name(name): version for path in paths for name, version in ENTRY.findall(text_of(path))}


def requirements(path: Path) -> list[Requirement]:
    """Return what a ``.in`` file asks for."""
    lines = (line.partition("#")[0].strip() for line in text_of(path).splitlines())
    return [Requirement(line) for line in lines if line]


def base_image(stack: Stack) -> tuple[str, str]:
    """Return tag and digest of the base that a Dockerfile pins."""
    found = BASE.findall(text_of(stack.dockerfile()))
    tag, _, digest = (found[0] if len(found) == 1 else "").partition("@")
    return tag, digest


def archives(stack: Stack) -> dict[str, str]:
    """Return the sum of each archive that the image's CUDA comes from, by address."""
    return dict(ARCHIVE.findall(text_of(stack.folder / "cuda_archives.py")))


def _asked(stack: Stack) -> Iterator[str]:
    framework = stack.definition.framework
    wanted = f"{framework.package}=={framework.version}"
    for path in sorted(stack.folder.glob("requirements*.in")):
        asked = {canonicalize_name(each.name): str(each.specifier) for each in requirements(path)}
        if path.name != "requirements-pip.in" and asked.get(framework.package) != f"=={framework.version}":
            yield f"{path.name} does not ask for {wanted}"


def _locked(stack: Stack) -> Iterator[str]:
    framework = stack.definition.framework
    for minor, paths in locks(stack).items():
        seen: set[str] = set()
        for path in paths:
            if twice := seen & set(pins([path])):
                yield f"Python {minor}: {sorted(twice)} in two locks"
            seen |= set(pins([path]))
        if pins(paths[:1]).get(framework.package) != framework.version:
            yield f"{paths[0].name} does not hold {framework.package}=={framework.version}"


def _lock_files(stack: Stack) -> Iterator[str]:
    known = {path for paths in locks(stack).values() for path in paths} | {stack.folder / "requirements-pip.lock"}
    for path in sorted(stack.folder.glob("*.lock")):
        text = text_of(path)
        if path not in known:
            yield f"{path.name}: no Python of stack.toml uses it"
        if "#    nox -s lock\n" not in text:
            yield f"{path.name}: does not say what made it"
        said = re.sub(r"#.*", "", text)
        if strangers := set(re.findall(r"(?<!\S)(--?[a-zA-Z][\w-]*(?:=sha256)?)", said)) - OPTIONS:
            yield f"{path.name}: options {sorted(strangers)}"
        if "://" in text or "file:" in text or " @ " in text:
            yield f"{path.name}: an address"
        for entry in re.split(r"\n(?=[a-zA-Z])", text):
            if ENTRY.match(entry) and not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry):
                yield f"{path.name}: {entry.splitlines()[0]} has no hash"


def _satisfied(stack: Stack) -> Iterator[str]:
    for minor, paths in locks(stack).items():
        files = [(stack.folder / "requirements.in", pins(paths[:1]))]
        if stack.definition.install.cuda_mb:
            files.append((stack.folder / "requirements-cuda.in", pins(paths)))
        if (stack.folder / "requirements-pip.in").is_file():
            lock = stack.folder / "requirements-pip.lock"
            files.append((stack.folder / "requirements-pip.in", pins([lock])))
        for path, locked in files:
            asked = requirements(path)
            if not asked:
                yield f"{path.name} asks for nothing"
            for each in asked:
                version = locked.get(canonicalize_name(each.name))
                if version is None or not each.specifier.contains(version, prereleases=True):
                    yield f"Python {minor}: {path.name} asks for {each}, the lock holds {version}"


def _sdists(stack: Stack) -> Iterator[str]:
    named = stack.definition.install.sdists
    for minor, paths in locks(stack).items():
        locked = pins(paths)
        wanted = named.get(minor, [])
        missing = {canonicalize_name(name) for name in wanted} - set(locked)
        tools = {"setuptools", "wheel"} - set(locked) if wanted else set()
        if missing or tools:
            yield f"Python {minor}: sdists or their build tools are not locked: {sorted(missing | tools)}"
    default = sorted(named.get(stack.definition.python.default, []))
    found = re.findall(r"--no-binary (\S+)", text_of(stack.dockerfile()))
    if stack.dockerfile().is_file() and [sorted(each.split(",")) for each in found] != (
        [default] if default else []
    ):
        yield f"Dockerfile builds {found} from source, stack.toml names {default}"


def _cuda_wheels(stack: Stack) -> Iterator[str]:
    there = (stack.folder / "requirements-cuda.in").is_file()
    if there != (stack.definition.install.cuda_mb > 0):
        yield "requirements-cuda.in and install.cuda_mb do not agree on whether CUDA comes as wheels"
    ships = stack.definition.cuda.ships
    for minor, paths in locks(stack).items() if stack.has_cuda_wheels() else ():
        locked = pins(paths)
        for package, version in (("nvidia-cuda-runtime", ships.cuda), ("nvidia-cudnn", ships.cudnn)):
            got = {found for name, found in locked.items() if re.fullmatch(rf"{package}(-cu\d+)?", name)}
            if got != {version}:
                yield f"Python {minor}: cuda.ships has {package} {version}, the lock {sorted(got)}"


def _archives(stack: Stack) -> Iterator[str]:
    path = stack.folder / "cuda_archives.py"
    if path.is_file() == stack.has_cuda_wheels():
        yield "CUDA comes neither as archives nor as wheels, or as both"
    if not path.is_file():
        return
    cuda, ships = ".".join(stack.definition.cuda.ships.cuda.split(".")[:2]), stack.definition.cuda.ships
    text = text_of(path)
    if len(archives(stack)) != 2 or text.count('"http') != 2:
        yield "cuda_archives.py: expected two addresses, each with its sha256"
    addresses = " ".join(archives(stack))
    toolkit = re.search(r"/cuda_(\d+\.\d+)\.\d+_(\d[\d.]+\d)_linux", addresses)
    cudnn = re.search(r"/cudnn-(\d+\.\d+)-linux-x64-v([\d.]+)\.tgz", addresses)
    if not toolkit or toolkit[1] != cuda:
        yield f"cuda_archives.py fetches another toolkit than CUDA {cuda}"
    elif Version(toolkit[2]) < Version(stack.definition.cuda.minimum_driver):
        yield f"cuda.minimum_driver is newer than the driver {toolkit[2]} that the toolkit came with"
    if not cudnn or cudnn.groups() != (cuda, ships.cudnn):
        yield f"cuda_archives.py fetches another cuDNN than {ships.cudnn} for CUDA {cuda}"
    short = ".".join(ships.cudnn.split(".")[:2])
    if f'"""Fetch CUDA {cuda} and cuDNN {short} by checksum' not in text:
        yield "cuda_archives.py says that it fetches something else"
    if f"/usr/local/cuda-{cuda}\n" not in text_of(stack.dockerfile()):
        yield f"Dockerfile does not put CUDA at /usr/local/cuda-{cuda}"


def _image(stack: Stack) -> Iterator[str]:
    text = text_of(stack.dockerfile())
    if not text:
        return
    tag, digest = base_image(stack)
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        yield "Dockerfile: the base image has no digest"
    minor = stack.definition.python.default
    if tag.startswith("python:") and not re.match(rf"python:{re.escape(minor)}[.-]", tag):
        yield f"Dockerfile: base {tag} is not for Python {minor}"
    if others := set(re.findall(r"\bpython(3\.\d+)", text)) - {minor}:
        yield f"Dockerfile: Python {sorted(others)} beside {minor}"
    wanted = {path.name for path in locks(stack)[minor]}
    installed = set(re.findall(r"-r /build/(requirements-(?:cuda-)?py\S+?\.lock)", text))
    if installed != wanted or set(re.findall(r"(requirements-(?:cuda-)?py\S+?\.lock)", text)) != wanted:
        yield f"Dockerfile: installs {sorted(installed)} or copies others"
    if re.findall(r'LABEL coldwarm\.stack="([^"]*)"', text) != [stack.name]:
        yield "Dockerfile: the label coldwarm.stack is another stack's"
    if others := set(re.findall(r"(?:docker/|STACK=)([\w.-]+)", text)) - {stack.name}:
        yield f"Dockerfile: names {sorted(others)}"
    if (stack.folder / "prove_image.py").read_bytes() != (ROOT / "suite" / "prove_image.py").read_bytes():
        yield "prove_image.py is not suite/prove_image.py: nox -s lock writes the copies"
    how = "".join(each.how for each in stack.definition.evidence if each.pin == "base image")
    if tag not in how:
        yield f"the evidence of the base image is not about {tag}"


def _evidence(stack: Stack) -> Iterator[str]:
    framework = stack.definition.framework
    wanted = {f"{framework.package}=={framework.version}", "gpu_code"}
    wanted |= {"cuda.built_with", "cuda.ships", "cuda.minimum_driver"}
    if stack.dockerfile().is_file():
        wanted.add("base image")
    if "SYSTEM_PACKAGES" in text_of(stack.dockerfile()):
        wanted.add("system packages")
    told = [each.pin for each in stack.definition.evidence]
    if sorted(told) != sorted(wanted):
        yield f"evidence: missing, unknown or twice: {sorted(set(told) ^ wanted) or told}"
