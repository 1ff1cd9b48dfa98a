# SPDX-License-Identifier: Apache-2.0
"""How many of the loaded modules came from compiled files: a missing .pyc doubles a framework's import."""

import os
import struct
import sys


def loaded_from_cache():
    """Return the share of source modules now loaded whose compiled file is there and fits its source.

    The worker runs with ``-B``, so no compiled file can have been written by this process: one that is
    there and fits was used (importlib's own rule: magic number, source time and size, PEP 552).

    Returns
    -------
    dict
        ``modules`` (with a source file), ``cached``, ``share`` in [0, 1], ``missing``: up to 5 names.
    """
    import importlib.util

    magic = importlib.util.MAGIC_NUMBER
    modules = cached = 0
    missing = []
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None)
        compiled = getattr(spec, "cached", None)
        if not origin or not compiled or not origin.endswith(".py") or _is_ours(origin):
            continue
        modules += 1
        if _fits(compiled, origin, magic):
            cached += 1
        elif len(missing) < 5:
            missing.append(name)
    share = float(cached) / modules if modules else 1.0
    return {"modules": modules, "cached": cached, "share": share, "missing": missing}


def _is_ours(origin):
    # The worker's own folder is mounted read-only and never compiled: a dozen small files.
    return os.path.dirname(os.path.abspath(origin)) == os.path.dirname(os.path.abspath(__file__))


def _fits(compiled, origin, magic):
    try:
        with open(compiled, "rb") as file:
            header = file.read(16)
        status = os.stat(origin)
    except OSError:
        return False
    if header[:4] != magic:
        return False
    if sys.version_info < (3, 7):
        mtime, size = struct.unpack("<II", header[4:12])
    else:
        flags, mtime, size = struct.unpack("<III", header[4:16])
        if flags & 1:  # checked or not by hash instead of time: not written by compileall's default
            return True
    return mtime == int(status.st_mtime) & 0xFFFFFFFF and size == status.st_size & 0xFFFFFFFF
