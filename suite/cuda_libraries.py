# SPDX-License-Identifier: Apache-2.0
"""Which of CUDA's libraries a framework looked for and did not find: from its own words. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MissingLibraries:
    """CUDA's libraries that a framework looked for and did not find; no ``names`` where it names none."""

    names: tuple[str, ...]
    text: str
    next_step: str


#: TensorFlow 1.14 says the first, 1.15 to 2.15 the second; what dlerror names may be a library that this one needs.
_NOT_LOADED = re.compile(
    r"Could not (?:dlopen library|load dynamic library) '([^']+)'; dlerror: ([^;\n]*)", re.MULTILINE
)
_NOT_NAMED = re.compile(r"Cannot dlopen (?:some GPU|all CUDA) libraries")
#: Looked for by every start, needed by none of our cells; and the driver's own, whose absence is another matter.
_NOT_CUDA = ("libnvinfer", "libcuda.so", "libnvidia-ml")
#: No driver or no GPU: that is why there is no GPU, and a library more would not help.
_NO_DRIVER = re.compile(
    r"'libcuda\.so\.1'; dlerror|failed call to cuInit|Could not find cuda drivers|no CUDA-capable device"
)


def missing_libraries(stderr: str, devices: Sequence[str]) -> MissingLibraries | None:
    """Return which of CUDA's libraries keep the device GPU away, or None where it is there or something else does.

    TensorFlow goes on without: XLA_GPU is listed as soon as there is a driver, GPU only when every library loads
    (tensorflow/tensorflow#30748). So "XLA_GPU and no GPU" is a diagnosis, not a choice.

    Parameters
    ----------
    stderr
        The worker's own.
    devices
        What the framework listed: ``/device:XLA_GPU:0`` or ``XLA_GPU:0``.
    """
    kinds = {each.replace("/device:", "").split(":")[0] for each in devices}
    if "GPU" in kinds or ("XLA_GPU" not in kinds and _NO_DRIVER.search(stderr)):
        return None
    found: dict[str, str] = {}
    for wanted, dlerror in _NOT_LOADED.findall(stderr):
        if not wanted.startswith(_NOT_CUDA):
            found[wanted] = dlerror.partition(":")[0].strip()
    if not found and not _NOT_NAMED.search(stderr):
        return None
    seen = "XLA_GPU but no GPU: " if "XLA_GPU" in kinds else "no GPU: "
    step = (
        "The stack's image has them (ENGINE=docker), as has WHEELS=cuda where CUDA comes as wheels; "
        "else they must lie on LD_LIBRARY_PATH in these very versions: a newer CUDA's do not serve."
    )
    if not found:
        return MissingLibraries(
            (), f"{seen}CUDA libraries cannot be loaded; this version does not name them", step
        )
    words = [f"{name} (which needs {cause})" if _other(cause, name) else name for name, cause in found.items()]
    return MissingLibraries(tuple(found), f"{seen}{', '.join(words)} cannot be loaded", step)


def _other(cause: str, name: str) -> bool:
    return cause.startswith("lib") and cause != name
