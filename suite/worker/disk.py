# SPDX-License-Identifier: Apache-2.0
"""Cold level ``disk``: drop a framework's files from the page cache, and tell what a later start then had to read.

What a process read from the disk is told by the kernel's own count, not by mincore, which misleads callers who do
not own the files: it shows root-owned ones as resident whatever they are.
"""

import contextlib
import os
import sys


def roots():
    """Return the folders of installed packages of this interpreter."""
    return [path for path in sys.path if path.rstrip("/").endswith(("site-packages", "dist-packages"))]


def drop():
    """Ask the kernel to let go of the cached pages of every installed file; no root is needed.

    Returns
    -------
    dict
        ``files`` and ``bytes`` that it was asked for; what it keeps (pages that another process maps, say) is told by
        nobody here: the sample that follows proves it.
    """
    files = size = 0
    for root in roots():
        for folder, _, names in os.walk(root):
            for name in names:
                try:
                    descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW)
                except OSError:
                    continue
                with contextlib.suppress(OSError):
                    os.fdatasync(descriptor)  # a page that is not written yet cannot be dropped
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                    files += 1
                    size += os.fstat(descriptor).st_size
                os.close(descriptor)
    return {"files": files, "bytes": size}


def read_bytes():
    """Return how many bytes this process has made the kernel read from the disk so far; None where it is not told."""
    for line in _lines("/proc/self/io"):
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return None


def used_bytes():
    """Return how many bytes of installed files this process holds: pages of mapped ones, and compiled modules.

    All of it must have been read from the disk if nothing of it was cached.
    """
    under = tuple(roots())
    mapped, path = 0, ""
    for line in _lines("/proc/self/smaps"):
        words = line.split()
        if words[0] == "Rss:":
            if path.startswith(under):
                mapped += 1024 * int(words[1])
        elif not words[0].endswith(":"):
            path = words[5] if len(words) > 5 else ""
    compiled = 0
    for module in list(sys.modules.values()):
        cached = getattr(module, "__cached__", None)
        if isinstance(cached, str) and cached.startswith(under):
            with contextlib.suppress(OSError):
                compiled += os.stat(cached).st_size
    return mapped + compiled


def _lines(path):
    try:
        with open(path, "r", encoding="utf-8", errors="surrogateescape") as file:
            return file.readlines()
    except OSError:
        return []
