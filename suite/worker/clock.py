# SPDX-License-Identifier: Apache-2.0
"""The one clock of a sample: CLOCK_MONOTONIC in seconds, the same on both sides of the channel.

Two processes may compare its readings when they share boot and time namespace, which is why the worker
reports both.
"""

import os
import time

now = time.monotonic


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
