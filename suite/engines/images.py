# SPDX-License-Identifier: Apache-2.0
"""A stack's image: built from its Dockerfile, labelled with the hash of its folder, refused where that differs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite import environment
from suite.engines.advice import About
from suite.engines.daemon import Daemon, about, storage
from suite.engines.errors import known
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import Stack

REPOSITORY = "localhost/coldwarm"
PROOF = "/coldwarm/proof.json"

#: Settings of the machine that builds, not of the stack: a network for builds, pip's settings, CA certificates.
NETWORK_VARIABLE = "COLDWARM_BUILD_NETWORK"
PIP_CONF_VARIABLE = "COLDWARM_PIP_CONF"
PIP_CA_VARIABLE = "COLDWARM_PIP_CA"


@dataclass(frozen=True)
class Image:
    """An image of a stack. ``base`` is "pinned", or "stand-in" where the build replaced what the Dockerfile pins."""

    id: str
    tag: str
    base: str
    labels: dict[str, str]
    size_bytes: int
    proofs: dict[str, Any]

    def identity(self) -> dict[str, Any]:
        """Return what identifies it, for run.json."""
        return {
            "image": self.id,
            "base": self.base,
            "labels": self.labels,
            "image_size_bytes": self.size_bytes,
            "image_proofs": self.proofs,
        }


def tag(stack: Stack) -> str:
    """Return the name of the image that the stack's folder defines as it is now."""
    return f"{REPOSITORY}/{stack.name}:{stack.sha256()[:12]}"


def build_command(
    client: str, stack: Stack, replaced: Mapping[str, str], environ: Mapping[str, str], *, docker: bool
) -> list[str]:
    """Return the argument list that builds a stack's image; ``replaced`` are build arguments. A pure function."""
    argv = [client, "build", "--tag", tag(stack)]
    if docker:
        argv.append("--progress=plain")
    network = environ.get(NETWORK_VARIABLE)
    if network:
        argv.append(f"--network={network}")
    for name, variable in (("pip_conf", PIP_CONF_VARIABLE), ("pip_ca", PIP_CA_VARIABLE)):
        if environ.get(variable):
            argv += ["--secret", f"id={name},src={environ[variable]}"]
    for name, value in sorted({**replaced, "DEFINITION": stack.sha256()}.items()):
        argv += ["--build-arg", f"{name}={value}"]
    return [*argv, str(stack.folder)]


def size_mb(stack: Stack, replaced: Mapping[str, str]) -> int:
    """Return what the stack's packages take in its image, in MB (10**6 bytes), CUDA's wheels among them.

    An image has them on every machine, unless its build was told to leave them out. What is more is its base, its
    system packages, and CUDA where that comes as archives.
    """
    return environment.size_mb(stack, "cpu" if replaced.get("CUDA_WHEELS") == "none" else "cuda")


def _little_room(daemon: Daemon, needed_mb: int, environ: Mapping[str, str]) -> str:
    """Return a warning where less is free than the packages take: no error, for layers may be there already."""
    folder = storage(daemon, environ)
    if folder is None:
        return ""
    try:
        free_mb = shutil.disk_usage(folder).free // 10**6
    except OSError:  # a folder that only its daemon may look into
        return ""
    return f"; only {free_mb} MB are free in {folder}" if free_mb < needed_mb else ""


