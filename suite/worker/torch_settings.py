# SPDX-License-Identifier: Apache-2.0
"""PyTorch's settings that change arithmetic or speed: set where asked, and read, as part of what was measured."""

import os

import limits
import settings
from refusal import NotOffered

#: What PRECISION= asks, in PyTorch's own words. Its default is "highest": TF32 is off.
_WORDS = {"ieee": "highest", "tf32": "high", "bf16": "medium"}


def set_precision(torch, on_gpu, asked):
    """Have float32 matrices multiplied as ``asked`` ("default" leaves it). Raises :class:`NotOffered`.

    One API only: PyTorch 2.9 and later refuse to read one where the other was set.
    """
    if asked == "default":
        return
    missing = _missing(torch, on_gpu, asked)
    if missing:
        raise NotOffered("no_precision", "PRECISION=%s: %s" % (asked, missing), "PRECISION=default or ieee.")
    torch.set_float32_matmul_precision(_WORDS[asked])


def precision_in_force(torch, on_gpu):
    """Return "ieee", "tf32" or "bf16": how float32 matrices are multiplied on this device."""
    word = torch.get_float32_matmul_precision()
    if word == "highest":
        return "ieee"
    if on_gpu:
        # "medium" is TF32 as well: cuBLAS is not asked to multiply float32 in bfloat16.
        return "ieee" if _missing(torch, True, "tf32") else "tf32"
    asked = "tf32" if word == "high" else "bf16"
    return "ieee" if _missing(torch, False, asked) else asked


def _missing(torch, on_gpu, precision):
    """Return why this device does not multiply float32 so, "" where it does."""
    if precision == "ieee":
        return ""
    if on_gpu:
        if precision == "bf16":
            return "PyTorch multiplies float32 in bfloat16 on CPUs only"
        capability = torch.cuda.get_device_capability(0)
        return "" if capability >= (8, 0) else "TF32 needs compute capability 8.0, this is %d.%d" % capability
    # oneDNN rounds float32 products down only where the CPU has matrix units for it; else it takes float32's own.
    if precision == "tf32":
        return (
            "" if _has(torch, "_is_amx_fp16_supported") else "this CPU has no AMX-FP16, which oneDNN needs for it"
        )
    return "" if _has(torch, "_is_amx_tile_supported") else "this CPU has no AMX, which oneDNN needs for it"


def _has(torch, name):
    tells = getattr(torch.cpu, name, None)
    return bool(tells is not None and tells())


def facts(torch, on_gpu):
    """Return versions and settings, and of a GPU what it is and how much of its memory was used, in bytes."""
    import numpy

    threads = limits.threads()
    out = {
        "framework_version": torch.__version__,
        "framework_commit": torch.version.git_version,
        "numpy_version": numpy.__version__,
        "cpus": limits.cpus(),
        "intra_op_threads": threads or "default",
        "inter_op_threads": "default",
        "threads": torch.get_num_threads(),
        "optimizer": "default",
        "onednn": "on" if torch.backends.mkldnn.is_available() and torch._C._get_mkldnn_enabled() else "off",
        "mkl": torch.backends.mkl.is_available(),
        "built_with_cuda": torch.version.cuda or "none",
        "cuda_module_loading": settings.cuda_module_loading(),
        "soft_placement": False,
        "precision": precision_in_force(torch, on_gpu),
    }
    if on_gpu:
        out.update(_of_gpu(torch))
    return out


def _of_gpu(torch):
    properties = torch.cuda.get_device_properties(0)
    return {
        "cudnn": torch.backends.cudnn.version(),
        "gpu_name": properties.name,
        # NVML's form of it, in which CUDA_VISIBLE_DEVICES takes it too.
        "gpu_uuid": "GPU-%s" % (properties.uuid,),
        "compute_capability": "%d.%d" % (properties.major, properties.minor),
        "allocator": torch.cuda.get_allocator_backend(),
        "allocator_config": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
        "memory": dict(
            memory(torch),
            peak_bytes=torch.cuda.max_memory_allocated(0),
            peak_reserved_bytes=torch.cuda.max_memory_reserved(0),
        ),
    }


def memory(torch):
    """Return the GPU's free and total memory in bytes, as the driver tells it."""
    free, total = torch.cuda.mem_get_info(0)
    return {"free_bytes": free, "total_bytes": total}
