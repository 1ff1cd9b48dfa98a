# SPDX-License-Identifier: Apache-2.0
"""Which GPU code a framework's wheel really carries: what ``gpu_code`` of a stack.toml rests on.

    python -m tests.benchmarks.fat_binaries --stack tf2.21-cuda12

Reads the fat binaries in the libraries of the stack's made environment: no GPU and no CUDA tool is needed, and none of
NVIDIA's own readers takes all of these files. A fat binary is a header and entries; each entry is native code (a cubin)
or PTX of one architecture.
"""

from __future__ import annotations

import argparse
import collections
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from suite import environment, stack

MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "ptx", 2: "native"}
#: Architectures that NVIDIA has given numbers to: what merely looks like an entry is passed over.
PLAUSIBLE = range(30, 130)

WHEELS: tuple[stack.Wheels, ...] = ("cuda", "cpu")
#: Further packages of a framework's own, by what follows its name: TensorFlow 1's, and the CUDA plugin of JAX.
PARTS = ("core", "plugins", "cuda*_plugin")

Codes = frozenset[tuple[str, int]]


def fat_binaries(data: bytes | mmap.mmap) -> Iterator[Codes]:
    """Return for each fat binary in a library the kinds and architectures of its entries."""
    at = data.find(MAGIC)
    while at >= 0:
        found = _entries(data, at)
        if found:
            yield found
        at = data.find(MAGIC, at + 4)


def _entries(data: bytes | mmap.mmap, at: int) -> Codes:
    if at + 16 > len(data):
        return frozenset()
    version, header, size = struct.unpack_from("<HHQ", data, at + 4)
    if version != 1 or header != 16 or at + header + size > len(data):
        return frozenset()
    out, here, end = set(), at + header, at + header + size
    while here + 32 <= end:
        kind, _, entry_header, payload = struct.unpack_from("<HHIQ", data, here)
        (arch,) = struct.unpack_from("<I", data, here + 28)
        if kind not in KINDS or arch not in PLAUSIBLE or entry_header < 32:
            break
        out.add((KINDS[kind], arch))
        here += entry_header + payload
    return frozenset(out)


def counted(libraries: list[Path]) -> collections.Counter[Codes]:
    """Return how many fat binaries hold each set of codes."""
    out: collections.Counter[Codes] = collections.Counter()
    for path in libraries:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            out.update(fat_binaries(data))
    return out


def main() -> int:
    """Print, of each architecture, how many fat binaries have native code and PTX for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", required=True)
    chosen = stack.load(parser.parse_args().stack)
    definition = chosen.definition
    minor = definition.python.default
    # CUDA's code of some frameworks comes with CUDA's wheels (JAX), so that environment first.
    found_made = (environment.find_made(chosen, minor, environ=os.environ, wheels=each) for each in WHEELS)
    made = next((each for each in found_made if each is not None), None)
    if made is None:
        print(f"{chosen.name}: its environment is not made: make bench makes it", file=sys.stderr)
        return 1
    [packages] = (made.folder / "lib").glob("python*/site-packages")
    # The package alone: CUDA's own libraries beside it are not the framework's.
    name = definition.framework.import_name
    folders = [packages / name, *(each for part in PARTS for each in packages.glob(f"{name}_{part}"))]
    libraries = sorted(path for each in folders for path in each.rglob("*.so*") if path.is_file())
    found = counted(libraries)
    whole = sum(found.values())
    print(f"{chosen.name}: {whole} fat binaries")
    for code in sorted({code for codes in found for code in codes}):
        many = sum(count for codes, count in found.items() if code in codes)
        print(f"{code[0]:6}  {code[1] // 10}.{code[1] % 10}  in {'all' if many == whole else many}")
    print("together (how many: which):")
    for codes, many in found.most_common(8):
        print(f"{many:6}  {' '.join(f'{kind} {arch // 10}.{arch % 10}' for kind, arch in sorted(codes))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
