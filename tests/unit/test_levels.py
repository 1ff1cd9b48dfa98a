# SPDX-License-Identifier: Apache-2.0
"""Cold levels: when a sample was as cold as it says, and where its caches are before, during and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite import levels
from suite.records import Caches, Cell

FILLED = {"cuda/index": 1000, "xla/module.bin": 500_000}


def cell(level: str = "process", n: int = 50, target: str = "XLA_GPU") -> Cell:
    where = (target, "device", f"/device:{target}:0", "matmul", n)
    return Cell(f"{target}.device.{n}", "a", *where, "float32", "default", level, "3.6", "local")


@pytest.mark.parametrize(
    ("level", "has_cache", "wanted"),
    [
        ("process", True, "process"),
        ("jit", True, "jit"),
        ("disk", True, "disk"),
        ("process", False, "not_applicable"),
        ("jit", False, "not_applicable"),
        ("disk", False, "disk"),
    ],
)
def test_level_of_a_cell(level, has_cache, wanted):
    """Fault: a CPU row that says its JIT cache was kept; or disk, which every target has, called not applicable."""
    assert levels.of_cell(level, has_cache) == wanted


@pytest.mark.parametrize("kind", ["pilot", "priming", "prepared", "fresh"])
def test_empty_caches_prove_a_new_process(kind):
    """Fault: an honest sample is called not_cold."""
    for level in ("jit", "process") if kind in ("pilot", "priming") else ("jit",):
        proof, status = levels.proof(level, kind, Caches({}, FILLED))
        assert (proof.state, status) == ("ok", None)
    if kind == "priming":
        assert proof.text == "filled the cell's caches: 2 files, 0.501 MB"


@pytest.mark.parametrize("kind", ["pilot", "priming", "prepared", "fresh"])
@pytest.mark.parametrize("level", ["jit", "process", "disk"])
def test_one_file_too_many_is_not_cold(level, kind):
    """Fault: a cache that an earlier sample, or the user's HOME, had filled passes for empty."""
    disk = {"read_bytes": 10**9, "used_bytes": 10**9}
    proof, status = levels.proof(level, kind, Caches({"cuda/x": 1}, {"cuda/x": 1}), {}, disk)
    assert (proof.state, status) == ("failed", "not_cold")


@pytest.mark.parametrize("level", ["jit", "process", "disk"])
def test_what_was_not_looked_at_is_not_proven(level):
    """Fault: no listing is taken for an empty one."""
    proof, status = levels.proof(level, "prepared", None, {}, {"read_bytes": 1, "used_bytes": 1})
    assert (proof.state, proof.text, status) == ("failed", "the caches were not listed", "not_cold")


def test_no_cache_needs_no_proof():
    """Fault: a CPU cell fails for want of a cache that it cannot have."""
    proof, status = levels.proof("not_applicable", "prepared", None)
    assert (proof.state, status) == ("not_applicable", None)


@pytest.mark.parametrize("kind", ["prepared", "fresh"])
def test_kept_caches_that_stay_as_they_were(kind):
    """Fault: a sample that found what the priming left, and left it, is refused; an empty cache, too."""
    proof, status = levels.proof("process", kind, Caches(FILLED, FILLED), FILLED)
    assert (proof.state, proof.text, status) == ("ok", "caches kept and unchanged: 2 files, 0.501 MB", None)
    assert levels.proof("process", kind, Caches(), {})[1] is None


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({}, {}, "2 files of the kept caches changed before the sample: cuda/index"),
        ({"cuda/index": 1000}, FILLED, "1 files of the kept caches changed before the sample: xla/module.bin"),
        (
            {**FILLED, "cuda/index": 999},
            FILLED,
            "1 files of the kept caches changed before the sample: cuda/index",
        ),
        (FILLED, {**FILLED, "cuda/new": 7}, "1 files of the kept caches changed during the sample: cuda/new"),
        (FILLED, {"cuda/index": 1000}, "1 files of the kept caches changed during the sample: xla/module.bin"),
        (FILLED, {**FILLED, "cuda/index": 0}, "1 files of the kept caches changed during the sample: cuda/index"),
    ],
)
def test_kept_caches_that_changed(before, after, says):
    """Fault: a sample that compiled again, because its cache was lost or not hit, passes as one that did not."""
    proof, status = levels.proof("process", "prepared", Caches(before, after), FILLED)
    assert (proof.state, proof.text, status) == ("failed", says, "not_cold")


def test_kept_caches_that_nothing_filled():
    """Fault: without a priming sample every sample of level process is as cold as at level jit, and says otherwise."""
    proof, status = levels.proof("process", "prepared", Caches(), None)
    assert (proof.text, status) == ("no priming sample has filled the cell's caches", "not_cold")


