# SPDX-License-Identifier: Apache-2.0
"""What a process does for the first time between two moments: code it touches, threads it starts, CPU it uses.

Asked for by ``explain`` alone. Nothing here runs inside a phase that is measured.
"""

import os
import resource

#: A library of which less has come into memory was not used for the first time.
LEAST_KB = 64


def used():
    """Return what is quick to read: CPU seconds of the process and its children, threads, minor page faults."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_s": sum(os.times()[:4]), "threads": _threads(), "faults": own.ru_minflt}


def libraries():
    """Return how many kB of each shared library this process holds in memory, by its file's name.

    From /proc/self/smaps: what has not been touched yet is not there.
    """
    out = {}
    name = ""
    for line in _lines("/proc/self/smaps"):
        words = line.split()
        if words[0] == "Rss:":
            if name:
                out[name] = out.get(name, 0) + int(words[1])
        elif not words[0].endswith(":"):
            path = words[5] if len(words) > 5 else ""
            name = os.path.basename(path) if ".so" in os.path.basename(path) else ""
    return out


def between(used_before, used_after, libraries_before, libraries_after):
    """Return what two readings of both functions above differ by.

    Returns
    -------
    dict
        ``cpu_s``, ``threads``, ``faults``: how much more; ``libraries``: kB that were touched for the first time, of
        those with at least LEAST_KB.
    """
    out = {name: used_after[name] - used_before[name] for name in used_after}
    grown = {name: kb - libraries_before.get(name, 0) for name, kb in libraries_after.items()}
    out["libraries"] = {name: kb for name, kb in grown.items() if kb >= LEAST_KB}
    return out


def _threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def _lines(path):
    try:
        with open(path, "r", encoding="utf-8", errors="surrogateescape") as file:
            return file.readlines()
    except OSError:
        return []
