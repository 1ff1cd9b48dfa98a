# SPDX-License-Identifier: Apache-2.0
"""The one clock of a sample: CLOCK_MONOTONIC in seconds, the same on both sides of the channel.

Two processes may compare its readings when they share boot and time namespace, which is why the worker
reports both.
"""

import os
import time

now = time.monotonic


def executed_s(environ):
    """Return when this program was executed, where what started it has told; None elsewhere.

    A container's start lies between the parent's spawn and the program. What starts it there reads
    /proc/uptime (time since boot, in hundredths of a second) into COLDWARM_EXEC_UPTIME right before.
    """
    told = environ.get("COLDWARM_EXEC_UPTIME")
    if not told:
        return None
    since_boot = time.clock_gettime(7)  # CLOCK_BOOTTIME, which has no name in Python 3.6
    return float(told) - (since_boot - now())


def frame():
    """Return what decides whether another process may compare readings with ours.

    Returns
    -------
    dict
        ``boot_id`` and ``time_namespace`` as text, "" where the kernel does not say.
    """
    return {
        "boot_id": _read("/proc/sys/kernel/random/boot_id"),
        "time_namespace": _link("/proc/self/ns/time"),
    }


def _read(path):
    try:
        with open(path, "r", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""
