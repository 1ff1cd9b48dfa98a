# SPDX-License-Identifier: Apache-2.0
"""Asks the NVIDIA driver that the framework has loaded which GPU a device number of this process is."""

import ctypes


def uuid(number):
    """Return the UUID of this process's GPU ``number`` as nvidia-smi prints it; None where the driver does not say.

    The number counts as CUDA_VISIBLE_DEVICES lets the process see. cuDeviceGetUuid: CUDA Driver API, "Device
    Management"; it needs a driver that is initialised, which the framework has seen to.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(number)) != 0:
            return None
        if driver.cuDeviceGetUuid(ctypes.byref(raw), device) != 0:
            return None
    except (OSError, AttributeError):
        return None
    digits = "".join("%02x" % byte for byte in raw)
    return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
