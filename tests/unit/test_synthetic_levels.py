# SPDX-License-Identifier: Apache-2.0
"""Cold levels on a synthetic worker: a sample whose coldness is not proven has no time."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.exits import Exit
from suite.stack import STACKS
from tests.synthetic import STACK, Model, Synthetic
from tests.synthetic_runs import CPU, told


@pytest.fixture
def caching(tmp_path) -> Path:
    """Return stack definitions in which XLA_CPU has an on-disk JIT cache."""
    folder = tmp_path / "docker"
    shutil.copytree(STACKS / STACK, folder / STACK)
    path = folder / STACK / "stack.toml"
    text = path.read_text(encoding="utf-8")
    plain = 'device = "/device:XLA_CPU:0"\njit_cache = false'
    assert text.count(plain) == 1
    path.write_text(text.replace(plain, plain.replace("false", "true")), encoding="utf-8")
    return folder


class Cache:
    """A worker that keeps what it compiled in its CUDA cache: one file a shape, if it is not there.

    ``also`` names samples that write another file.
    """

    def __init__(self, also: tuple[str, ...] = ()) -> None:
        self.also = also
        self.found: dict[str, list[str]] = {}

    def __call__(self, sample: str, environment: Mapping[str, str]) -> None:
        cache = Path(environment["CUDA_CACHE_PATH"])
        self.found[sample] = sorted(path.name for path in cache.iterdir())
        (cache.parent / "tmp" / "scratch").write_bytes(b"no cache")
        if "XLA_CPU" not in sample:
            return
        shape = sample.split(".")[3]
        if not (cache / shape).exists():
            (cache / shape).write_bytes(b"compiled")
        if sample in self.also:
            (cache / "more").write_bytes(b"compiled again")


def test_level_process_keeps_what_priming_filled(tmp_path, caching):
    """Fault: a sample of level process starts with an empty cache, or with another cell's."""
    cache = Cache()
    asked = {"targets": "XLA_CPU", "shapes": "50,500", "samples": "5", "level": "process"}
    done = told(tmp_path, Synthetic(started=cache), stacks=caching, **asked)
    assert done.code is Exit.DONE and {row.count.text() for row in done.rows().values()} == {"5/5 ok"}
    assert "cold level of XLA_CPU: process" in done.words
    primings = [each for each in done.samples if each.kind == "priming"]
    assert [each.status for each in primings] == ["ok", "ok"]
    assert "filled the cell's caches: 1 files" in primings[0].proofs["cold"].text
    for sample in done.samples:
        if sample.kind in ("prepared", "fresh"):
            shape = sample.cell.rpartition(".")[2]
            assert cache.found[sample.id] == [shape], "nothing is shared between cells"
            assert sample.caches.before == sample.caches.after == {f"cuda/{shape}": 8}
            assert "caches kept and unchanged" in sample.proofs["cold"].text
        elif sample.kind in ("pilot", "priming"):
            assert cache.found[sample.id] == []
    assert not (done.folder / "caches").exists() and list(done.folder.rglob("cache")) == []


def test_level_process_withholds_a_cell_whose_cache_changed(tmp_path, caching):
    """Fault: a sample that compiled once more is shown as one that found everything in the cache."""
    cache = Cache(also=("prepared.XLA_CPU.device.50.3",))
    asked = {"targets": "XLA_CPU", "shapes": "50,500", "samples": "5", "level": "process"}
    done = told(tmp_path, Synthetic(started=cache), stacks=caching, **asked)
    found = {each.id: each for each in done.samples}
    sample = found["prepared.XLA_CPU.device.50.3"]
    assert sample.status == "not_cold" and "changed during the sample: cuda/more" in sample.reason.text
    # What comes after it starts with what it left.
    assert found["prepared.XLA_CPU.device.50.5"].status == "not_cold"
    assert "changed before the sample" in found["prepared.XLA_CPU.device.50.5"].reason.text
    row, other = done.rows()["XLA_CPU.device.50"], done.rows()["XLA_CPU.device.500"]
    assert row.count.status == "not_cold" and row.cold is None and other.count.text() == "5/5 ok"
    assert done.line("XLA_CPU", "device", 50).split()[3:6] == ["-", "-", "-"]
    assert done.code is Exit.CELLS_FAILED


def test_level_jit_starts_each_sample_with_empty_caches(tmp_path, caching):
    """Fault: what one sample compiled makes the next one's cold time small."""
    cache = Cache()
    asked = {"targets": "XLA_CPU", "shapes": "50,500", "samples": "3"}
    done = told(tmp_path, Synthetic(started=cache), stacks=caching, **asked)
    assert done.code is Exit.DONE and "priming" not in {each.kind for each in done.samples}
    assert set(map(tuple, cache.found.values())) == {()}
    assert "cold level of XLA_CPU: jit" in done.words and list(done.folder.rglob("cache")) == []
    [texts] = ({each.proofs["cold"].text for each in done.samples if each.kind == "prepared"},)
    assert texts == {"the caches were empty before"}


def test_level_jit_refuses_a_sample_that_found_files(tmp_path, caching):
    """Fault: something fills the caches before the start, and the sample counts as cold."""

    def planting(home: Path, more: Mapping[str, str]) -> dict[str, str]:
        if "CUDA_CACHE_PATH" in more and "prepared.XLA_CPU.device.50.2" in str(home):
            folder = Path(more["CUDA_CACHE_PATH"])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "index").write_bytes(b"compiled")
        return dict(more)

    asked = {"targets": "XLA_CPU", "shapes": "50", "samples": "3"}
    done = told(tmp_path, Synthetic(), stacks=caching, setting={"environment": planting}, **asked)
    sample = next(each for each in done.samples if each.id == "prepared.XLA_CPU.device.50.2")
    assert (sample.status, sample.reason.code) == ("not_cold", "proof_cold")
    assert "1 files in the caches before the start" in sample.reason.text
    assert done.rows()["XLA_CPU.device.50"].cold is None and done.code is Exit.CELLS_FAILED


@pytest.mark.parametrize(
    ("read", "status"), [(0, "not_cold"), (269_000_000, "not_cold"), (271_000_000, "ok"), (None, "not_cold")]
)
def test_level_disk_needs_the_bytes_to_have_been_read(tmp_path, read, status):
    """Fault: files that the kernel kept in memory count as read from the disk."""
    synthetic = Synthetic({CPU: Model(disk={"read_bytes": read, "used_bytes": 300_000_000})})
    done = told(tmp_path, synthetic, samples="3", level="disk")
    row = done.rows()[CPU]
    assert row.count.status == status and (row.cold is None) == (status != "ok")
    # Before every sample of the cell the files were dropped.
    ran = synthetic.ran
    for place, sample in enumerate(ran):
        if sample.startswith(("prepared", "fresh", "pilot")) and not sample.endswith(".drop"):
            assert ran[place - 1] == f"{sample}.drop"
    assert done.code is (Exit.DONE if status == "ok" else Exit.CELLS_FAILED)
    assert ("cold level of CPU: disk" in done.words) == (status == "ok")
