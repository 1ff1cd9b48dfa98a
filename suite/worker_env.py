# SPDX-License-Identifier: Apache-2.0
"""The environment of a worker: an allow-list, so that nothing of the user's shell changes a number unseen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: A system's own path: a framework looks there for ptxas or ldconfig, never in the user's shims.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: What a worker takes for its user's name.
USER = "coldwarm"

#: Passed on where the user has set them, and recorded with the run.
PASSED_ON = (
    "CUDA_VISIBLE_DEVICES",  # which GPU
    "NVIDIA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",  # where the local engine's CUDA libraries are
    "OMP_NUM_THREADS",  # limits that an administrator or a batch system sets
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_CORETYPE",  # older OpenBLAS builds compute wrong results on CPUs they do not know
    "OPENBLAS_L2_SIZE",
)


def clean_environment(environ: Mapping[str, str], home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return a worker's whole environment.

    Parameters
    ----------
    environ
        The caller's environment, of which only PASSED_ON is taken.
    home
        The worker's private HOME.
    extra
        Set last: the stack's own variables and the private cache folders.
    """
    out = {
        "PATH": SYSTEM_PATH,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        # A container's uid is in no passwd file of its image, and who asks for its name (Inductor, when it is imported)
        # fails; one name for all, so that no path tells whose run it was.
        "USER": USER,
        "LOGNAME": USER,
        # Frameworks drop their own log level below what proves a compile if the user's shell says so.
        "TF_CPP_MIN_LOG_LEVEL": "0",
    }
    out.update({name: environ[name] for name in PASSED_ON if name in environ})
    out.update(extra)
    return out
