# SPDX-License-Identifier: Apache-2.0
"""How much CPU this process may use, and so how many threads a framework should have.

Frameworks count the CPUs that a process may run on, but not the share of them that a cgroup's quota leaves: with half
a CPU they start a thread for each CPU of the machine, which then wait for each other.
"""

import math
import os

ROOT = "/sys/fs/cgroup"


def cpus():
    """Return what limits this process.

    Returns
    -------
    dict
        ``machine``: CPUs there are; ``affinity``: CPUs it may run on; ``quota``: CPUs' worth of time that its
        cgroups leave, None without a quota; ``effective``: the smaller of the last two.
    """
    affinity = len(os.sched_getaffinity(0))
    quota = _quota()
    return {
        "machine": os.cpu_count(),
        "affinity": affinity,
        "quota": quota,
        "effective": affinity if quota is None else min(affinity, quota),
    }


def threads(asked=None):
    """Return how many threads to ask a framework for; None where nothing limits it: then it decides.

    ``asked``: what the request wants, which goes before everything.
    """
    if asked:
        return int(asked)
    found = cpus()
    if found["effective"] >= found["machine"]:
        return None
    return max(1, int(math.ceil(found["effective"])))


def throttlings():
    """Return how often a quota has stopped this process's cgroups so far; 0 where none tells."""
    found = [0]
    for folder in _folders():
        for line in _read(folder + "/cpu.stat").splitlines():
            name, _, count = line.partition(" ")
            if name == "nr_throttled":
                found.append(int(count))
    return max(found)


def _quota():
    found = []
    for folder in _folders():
        text = _read(folder + "/cpu.max")
        if text:
            quota, period = text.split()
            if quota != "max":
                found.append(float(quota) / float(period))
            continue
        quota, period = _read(folder + "/cpu.cfs_quota_us"), _read(folder + "/cpu.cfs_period_us")
        if quota and period and int(quota) > 0:
            found.append(float(quota) / float(period))
    return min(found) if found else None


def _folders():
    """Return the folders of this process's CPU cgroups and of those above them; in a container the root is its own."""
    out = [ROOT, ROOT + "/cpu", ROOT + "/cpu,cpuacct"]
    for line in _read("/proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number != "0" and "cpu" not in controllers.split(","):
            continue
        base = ROOT if number == "0" else ROOT + "/" + controllers
        while path not in ("", "/"):
            out.append(base + path)
            path = path.rpartition("/")[0]
    return out


def _read(path):
    try:
        with open(path, "r", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
