# SPDX-License-Identifier: Apache-2.0
"""What a stack is here, and what it was in a run: one word each, from what really lies on this machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from suite import collect, environment, journal, made_here, stack, standing
from suite.engines import images
from suite.made_here import Images
from suite.records import Run, Sample
from suite.stack import ROOT, STACKS, Evidence, Stack

NAME = "tf2.18-cuda12.5"


@pytest.fixture
def chosen(tmp_path: Path) -> Stack:
    """A stack with two minors, in a folder that tests may change."""
    shutil.copytree(STACKS / NAME, tmp_path / "docker" / NAME)
    return stack.load(NAME, tmp_path / "docker")


def made(chosen: Stack, cache: Path, minor: str) -> Path:
    """Leave what a made environment leaves; return its folder."""
    lock = chosen.locks(minor)[0].read_bytes()
    folder = cache / "env" / f"{chosen.name}-py{minor}-000000000000"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\n")
    (folder / "bin" / "python").chmod(0o755)
    stamp = {"recipe": environment.RECIPE, "key": folder.name, "lock_sha256": hashlib.sha256(lock).hexdigest()}
    stamp.update(python_version=f"{minor}.0", python_found_by="PATH", wheels="cpu", packages={})
    (folder / environment.STAMP).write_text(json.dumps(stamp))
    return folder


def state(chosen: Stack, tmp_path: Path, found: Images | None = None) -> str:
    return made_here.of(chosen, {"COLDWARM_CACHE": str(tmp_path / "cache")}, found or Images()).state


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    """Whatever this machine has: CUDA's wheels are another test's."""
    monkeypatch.setattr("suite.host.nvidia_driver_loaded", lambda: False)


@pytest.mark.parametrize("minor", ["3.11", "3.12"])
def test_an_environment_of_its_locks_is_built(chosen, tmp_path, minor):
    """Fault: an environment that is here is not seen, or only that of the default minor."""
    assert state(chosen, tmp_path) == "locked only"
    made(chosen, tmp_path / "cache", minor)
    assert state(chosen, tmp_path) == "built"


def test_an_environment_of_other_locks_is_not(chosen, tmp_path):
    """Fault: built, though the lock has changed since."""
    made(chosen, tmp_path / "cache", "3.11")
    with chosen.locks("3.11")[0].open("a") as file:
        file.write("# changed\n")
    assert state(chosen, tmp_path) == "locked only"


def test_an_environment_that_was_never_finished_is_not(chosen, tmp_path):
    """Fault: built before the import of the framework has held: the stamp comes last."""
    (made(chosen, tmp_path / "cache", "3.11") / environment.STAMP).unlink()
    assert state(chosen, tmp_path) == "locked only"


def labels(chosen: Stack, **changes: str) -> dict[str, str]:
    told = {"coldwarm.definition": chosen.sha256(), "coldwarm.stack": chosen.name, "coldwarm.cuda": "locked"}
    told["coldwarm.base"] = images.arguments(chosen)["BASE_IMAGE"]
    return {**told, **{f"coldwarm.{name}": value for name, value in changes.items()}}


@pytest.mark.parametrize(
    ("changes", "expected", "stand_ins"),
    [
        ({}, "built", ()),
        ({"definition": "0" * 64}, "locked only", ()),
        ({"base": "localhost/other:1"}, "locked only", ("podman",)),
        ({"cuda": "none"}, "locked only", ("podman",)),
    ],
    ids=["its own", "another definition", "another base", "without CUDA"],
)
def test_only_an_image_of_its_folder_as_pinned_is_built(chosen, tmp_path, changes, expected, stand_ins):
    """Fault: a stand-in, or an image of an older folder, passes for the stack."""
    found = Images({"docker": {}, "podman": {images.tag(chosen): labels(chosen, **changes)}})
    here = made_here.of(chosen, {"COLDWARM_CACHE": str(tmp_path)}, found)
    assert (here.state, here.stand_ins) == (expected, stand_ins)
    assert here.made == (("podman",) if expected == "built" else ())


def test_unverified_counts_what_would_be_used_here(chosen, tmp_path, monkeypatch):
    """Fault: a base image that nothing pulls, or CUDA on a machine without a driver, makes a stack unverified."""
    path = chosen.folder / "stack.toml"
    text = path.read_text()
    for pin, found, driver, expected in (
        ("base image", Images(), False, "locked only"),
        ("base image", Images({"docker": {}}), False, "unverified"),
        ("cuda.ships", Images(), False, "locked only"),
        ("cuda.ships", Images(), True, "unverified"),
        ("cuda.ships", Images({"docker": {}}), False, "unverified"),
        ("gpu_code", Images(), False, "unverified"),
    ):
        begin = text.index(f'pin = "{pin}"\nknown = ')
        path.write_text(
            text[:begin] + f'pin = "{pin}"\nknown = "unverified"\n' + text[text.index("how =", begin) :]
        )
        changed = stack.load(NAME, chosen.folder.parent)
        monkeypatch.setattr("suite.host.nvidia_driver_loaded", lambda driver=driver: driver)
        here = made_here.of(changed, {"COLDWARM_CACHE": str(tmp_path)}, found)
        assert here.state == expected, (pin, found, driver)
        assert here.unverified == ((pin,) if expected == "unverified" else ())


def client(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def asked(folder: Path, limit_s: float = 5.0) -> Images:
    folder.mkdir(exist_ok=True)
    return made_here.Asking({"PATH": f"{folder}"}, limit_s).answers()


def test_what_engines_tell(tmp_path):
    """Fault: labels that go to another image than theirs; an engine that has none, or is not there, reads as silent."""
    one, two = "localhost/coldwarm/a:1", "localhost/coldwarm/b:2"
    told = f'[ "$1" = images ] && echo {one} && echo {two} && echo other/image:3 && exit\nshift 4\n'
    told += 'for name; do echo "{\\"name\\": \\"$name\\"}"; done'
    client(tmp_path / "bin", "docker", told)
    assert asked(tmp_path / "bin") == Images({"docker": {one: {"name": one}, two: {"name": two}}}, [])
    client(tmp_path / "bin", "podman", "exit 0")
    assert asked(tmp_path / "bin").labels["podman"] == {}
    assert asked(tmp_path / "none") == Images({}, [])


@pytest.mark.parametrize(
    "text",
    [
        "exit 1",
        "exec /bin/sleep 60",
        '[ "$1" = images ] && echo localhost/coldwarm/a:1 && exit; echo not JSON',
        '[ "$1" = images ] && echo localhost/coldwarm/a:1 && exit; exec /bin/sleep 60',
        '[ "$1" = images ] && echo localhost/coldwarm/a:1 && exit; exit 1',
        '[ "$1" = images ] && echo localhost/coldwarm/a:1',
    ],
    ids=["fails", "hangs", "labels that are none", "hangs later", "fails later", "no labels"],
)
def test_an_engine_that_does_not_answer_is_not_waited_for(tmp_path, text):
    """Fault: `list` hangs with a daemon that hangs, or counts what was never told."""
    client(tmp_path / "bin", "podman", text)
    begin = time.monotonic()
    assert asked(tmp_path / "bin", 0.5) == Images({}, ["podman"])
    assert time.monotonic() - begin < 10


def stored(name: str = "bench-tf2.21-cuda12") -> tuple[Run, list[Sample]]:
    folder = ROOT / "results" / "examples" / name
    return journal.read_run(folder), journal.read_samples(folder)[0]


def with_environment(run: Run, **changes: object) -> Run:
    return msgspec.structs.replace(run, environment={**run.environment, **changes})


def test_the_word_of_a_run():
    """Fault: a run on a stand-in or of an adopted interpreter reads as the stack's own."""
    run, samples = stored()
    none_ok = [msgspec.structs.replace(each, status="crashed") for each in samples]
    assert standing.of_run(run, samples) == "built"
    assert standing.of_run(run, none_ok) == "not started"
    assert standing.of_run(with_environment(run, base="stand-in"), samples) == "stand-in"
    assert standing.of_run(with_environment(run, base="pinned"), samples) == "built"
    assert standing.of_run(with_environment(run, wheels="adopted"), none_ok) == "adopted"


