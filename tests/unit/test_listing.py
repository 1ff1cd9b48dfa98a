# SPDX-License-Identifier: Apache-2.0
"""What `list` says of the stacks on machines of many kinds."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from suite import listing, stack
from suite.stack import STACKS

ANSWERS, FAILS = "exit 0", "exit 1"


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def said(tmp_path: Path, stacks: Path = STACKS, **clients: str) -> str:
    """Return what `list` says on a machine with these programs and nothing else."""
    for name, text in clients.items():
        script(tmp_path / "bin" / name, text)
    (tmp_path / "bin").mkdir(exist_ok=True)
    return listing.text({"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}, stacks)


def rows(text: str) -> dict[str, str]:
    return {line.split()[0]: line for line in text.splitlines() if re.match(r"[a-z]+\d[\d.]*-cuda", line)}


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    """Whatever this machine has."""
    monkeypatch.setattr("suite.host.nvidia_driver_loaded", lambda: False)


def test_every_stack_is_there_with_its_versions_oldest_first(tmp_path):
    """Fault: a stack is left out, 2.10 comes before 2.3, or a version is typed a second time."""
    found = rows(said(tmp_path))
    assert sorted(found) == stack.names()
    for framework in {re.split(r"\d", name)[0] for name in found}:
        mine = [line.split()[1] for name, line in found.items() if re.match(rf"{framework}\d", name)]
        versions = [tuple(map(int, each.split("."))) for each in mine]
        assert versions == sorted(versions) and versions
    for name, line in found.items():
        definition = stack.load(name).definition
        ships = definition.cuda.ships
        for version in (ships.cuda, ships.cudnn):
            assert ".".join(version.split(".")[:2]) in line
        assert f" {' '.join(definition.python.minors())} " in line and f" {definition.framework.version} " in line


@pytest.mark.parametrize(
    "clients",
    [
        {},
        {"docker": ANSWERS, "podman": ANSWERS},
        {"docker": FAILS, "podman": ANSWERS},
        {"docker": "exec /bin/sleep 9"},
    ],
    ids=["nothing", "both", "one", "hangs"],
)
def test_it_fits_80_columns(tmp_path, clients):
    """Fault: a table that wraps in a terminal."""
    for minor in ("3.6", "3.8"):
        script(tmp_path / "bin" / f"python{minor}", FAILS)
    text = said(tmp_path, **clients)
    assert max(map(len, text.splitlines())) <= 80, text


def test_what_can_measure_here(tmp_path):
    """Fault: an engine that does not answer is offered; a shim that nobody ran passes for a Python."""
    assert all(line.endswith(f" no Python {line.split()[3]}") for line in rows(said(tmp_path)).values())
    script(tmp_path / "bin" / "python3.6", FAILS)
    shutil.copy("/bin/true", tmp_path / "bin" / "python3.7")
    found = rows(said(tmp_path, docker=FAILS, podman=ANSWERS))
    assert found["tf1.14-cuda10"].endswith(" podman, local?")
    assert found["tf1.15-cuda10"].endswith(" podman, local")
    assert found["tf2.21-cuda12"].endswith(" podman")
    assert "docker: images there are not counted" in said(tmp_path, docker=FAILS)


def test_no_interpreter_is_run(tmp_path):
    """Fault: `list` takes a second, as long as nine Pythons take to start."""
    mark = tmp_path / "ran"
    for name in stack.names():
        script(tmp_path / "bin" / f"python{stack.load(name).definition.python.default}", f"touch {mark}")
    said(tmp_path)
    assert not mark.exists()


def test_unverified_pins_are_named(tmp_path):
    """Fault: the word unverified, and nowhere of what."""
    text = " ".join(said(tmp_path, podman=ANSWERS).split())
    for name, line in rows(said(tmp_path, podman=ANSWERS)).items():
        pins = [each.pin for each in stack.load(name).definition.evidence if each.known == "unverified"]
        assert (" unverified " in line) == bool(pins)
        for pin in pins:
            assert pin in text[text.index("Unverified: ") :] and name in text[text.index("Unverified: ") :]


def test_one_bad_stack_does_not_hide_the_others(tmp_path):
    """Fault: a traceback, or silence, for a folder that somebody is writing."""
    shutil.copytree(STACKS, tmp_path / "docker")
    (tmp_path / "docker" / "tf2.3-cuda10.1" / "stack.toml").write_text("schema = 2\n")
    text = said(tmp_path, tmp_path / "docker")
    assert (
        len(rows(text)) == len(stack.names()) - 1
        and "broken_stack: " in text
        and "tf2.3-cuda10.1/stack.toml" in text
    )
