# SPDX-License-Identifier: Apache-2.0
"""What is counted in a library are its fat binaries, and nothing that merely looks like one."""

from __future__ import annotations

import struct

from tests.benchmarks.fat_binaries import MAGIC, counted, fat_binaries

PTX, NATIVE = 1, 2


def entry(kind: int, arch: int, payload: int = 24) -> bytes:
    return struct.pack("<HHIQ12xI32x", kind, 0x101, 64, payload, arch) + b"\7" * payload


def fat_binary(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return MAGIC + struct.pack("<HHQ", 1, 16, len(body)) + body


def test_entries_are_read_one_after_the_other(tmp_path):
    """Fault: only the first architecture of a fat binary is counted, or those of its neighbour as its own."""
    one = fat_binary(entry(NATIVE, 70), entry(NATIVE, 80, 0), entry(PTX, 80, 9))
    two = fat_binary(entry(PTX, 90))
    data = b"\0" * 5 + one + b"code" + two + one
    assert list(fat_binaries(data)) == [
        frozenset({("native", 70), ("native", 80), ("ptx", 80)}),
        frozenset({("ptx", 90)}),
        frozenset({("native", 70), ("native", 80), ("ptx", 80)}),
    ]
    (tmp_path / "a.so").write_bytes(data)
    assert sum(counted([tmp_path / "a.so"]).values()) == 3


def test_what_merely_looks_like_one_is_not_counted():
    """Fault: the magic in somebody's constant, an architecture 4096, a header cut off by the end of the file."""
    good = fat_binary(entry(NATIVE, 70))
    bad = [
        MAGIC,
        MAGIC + good[4:8],
        good[:-1],
        fat_binary(entry(NATIVE, 4096)),
        fat_binary(entry(9, 70)),
        fat_binary(),
    ]
    for data in bad:
        assert list(fat_binaries(data)) == []
    assert list(fat_binaries(MAGIC + good)) == [frozenset({("native", 70)})]