def test_the_head_of_a_table_says_of_what():
    """Fault: a table that does not tell whether its stack was made from its own definition."""
    run, samples = stored()
    assert f"built: environment {run.environment['key']}" in collect.text(run, samples, [])
    image = with_environment(run, image="sha256:" + "ab" * 32, base="pinned", wheels="image")
    assert "built: image sha256:" + "ab" * 16 in collect.text(image, samples, [])
    for other in (with_environment(run, base="stand-in"), with_environment(run, wheels="adopted")):
        assert standing.heading(other, samples) == []  # another line says so
    assert standing.heading(run, []) == ["not started: no process of this stack gave a result"]


def test_unverified_pins_that_a_run_used_are_noted():
    """Fault: CUDA that nobody has verified in a table, without a word; or a word on what was not used."""
    run, samples = stored()
    evidence = [
        Evidence("cuda.ships", "unverified", "by hand"),
        Evidence("base image", "unverified", "from a log"),
    ]
    evidence.append(Evidence("gpu_code", "seen here", "counted"))
    definition = {**run.stack["definition"], "evidence": msgspec.to_builtins(evidence)}
    run = msgspec.structs.replace(run, stack={**run.stack, "definition": definition})
    ships, base = "unverified pin, cuda.ships: by hand", "unverified pin, base image: from a log"
    image = {"image": "sha256:0", "wheels": "image"}
    assert standing.notes(run) == []
    assert standing.notes(with_environment(run, wheels="cuda")) == [ships]
    assert standing.notes(with_environment(run, wheels="adopted")) == []
    assert standing.notes(with_environment(run, **image, labels={"coldwarm.cuda": "locked"})) == [ships, base]
    assert standing.notes(with_environment(run, **image, labels={"coldwarm.cuda": "none"})) == [base]
    assert f"- {ships}\n" in collect.text(with_environment(run, wheels="cuda"), samples, [])
