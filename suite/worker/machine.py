# SPDX-License-Identifier: Apache-2.0
"""How much CPU time the whole machine has spent: what the worker's own is set beside, from its first word to its last.

In a container too: /proc/stat is the host's there.
"""

import os

STAT = "/proc/stat"


def cpu_s(path=STAT):
    """Return the CPU seconds of all CPUs since boot that were busy or stolen by a hypervisor; None where none tells.

    Columns as in proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are within the first two.
    """
    try:
        with open(path, "r", encoding="ascii") as file:
            words = file.readline().split()
        if words[:1] != ["cpu"]:
            return None
        jiffies = [int(word) for word in words[1:9]]
    except (OSError, ValueError):
        return None
    return float(sum(jiffies) - sum(jiffies[3:5])) / os.sysconf("SC_CLK_TCK")