@pytest.mark.parametrize(
    ("read", "used", "wanted"),
    [(900, 1000, None), (899, 1000, "not_cold"), (1000, 1000, None), (5000, 1000, None), (0, 1000, "not_cold")],
)
def test_disk_needs_nine_tenths_to_have_been_read(read, used, wanted):
    """Fault: files that another process kept in memory pass for dropped."""
    disk = {"read_bytes": read * 10**6, "used_bytes": used * 10**6}
    proof, status = levels.proof("disk", "prepared", Caches(), None, disk)
    assert status == wanted
    assert proof.text == f"read {read} MB from the disk, holds {used} MB of the framework's files"


@pytest.mark.parametrize(
    "disk",
    [
        None,
        {},
        {"read_bytes": None, "used_bytes": 10**9},
        {"read_bytes": 10**9, "used_bytes": 0},
        {"read_bytes": 10**9, "used_bytes": None},
        {"read_bytes": 10**9},
    ],
)
def test_disk_without_evidence_is_not_cold(disk):
    """Fault: where /proc/self/io cannot be read, or no file was found, nothing was read of nothing: 100 %."""
    proof, status = levels.proof("disk", "prepared", Caches(), None, disk)
    assert (proof.text, status) == ("the worker could not tell what it read from the disk", "not_cold")


# Where the folders are.


@pytest.fixture
def folders(tmp_path) -> levels.Folders:
    return levels.Folders(tmp_path / "run" / "caches")


def a_sample(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / "run" / "raw" / name
    folder.mkdir(parents=True)
    return folder


def lend(folders: levels.Folders, tmp_path: Path, name: str, of: Cell | None) -> Path:
    """Give one sample its caches, as sampling does."""
    kind = name.partition(".")[0]
    return folders.lay_out(a_sample(tmp_path, name), of, kind)  # type: ignore[arg-type]


def check_empty(cache: Path) -> None:
    assert {path.name for path in cache.iterdir()} == {*levels.CACHE_VARIABLES.values(), levels.FLAGGED}
    assert levels.listing(cache) == {} and all(not list(each.iterdir()) for each in cache.iterdir())


@pytest.mark.parametrize("of", [None, cell("jit"), cell("disk"), cell("not_applicable")])
def test_every_sample_of_other_levels_has_new_folders(folders, tmp_path, of):
    """Fault: the second sample finds what the first one left."""
    for number in (1, 2):
        cache = lend(folders, tmp_path, f"prepared.x.{number}", of)
        check_empty(cache)
        (cache / "cuda" / "index").write_text("x")
        folders.clear(cache, of, keep=True)
        assert not cache.exists()
    assert not folders.kept.exists()


def test_caches_go_from_the_priming_to_each_sample(folders, tmp_path):
    """Fault: a sample of level process begins with empty caches, or with another cell's."""
    cache = lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell())
    check_empty(cache)
    (cache / "cuda" / "index").write_bytes(b"x" * 10)
    folders.clear(cache, cell(), keep=True)
    other = lend(folders, tmp_path, "prepared.XLA_GPU.device.500.1", cell(n=500))
    check_empty(other)
    for number in (1, 2):
        cache = lend(folders, tmp_path, f"prepared.XLA_GPU.device.50.{number}", cell())
        assert levels.listing(cache) == {"cuda/index": 10}
        assert not (folders.kept / cell().id).exists(), "it is moved, not copied: a container sees one folder only"
        folders.clear(cache, cell(), keep=True)
    folders.discard()
    assert not folders.kept.exists()
    folders.discard()  # twice is no fault


def test_a_priming_may_begin_with_what_another_run_keeps(folders, tmp_path):
    """Fault: it chooses anew what the other has chosen, takes the other's folder away, or begins with its scratch."""
    cache = lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell())
    (cache / levels.FLAGGED / "choice").write_bytes(b"x" * 10)
    (cache / "tmp" / "left").write_text("x")
    folders.clear(cache, cell(), keep=True)
    beyond = levels.Folders(tmp_path / "beyond" / "caches", folders.kept)
    assert beyond.begun(cell()) == {"flagged/choice": 10} and beyond.begun(cell(n=500)) == {}
    cache = lend(beyond, tmp_path / "beyond", "priming.XLA_GPU.device.50", cell())
    assert levels.listing(cache) == {"flagged/choice": 10} == levels.listing(folders.kept / cell().id)
    assert not list((cache / "tmp").iterdir())
    check_empty(lend(beyond, tmp_path / "beyond", "pilot.XLA_GPU.device.50", cell()))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "added to the cell's caches: 1 files"),
        (
            {"a": 1},
            {"a": 3, "b": 2},
            "1 files of the caches that it was to begin with changed during the sample: a",
        ),
        ({}, {"b": 2}, "1 files of the caches that it was to begin with changed before the sample: a"),
        ({"a": 1, "c": 1}, {"a": 1, "c": 1}, "changed before the sample: c"),
    ],
)
def test_a_priming_that_begins_with_anothers_caches_leaves_them_as_they_are(before, after, says):
    """Fault: a choice that was made anew passes for the one that was kept."""
    proof, status = levels.proof("process", "priming", Caches(before, after), {"a": 1})
    assert says in proof.text
    assert (status is None) == (proof.state == "ok") == ("added" in says)