def build(
    daemon: Daemon,
    stack: Stack,
    replaced: Mapping[str, str],
    environ: Mapping[str, str],
    report: Callable[[str], None],
) -> Image:
    """Build the stack's image with what the engine's cache already has of it.

    Raises
    ------
    SuiteError
        USAGE for an argument that the Dockerfile does not declare; NOT_PREPARED where the build fails, with its
        last words, what they mean where that is known, and what to do.
    """
    for name in replaced:
        if name not in arguments(stack):
            what = f"BUILD_ARGS: {stack.name}'s Dockerfile declares no {name}"
            raise SuiteError(Exit.USAGE, what, f"It declares {', '.join(sorted(arguments(stack)))}.")
    argv = build_command(daemon.client, stack, replaced, environ, docker=daemon.name == "docker")
    for name, value in sorted(replaced.items()):
        report(f"replaced: {name}={value or '(nothing)'} instead of {arguments(stack)[name]}")
    report(
        f"building the image of {stack.name} with {daemon.name} ({size_mb(stack, replaced)} MB and more, once)"
        + _little_room(daemon, size_mb(stack, replaced), environ)
    )
    done = subprocess.run(
        argv,
        env={**environ, "DOCKER_BUILDKIT": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        words = "\n".join(done.stdout.strip().splitlines()[-25:])
        meaning, step = explain(done.stdout, about(daemon))
        what = f"{stack.name}: its image cannot be built: {meaning}"
        # A command at the end of a step is not to run on into the next sentence.
        ending = "" if step[-1:] in ("", ".") else ";"
        step = f"{step}{ending} ENGINE=local measures without an image.".strip()
        raise SuiteError(Exit.NOT_PREPARED, what, step, words)
    image = find(daemon, stack, environ)
    if image is None:
        raise SuiteError(Exit.NOT_PREPARED, f"{tag(stack)}: built, and then not found", "Run it again.")
    return image


#: What our own Dockerfiles and pip say, what it means and what to do; what engines and registries say is in
#: suite.engines.errors.
_MEANINGS = (
    (
        r"has the wrong checksum: (.*)",
        "an archive has the wrong checksum ({0}): see where it comes from",
        "A proxy that answers with a page of its own, or a damaged copy: fetch it again, or name another source.",
    ),
    (
        r"cuda_archives: (\S+ cannot be fetched: .*)",
        "{0}",
        "See network and proxy of the build (COLDWARM_BUILD_NETWORK=, COLDWARM_PIP_CA=); or bring the image: "
        "make image-load FILE=",
    ),
    (
        r"THESE PACKAGES DO NOT MATCH THE HASHES",
        "a package is not the one that the lock names",
        "The index or mirror serves another file under that name: take another one (COLDWARM_PIP_CONF=).",
    ),
    (
        r"failed  *(\S+): (is .*|cannot be imported.*|no library.*|is not in.*|was to be left out.*)",
        "{0} {1}",
        "What was installed is not what stack.toml says: one of the two must change.",
    ),
)


def explain(words: str, engine: About) -> tuple[str, str]:
    """Return what a failed build means, in a few words, and what to do.

    "see its words above" where nothing known was said.
    """
    for pattern, meaning, step in _MEANINGS:
        match = re.search(pattern, words, re.IGNORECASE)
        if match:
            return meaning.format(*(group.strip()[:300] for group in match.groups() or ("",))), step
    found = known(1, words, engine, "build")
    return (found.text, found.next_step) if found else ("see its words above", "")


def find(daemon: Daemon, stack: Stack, environ: Mapping[str, str], *, proofs: bool = True) -> Image | None:
    """Return the stack's image, or None where there is none; without ``proofs``, for which a container is run.

    Raises
    ------
    SuiteError
        NOT_PREPARED where the image of that name bears the hash of another definition.
    """
    found = _inspect(daemon, tag(stack), environ)
    if found is None:
        return None
    labels = {
        name: value
        for name, value in (found["Config"].get("Labels") or {}).items()
        if name.startswith("coldwarm.")
    }
    if labels.get("coldwarm.definition") != stack.sha256():
        what = f"{tag(stack)} was built from another definition of {stack.name}"
        raise SuiteError(Exit.NOT_PREPARED, what, f"make build STACK={stack.name} builds this one.")
    return Image(
        id=found["Id"] if str(found["Id"]).startswith("sha256:") else f"sha256:{found['Id']}",
        tag=tag(stack),
        base="pinned" if as_pinned(stack, labels) else "stand-in",
        labels=labels,
        size_bytes=int(found.get("Size", 0)),
        proofs=_proofs(daemon, tag(stack), environ) if proofs else {},
    )


def others(daemon: Daemon, stack: Stack, environ: Mapping[str, str]) -> list[str]:
    """Return the names of images of this stack that other definitions made."""
    done = _run(daemon, ["images", f"{REPOSITORY}/{stack.name}", "--format", "{{.Repository}}:{{.Tag}}"], environ)
    return sorted(name for name in done.stdout.split() if name != tag(stack))


def arguments(stack: Stack) -> dict[str, str]:
    """Return the build arguments that the Dockerfile declares, with their defaults."""
    text = (stack.folder / "Dockerfile").read_text(encoding="utf-8")
    found = re.findall(r'^ARG (\w+)=(?:"([^"]*)"|(\S*))$', text, re.MULTILINE)
    return {name: quoted or plain for name, quoted, plain in found if name != "DEFINITION"}


def save(daemon: Daemon, stack: Stack, to: Path, environ: Mapping[str, str]) -> str:
    """Write the image to an archive, and its sha256 beside it; return the sum."""
    if find(daemon, stack, environ) is None:
        what = f"{stack.name}: {daemon.name} has no image of it"
        raise SuiteError(Exit.NOT_PREPARED, what, f"make build STACK={stack.name}")
    done = _run(daemon, ["save", "--output", str(to), tag(stack)], environ, timeout_s=None)
    if done.returncode != 0:
        found = known(done.returncode, done.stderr, about(daemon), "ask")
        step = found.next_step if found else "Name another file: FILE="
        raise SuiteError(Exit.NOT_PREPARED, f"{to}: {done.stderr.strip()}", step)
    digest = _sha256(to)
    to.with_name(to.name + ".sha256").write_text(f"{digest}  {to.name}\n", encoding="utf-8")
    return digest


def load(daemon: Daemon, stack: Stack, archive: Path, environ: Mapping[str, str]) -> Image:
    """Load an image from an archive that :func:`save` wrote; its sum must be the one beside it."""
    beside = archive.with_name(archive.name + ".sha256")
    try:
        wanted = beside.read_text(encoding="utf-8").split()[0]
        digest = _sha256(archive)
    except (OSError, IndexError) as error:
        what = f"{archive}: the archive or its {beside.name} cannot be read: {error}"
        raise SuiteError(Exit.USAGE, what, "make image-save writes both.") from error
    if digest != wanted:
        what = f"{archive}: sha256 is {digest}, {beside.name} says {wanted}"
        raise SuiteError(Exit.NOT_PREPARED, what, "The archive is damaged or another one.")
    done = _run(daemon, ["load", "--input", str(archive)], environ, timeout_s=None)
    if done.returncode != 0:
        found = known(done.returncode, done.stderr, about(daemon), "ask")
        raise SuiteError(Exit.NOT_PREPARED, f"{archive}: {done.stderr.strip()}", found.next_step if found else "")
    image = find(daemon, stack, environ)
    if image is None:
        what = f"{archive}: holds no image of {stack.name} as this checkout defines it"
        raise SuiteError(Exit.NOT_PREPARED, what, f"make build STACK={stack.name}")
    return image


def as_pinned(stack: Stack, labels: Mapping[str, str]) -> bool:
    """Tell whether no argument of the build was replaced."""
    named = {
        "BASE_IMAGE": "base",
        "SYSTEM_PACKAGES": "system-packages",
        "CUDA_ARCHIVES": "cuda",
        "CUDA_WHEELS": "cuda",
    }
    return all(labels.get(f"coldwarm.{named[name]}") == value for name, value in arguments(stack).items())


def _inspect(daemon: Daemon, name: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    done = _run(daemon, ["image", "inspect", name], environ)
    if done.returncode != 0:
        # "No such image" is no failure; a daemon that has gone meanwhile must not look like a missing image.
        failure = known(done.returncode, done.stderr, about(daemon), "ask")
        if failure is not None:
            what = f"{daemon.name}: {failure.text}"
            raise SuiteError(Exit.NOT_PREPARED, what, failure.next_step, done.stderr)
        return None
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found[0] if found else None


def _proofs(daemon: Daemon, name: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the build proved, read from the image itself."""
    argv = ["run", "--rm", "--network=none", "--pull=never", "--entrypoint=/bin/cat", name, PROOF]
    done = _run(daemon, argv, environ, timeout_s=60)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        return {}


def _run(
    daemon: Daemon, arguments_: Sequence[str], environ: Mapping[str, str], timeout_s: float | None = 30
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [daemon.client, *arguments_],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
