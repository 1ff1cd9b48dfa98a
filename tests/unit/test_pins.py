# SPDX-License-Identifier: Apache-2.0
"""Nothing in docker/ that can change under its name or that two files tell differently, over the whole tree."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suite import stack
from suite.engines import images
from suite.stack import STACKS, Stack
from tests import pins

DOCKERFILES = sorted(STACKS.glob("*/Dockerfile"))
#: Frameworks by their names in a stack's.
SHORT = {"tf": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
LOCKS = sorted(STACKS.glob("*/*.lock"))


def instructions(path: Path) -> list[str]:
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


@pytest.mark.parametrize("name", stack.names())
def test_a_stack_says_what_its_image_pins(name):
    """Fault: an argument of the build that no label tells."""
    assert "BASE_IMAGE" in images.arguments(stack.load(name))


@pytest.mark.parametrize("name", stack.names())
def test_all_that_defines_a_stack_agrees(name):
    """Fault: stack.toml, locks, Dockerfile, archives or evidence tell of different versions."""
    assert pins.problems(stack.load(name)) == []


def test_each_folder_is_a_stack_named_after_what_it_holds():
    """Fault: a folder that no glob finds, and so no test of this page sees."""
    folders = sorted(path.name for path in STACKS.iterdir() if path.is_dir())
    assert stack.names() == sorted(path.parent.name for path in DOCKERFILES) == folders
    for name in stack.names():
        definition = stack.load(name).definition
        short, framework, cuda = re.fullmatch(r"([a-z]+)(\d+\.\d+)-cuda([\d.]+)", name).groups()  # type: ignore[union-attr]
        assert f"{definition.framework.version}.".startswith(f"{framework}.")
        assert f"{definition.cuda.built_with.cuda}.".startswith(f"{cuda}.")
        assert f"{SHORT[short]} {framework} on CUDA {cuda}" in definition.title


def test_what_stacks_share_is_the_same_in_each():
    """Fault: one tag with two digests, or one address with two sums: one of them is wrong."""
    digests: dict[str, str] = {}
    sums: dict[str, str] = {}
    for each in map(stack.load, stack.names()):
        tag, digest = pins.base_image(each)
        assert digests.setdefault(tag, digest) == digest, tag
        for address, sum_ in pins.archives(each).items():
            assert sums.setdefault(address, sum_) == sum_, address
    assert len(set(digests.values())) == len(digests) and len(set(sums.values())) == len(sums)


OLD, NEW = "tf1.14-cuda10", "tf2.21-cuda12"


def _change(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old}"
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    return change


def _append(file: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / file).open("a", encoding="utf-8") as opened:
            opened.write(text)

    return change


def _no_hash(folder: Path) -> None:
    lock = folder / "requirements-py3.6.lock"
    lock.write_text(re.sub(r"(absl-py==\S+) (\\\n    --hash=\S+ ?)+", r"\1", lock.read_text()), encoding="utf-8")


LOCK, CUDA_LOCK = "requirements-py3.12.lock", "requirements-cuda-py3.12.lock"
FAULTS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "asked": (OLD, _change("requirements.in", "gpu==1.14.0", "gpu==1.13.1"), "requirements.in does not ask for"),
    "defined": (
        NEW,
        _change("stack.toml", 'version = "2.21.0"', 'version = "2.20.0"'),
        "does not hold tensorflow",
    ),
    "locked": (NEW, _change(LOCK, "tensorflow==2.21.0", "tensorflow==2.20.0"), "does not hold tensorflow"),
    "unsatisfied": (OLD, _append("requirements.in", "six>=99\n"), "asks for six>=99"),
    "a lock left": (NEW, _change("stack.toml", 'default = "3.12"', 'default = "3.11"'), "no Python of stack.toml"),
    "in both": (NEW, _append(CUDA_LOCK, "numpy==1.0 --hash=sha256:" + "0" * 64), "in two locks"),
    "no hash": (OLD, _no_hash, "has no hash"),
    "an index": (NEW, _append(LOCK, "--index-url somewhere\n"), "options ['--index-url']"),
    "a short option": (NEW, _append(LOCK, "-f wheels\n"), "options ['-f']"),
    "by hand": (NEW, _change(LOCK, "nox -s lock", "uv"), "does not say what made it"),
    "an sdist": (OLD, _change("Dockerfile", "gast,termcolor", "gast"), "from source"),
    "cuda of wheels": (NEW, _change("stack.toml", 'cuda = "12.9.79"', 'cuda = "12.5.82"'), "nvidia-cuda-runtime"),
    "cudnn of wheels": (NEW, _change("stack.toml", '"9.28.0.42"', '"9.3.0.75"'), "nvidia-cudnn"),
    "cuda of archives": (OLD, _change("stack.toml", '"10.0.130"', '"10.1.243"'), "another toolkit"),
    "cudnn of archives": (OLD, _change("stack.toml", '"7.6.5.32"', '"7.4.1.5"'), "another cuDNN"),
    "a sum": (OLD, _change("cuda_archives.py", '"92351f0e', '"'), "each with its sha256"),
    "a driver": (OLD, _change("stack.toml", 'driver = "410.48"', 'driver = "418.39"'), "minimum_driver is newer"),
    "a digest": (NEW, _change("Dockerfile", "@sha256:", "@sha512:"), "no digest"),
    "a base": (NEW, _change("Dockerfile", "=python:3.12.", "=python:3.11."), "is not for Python 3.12"),
    "a base's proof": (NEW, _change("Dockerfile", "=python:3.12.14", "=python:3.12.13"), "evidence of the base"),
    "a Python": (
        NEW,
        _change("Dockerfile", "python3.12 -m compileall", "python3.11 -m compileall"),
        "beside 3.12",
    ),
    "a label": (NEW, _change("Dockerfile", f'stack="{NEW}"', 'stack="tf2.18"'), "another stack's"),
    "a lock of an image": (NEW, _change("Dockerfile", "/requirements-cuda", "/other-cuda"), "installs"),
    "a copy": (NEW, _append("prove_image.py", "\n"), "nox -s lock writes the copies"),
    "no evidence": (NEW, _change("stack.toml", 'pin = "gpu_code"', 'pin = "other"'), "evidence: missing"),
}


@pytest.mark.parametrize(("name", "plant", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_a_planted_contradiction_is_found(tmp_path, name, plant, said):
    """Fault: a check of pins that cannot fail."""
    shutil.copytree(STACKS / name, tmp_path / name)
    plant(tmp_path / name)
    found = pins.problems(Stack(stack.read_definition(tmp_path / name / "stack.toml"), tmp_path / name))
    assert any(said in each for each in found), found
