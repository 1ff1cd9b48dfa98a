# SPDX-License-Identifier: Apache-2.0
"""The memory that a cell needs on its device, beside what was free there: why a sample ran out of it, or did not."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Bytes of an element, by dtype.
ITEM_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
#: What a framework's libraries take beside a cell's own arrays before they work at all: cuBLAS's handle with its
#: workspace and the kernels that it loads (some 100 MB each on recent GPUs).
LIBRARIES_BYTES = 512 * 2**20

#: What is said only where memory is short.
_CERTAIN = re.compile(
    r"CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|CUSOLVER_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY"
    r"|CUDA out of memory|RESOURCE_EXHAUSTED|cudaErrorMemoryAllocation"
)
#: What is said where it is, and for other reasons too: a library could not make its handle.
_PERHAPS = re.compile(
    r"CUBLAS_STATUS_NOT_INITIALIZED|CUDNN_STATUS_NOT_INITIALIZED|CUSOLVER_STATUS_NOT_INITIALIZED"
    r"|failed to create cublas handle|could not create cudnn handle",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Room:
    """Bytes that a cell needs at least, and bytes that were free before it; None where nothing told."""

    needed_bytes: int
    free_bytes: int | None = None

    def short(self) -> bool:
        """Tell whether too little was free for the cell and the libraries that it calls."""
        return self.free_bytes is not None and self.free_bytes < self.needed_bytes + LIBRARIES_BYTES

    def text(self) -> str:
        """Return both in GiB: what a person compares."""
        free = "how much was free is not known" if self.free_bytes is None else f"{gib(self.free_bytes)} were free"
        return f"needs at least {gib(self.needed_bytes)} (operand, product, outputs), {free}"


def needed_bytes(n: int, dtype: str) -> int:
    """Return the bytes of the operand and the product, n x n each, and of the outputs: made, and kept."""
    return ITEM_BYTES[dtype] * (2 * n * n + 4 * n + 1)


def says_out_of_memory(words: str, room: Room | None) -> bool:
    """Tell whether a framework's words mean that memory ran out.

    That a handle could not be made says so only where too little was free.
    """
    if _CERTAIN.search(words):
        return True
    return bool(_PERHAPS.search(words)) and room is not None and room.short()


def gib(size: int) -> str:
    """Return bytes as GiB (2**30) to two places, below 0.1 GiB as MiB."""
    return f"{size / 2**30:.2f} GiB" if size >= 0.1 * 2**30 else f"{size / 2**20:.1f} MiB"
