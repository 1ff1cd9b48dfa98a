# SPDX-License-Identifier: Apache-2.0
"""The stacks that are tested on a GPU, and how each reaches it."""

STACKS = {"jax": "jax0.11-cuda13", "torch": "torch2.11-cuda13", "tf": "tf2.18-cuda12.5"}
#: Target and placement.
PATHS = {"jax": ("XLA_GPU", "jit"), "torch": ("GPU", "device"), "tf": ("XLA_GPU", "jit")}
