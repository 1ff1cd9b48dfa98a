# SPDX-License-Identifier: Apache-2.0
"""Settings outside an adapter that change arithmetic or speed: read, so that they are part of what was measured."""

import os
import sys


def onednn():
    """Return "on" or "off" as TensorFlow decides about its oneDNN kernels; "not told" where it does not say.

    On by default from TensorFlow 2.9 on x86; TF_ENABLE_ONEDNN_OPTS decides where it is set.
    """
    for name in (
        "tensorflow.python.util._pywrap_util_port",
        "tensorflow.python._pywrap_util_port",
        "tensorflow.python.pywrap_tensorflow",  # TensorFlow 1
    ):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "IsMklEnabled"):
            return "on" if module.IsMklEnabled() else "off"
    return "not told"


def cuda_module_loading():
    """Return CUDA_MODULE_LOADING, or "default": lazy from CUDA 12.2 on, eager before."""
    return os.environ.get("CUDA_MODULE_LOADING", "default")
