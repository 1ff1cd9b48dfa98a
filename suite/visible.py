# SPDX-License-Identifier: Apache-2.0
"""Why CUDA_VISIBLE_DEVICES leaves a process without a GPU, in words: CUDA itself says only that there is none."""

from __future__ import annotations

VARIABLE = "CUDA_VISIBLE_DEVICES"


def why_hidden(value: str | None) -> str:
    """Return why a process that sees no GPU may see none because of CUDA_VISIBLE_DEVICES; "" where it is not set.

    Rules: CUDA C++ Programming Guide, "CUDA Environment Variables": only the GPUs named are visible, in that order,
    and a name that is not a GPU's hides all that follow it. A GPU that is named twice hides all (seen on driver 580).
    """
    if value is None:
        return ""
    names = [each.strip() for each in value.split(",")]
    shown = f"{VARIABLE}={value}"
    if not value.strip():
        return f"{VARIABLE} is set and empty: it hides every GPU"
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        return f"{shown} names {', '.join(twice)} twice: CUDA then shows no GPU at all"
    if names[0].startswith("-") or names[0] == "NoDevFiles":
        return f"{shown} hides every GPU"
    return f"{shown} is set: where its first is no GPU of this machine, all are hidden"