def test_scratch_is_empty_before_every_sample(folders, tmp_path):
    """Fault: TMPDIR is called a cache, and what one sample left there makes the next not_cold."""
    cache = lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell())
    (cache / "tmp" / "left").write_text("x")
    assert levels.listing(cache) == {}
    folders.clear(cache, cell(), keep=True)
    check_empty(lend(folders, tmp_path, "prepared.XLA_GPU.device.50.1", cell()))


def test_what_a_pilot_or_a_failed_priming_left_is_nobodys_cache(folders, tmp_path):
    """Fault: a pilot fills the caches, and the priming sample is not_cold; a broken priming's half is kept."""
    for name in ("pilot.XLA_GPU.device.50", "priming.XLA_GPU.device.50"):
        cache = lend(folders, tmp_path, name, cell())
        check_empty(cache)
        (cache / "cuda" / "index").write_text("x")
        folders.clear(cache, cell(), keep=False)
    assert not folders.kept.exists()


def test_a_priming_begins_empty_whatever_is_kept(folders, tmp_path):
    """Fault: killed between a priming and its line, RESUME= primes into full caches: not_cold, the cell is lost."""
    cache = lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell())
    (cache / "cuda" / "index").write_text("x")
    folders.clear(cache, cell(), keep=True)
    cache.parent.rename(cache.parent.with_name("aside"))
    check_empty(lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell()))


@pytest.mark.parametrize("kind", ["prepared", "fresh"])
def test_what_a_killed_run_had_lent_is_brought_back(folders, tmp_path, kind):
    """Fault: RESUME= of a run that was killed in a sample finds no caches: every further sample is not_cold."""
    cells = [cell(), cell(n=500), cell("jit", target="GPU"), cell("not_applicable", target="CPU")]
    cache = lend(folders, tmp_path, "priming.XLA_GPU.device.50", cell())
    (cache / "cuda" / "index").write_text("x")
    folders.clear(cache, cell(), keep=True)
    lend(folders, tmp_path, f"{kind}.XLA_GPU.device.50.3", cell())
    lend(folders, tmp_path, "prepared.GPU.device.50.1", cells[2])
    lend(folders, tmp_path, "priming.XLA_GPU.device.500", cells[1])
    raw = tmp_path / "run" / "raw"
    for _ in range(2):  # twice: a resumed run may be killed, too
        folders.recover(raw, cells)
        assert [path.name for path in folders.kept.iterdir()] == ["XLA_GPU.device.50"]
        assert levels.listing(folders.kept / "XLA_GPU.device.50") == {"cuda/index": 1}
    assert (raw / "prepared.GPU.device.50.1" / "cache").is_dir(), "another level's are not touched"


def test_two_that_were_lent_are_no_error(folders, tmp_path):
    """Fault: leftovers of two samples of a cell end RESUME= in an OSError."""
    for name in ("prepared.XLA_GPU.device.50.1", "fresh.XLA_GPU.device.50.1"):
        (a_sample(tmp_path, name) / "cache" / "cuda").mkdir(parents=True)
        (tmp_path / "run" / "raw" / name / "cache" / "cuda" / "index").write_text("x")
    folders.recover(tmp_path / "run" / "raw", [cell()])
    assert levels.listing(folders.kept / cell().id) == {"cuda/index": 1}


def test_nothing_to_bring_back(folders, tmp_path):
    """Fault: a run that was killed before its first sample cannot be gone on with."""
    folders.recover(tmp_path / "nowhere", [cell()])
    assert not folders.kept.exists()


def test_listing_sees_links_and_hidden_files(folders, tmp_path):
    """Fault: a cache that is a link, or below a dotted folder, is overlooked; a broken link ends the run."""
    cache = lend(folders, tmp_path, "prepared.x.1", cell("jit"))
    (cache / "home" / ".nv" / "ComputeCache").mkdir(parents=True)
    (cache / "home" / ".nv" / "ComputeCache" / "index").write_bytes(b"12345")
    (cache / "xdg" / "broken").symlink_to("/nowhere/at/all")
    found = levels.listing(cache)
    assert found["home/.nv/ComputeCache/index"] == 5 and set(found) == {
        "home/.nv/ComputeCache/index",
        "xdg/broken",
    }
