# SPDX-License-Identifier: Apache-2.0
"""Nothing in docker/ that can change under its name, over the whole tree."""

from __future__ import annotations

import re

import pytest

from suite import stack
from suite.engines import images
from suite.stack import ROOT, STACKS

DOCKERFILES = sorted(STACKS.glob("*/Dockerfile"))
LOCKS = sorted(STACKS.glob("*/*.lock"))


def instructions(path) -> list[str]:
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_base_is_pinned_by_digest(path):
    """Fault: a tag that is moved or deleted: another image under the same name."""
    base = re.findall(r"^ARG BASE_IMAGE=(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(base) == 1 and re.fullmatch(r"[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}", base[0])
    stages = set()
    for line in instructions(path):
        if line.startswith("FROM "):
            source, _, name = line[5:].partition(" AS ")
            assert source == "${BASE_IMAGE}" or source in stages, line
            stages.add(name)


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_no_package_without_hash_and_no_frontend_from_the_network(path):
    """Fault: pip resolves anew at each build; a syntax line pulls an image that nobody pinned."""
    text = path.read_text(encoding="utf-8")
    assert "# syntax" not in text and "curl" not in text and "wget" not in text
    assert not re.search(r"^ADD ", text, re.MULTILINE)
    for line in instructions(path):
        for call in re.findall(r"-m pip install [^&]*", line):
            assert "--require-hashes" in call and re.findall(r"-r (\S+)", call), call
    assert "NVIDIA_VISIBLE_DEVICES=all" in text and "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in text


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_lock_has_hashes_and_names_no_machine(path):
    """Fault: an index or a path of the machine that locked; a package without hash."""
    text = path.read_text(encoding="utf-8")
    assert "--index" not in text and "--find-links" not in text and "file:" not in text and "://" not in text
    for entry in re.split(r"\n(?=[a-zA-Z])", text):
        if re.match(r"[A-Za-z0-9._-]+==", entry):
            assert "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.parametrize("path", sorted(STACKS.glob("*/cuda_archives.py")), ids=lambda path: path.parent.name)
def test_a_download_has_a_checksum(path):
    """Fault: a file that is not the one that was meant, from an address that still answers."""
    text = path.read_text(encoding="utf-8")
    addresses = re.findall(r'"(https?://[^"]+)",\n\s+"([0-9a-f]{64})"', text)
    assert len(addresses) == len(re.findall(r'"https?://', text)) == 2


@pytest.mark.parametrize("name", stack.names())
def test_a_stack_says_what_its_image_pins(name):
    """Fault: a copy of the proof that differs from the one that is tested; an argument that no label tells."""
    chosen = stack.load(name)
    copy = (chosen.folder / "prove_image.py").read_bytes()
    assert copy == (ROOT / "suite" / "prove_image.py").read_bytes(), "nox -s lock writes the copies"
    assert "BASE_IMAGE" in images.arguments(chosen)
    known = {each.pin for each in chosen.definition.evidence}
    assert {"base image", "cuda.ships"} <= known
