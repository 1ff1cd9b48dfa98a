# SPDX-License-Identifier: Apache-2.0
"""Settings outside an adapter that change arithmetic or speed: read, so that they are part of what was measured."""

import os
import sys

import cuda_driver
import refusal


def no_precision(precision, device, what):
    """Return the exception that says that a device, or the framework on it, has no such way to multiply."""
    text = "%s does not multiply in %s (%s)" % (device, precision, what)
    return refusal.NotOffered("no_precision", text, "PRECISION=default and ieee are there on every device.")


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


def gpu(device):
    """Return which GPU a TensorFlow process computes on, and how it takes its memory; {} where it computes on none.

    ``gpu_memory``: "default", nearly all of it at the first use, or "grows" (TF_FORCE_GPU_ALLOW_GROWTH=true).
    """
    if "GPU" not in device:
        return {}
    grows = os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "") == "true"
    return {"gpu_uuid": cuda_driver.uuid(0), "gpu_memory": "grows" if grows else "default"}


def forbid_tf32(tf):
    """Have ``tf`` multiply float32 as IEEE 754 says. From 2.4 on TF32 is the default, on GPUs that have it."""
    if knows_tf32(tf):
        tf.config.experimental.enable_tensor_float_32_execution(False)


def set_precision(tf, precision, device):
    """Have ``tf`` multiply float32 as ``precision`` says. Raises NotOffered where it cannot."""
    if precision == "ieee":
        forbid_tf32(tf)
    elif precision == "tf32":
        if knows_tf32(tf):
            tf.config.experimental.enable_tensor_float_32_execution(True)
        if precision_in_force(tf, device) != "tf32":
            raise no_precision(precision, device, "TensorFlow %s" % tf.__version__)
    elif precision != "default":
        # Its products of float32 know no bfloat16: that is another dtype.
        raise no_precision(precision, device, "TensorFlow %s" % tf.__version__)


def precision_in_force(tf, device):
    """Return "tf32" where ``device`` multiplies float32 with TF32's 11 bits, else "ieee"."""
    if "GPU" not in device or not knows_tf32(tf):
        return "ieee"
    if not tf.config.experimental.tensor_float_32_execution_enabled():
        return "ieee"
    details = [tf.config.experimental.get_device_details(each) for each in tf.config.list_physical_devices("GPU")]
    # Tensor cores take TF32 from compute capability 8.0 on.
    ampere = any(each.get("compute_capability", (0, 0))[0] >= 8 for each in details)
    return "tf32" if ampere else "ieee"


def knows_tf32(tf):
    """Tell whether this TensorFlow knows of TF32: those built with CUDA 11 or later do, from 2.4 on."""
    return hasattr(tf.config.experimental, "tensor_float_32_execution_enabled")
