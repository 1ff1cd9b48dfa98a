# SPDX-License-Identifier: Apache-2.0
"""Adapter ``jax_jit``: one ``jax.jit`` function, lowered, compiled and called in steps of their own.

The verbs are those of every adapter (see tf_session.py). XLA compiles whatever JAX computes: a call outside
``jax.jit`` is compiled operation by operation, so there is no placement without a compiler here.
"""

import os

import cuda_driver
import hlo
import limits
import settings
from tf_session import Unavailable, nan_like

NAME = "jax_jit"

#: PRECISION= by JAX's own switch, the ``precision`` of a product: a Precision, or the name of a DotAlgorithmPreset.
PRECISIONS = {"default": None, "ieee": "HIGHEST", "tf32": "TF32_TF32_F32", "bf16": "BF16_BF16_F32"}
#: Kinds of device by the names that JAX has had for their platforms.
KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU"}
#: Tensor cores take TF32 and bfloat16 from this compute capability on.
AMPERE = (8, 0)


class Adapter(object):
    """One process's JAX, one device, one compiled function."""

    def __init__(self, request, timed_compiles):
        self._asked = request["device"]
        self._probes = request.get("kind") == "probe"
        self._precision = request["precision"]
        self._keeps_cache = request.get("level") == "process"
        self._threads = limits.threads(request.get("threads"))
        self._jax = None
        self._device = None
        self._m = None
        self._lowered = None
        self._compiled = None
        self._out = None

    def import_framework(self):
        """Import JAX; what it reads from the environment is set before."""
        if "CPU" in self._asked and not self._probes:
            os.environ["JAX_PLATFORMS"] = "cpu"  # a CPU sample starts no GPU, and has no share of its memory
        if self._threads is not None:
            os.environ["NPROC"] = str(self._threads)  # how XLA's pools learn how many threads to have
        if self._keeps_cache:
            # Kept whole: on its own JAX keeps only what took a second to compile.
            os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
            os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        else:
            # Off, as it is unless a user asks for it: writing entries that nobody reads would be timed as compiling.
            os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
        import jax
        import jax.numpy

        self._jax = jax

    def devices(self):
        """Return the names of all devices, as ``/device:CPU:0``; creates them.

        Each platform is asked for by name: ``jax.devices()`` falls back to the CPU where the GPU does not start.
        """
        return sorted(name for kind in ("CPU", "GPU") for name in self._of(kind))

    def open(self):
        """Create the devices. Raises :class:`Unavailable`, or NotOffered where it cannot multiply as asked."""
        kind = self._asked.split(":")[1]
        found = self._of(kind)
        if self._asked not in found:
            raise Unavailable(self._asked, self.devices())
        self._device = found[self._asked]
        if self._precision in ("tf32", "bf16") and not self._has_tensor_cores():
            raise settings.no_precision(self._precision, self._asked, self._device.device_kind)

    def memory(self):
        """Return what the device's allocator still gives, in bytes; None where it has no limit of its own (CPU)."""
        told = self._device.memory_stats() or {}
        if "bytes_limit" not in told:
            return None
        return {"free_bytes": int(told["bytes_limit"]) - int(told.get("bytes_in_use", 0))}

    def place(self, m):
        """Put the operand, shape (n, n), on the device; the outputs of an earlier call are let go."""
        self._out = None
        self._m = self._jax.device_put(m, self._device)
        self._m.block_until_ready()

    def build(self):
        """Trace and lower the call, under a new function object; nothing is compiled yet.

        The operand is an argument: what a traced function closes over becomes a constant, and folds.
        """
        self._lowered = self._jax.jit(self._new_function()).lower(self._m)
        self._compiled = None

    def compile(self):
        """Have XLA compile the lowered call."""
        self._compiled = self._lowered.compile()

    def execute(self):
        """Make the call once; return its scalar, a Python float on the host: fetching it waits for the call."""
        self._out = self._compiled(self._m)
        return float(self._out[0])

    def drain(self):
        """Wait until nothing is outstanding on the device: read what the last call wrote there last."""
        if self._out is not None:
            self._numpy(self._jax.block_until_ready(self._out)[2])

    def rescale(self, factor):
        """Multiply the operand by ``factor``, a power of two: exact, whatever the precision.

        On the host: JAX would compile the product, one more than what the cell is about.
        """
        self._m = self._jax.device_put(self._numpy(self._m) * factor, self._device)
        self._m.block_until_ready()

    def pending(self):
        """Tell whether the last call's outputs are still being made. Asked on a CPU only.

        On a GPU JAX learns of the end of work from another thread, and it has not been measured how late that is.
        """
        return KINDS.get(self._device.platform) == "CPU" and not all(each.is_ready() for each in self._out)

    def outputs(self):
        """Return the row sums and the last row of the last call, NumPy arrays of shape (n,)."""
        return {"rows": self._numpy(self._out[1]), "last": self._numpy(self._out[2])}

    def poison(self):
        """Let go of the kept outputs; NaN stands in their place: what is read afterwards is of a later call.

        JAX's arrays cannot be overwritten.
        """
        nan = nan_like(self._m, (self._m.shape[0],))
        self._out = (None, self._jax.device_put(nan, self._device), self._jax.device_put(nan, self._device))

    def evidence(self):
        """Return what ran: where the outputs of one more call are, and the module of this very executable."""
        out = self._compiled(self._m)
        self._jax.block_until_ready(out)
        names = sorted({_name(device) for each in out for device in each.devices()})
        return {
            "nodes": [],
            "modules": [hlo.module(self._compiled.as_text())],
            "compiled": True,
            "outputs_on": ", ".join(names),
        }

    def facts(self):
        """Return versions and settings that are part of what was measured."""
        import jaxlib
        import numpy

        config = self._jax.config
        out = {
            "framework_version": self._jax.__version__,
            "jaxlib_version": jaxlib.__version__,
            "numpy_version": numpy.__version__,
            "cpus": limits.cpus(),
            "intra_op_threads": self._threads or "default",
            "inter_op_threads": self._threads or "default",
            "optimizer": "default",
            "onednn": settings.onednn(),
            "cuda_module_loading": settings.cuda_module_loading(),
            "soft_placement": False,
            "x64": bool(config.jax_enable_x64),
            "default_matmul_precision": str(config.jax_default_matmul_precision),
            "asked_matmul_precision": str(PRECISIONS[self._precision]),
            "preallocate": os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "default"),
            "compilation_cache": "kept" if self._keeps_cache else "off",
            "precision": self._precision_in_force(),
        }
        if self._device is not None:
            out["device_kind"] = self._device.device_kind
            out["platform_version"] = self._device.client.platform_version
            out["memory"] = self._memory()
            if KINDS.get(self._device.platform) == "GPU":
                out["gpu_uuid"] = cuda_driver.uuid(self._device.local_hardware_id or 0)
        return out

    def is_out_of_memory(self, error):
        """Tell whether an exception of the framework means that memory ran out."""
        return "RESOURCE_EXHAUSTED" in str(error)

    def close(self):
        """Let go of what was held."""
        self._m = self._lowered = self._compiled = self._out = None

    def _new_function(self):
        numpy, precision = self._jax.numpy, self._switch()

        def call(m):
            product = numpy.matmul(m, m.T, precision=precision)
            return numpy.sum(product), numpy.sum(product, axis=1), product[-1]

        return call

    def _switch(self):
        name, lax = PRECISIONS[self._precision], self._jax.lax
        if name is None:
            return None
        return lax.Precision.HIGHEST if name == "HIGHEST" else lax.DotAlgorithmPreset[name]

    def _of(self, kind):
        """Return the devices of one kind ("CPU", "GPU") by name; none where its platform does not start."""
        try:
            found = self._jax.devices(kind.lower())
        except RuntimeError:
            return {}
        return {_name(device): device for device in found if KINDS.get(device.platform) == kind}

    def _has_tensor_cores(self):
        capability = str(getattr(self._device, "compute_capability", "0.0")).split(".")
        return KINDS.get(self._device.platform) == "GPU" and tuple(int(part) for part in capability[:2]) >= AMPERE

    def _precision_in_force(self):
        if self._precision != "default":
            return self._precision
        return "tf32" if self._device is not None and self._has_tensor_cores() else "ieee"

    def _memory(self):
        """Return what the device's allocator tells, in bytes: most in use so far, and its limit."""
        told = self._device.memory_stats() or {}
        names = {"peak_bytes": "peak_bytes_in_use", "limit_bytes": "bytes_limit"}
        return {name: int(told[key]) for name, key in names.items() if key in told}

    def _numpy(self, array):
        import numpy

        return numpy.asarray(array)


def _name(device):
    return "/device:%s:%d" % (KINDS.get(device.platform, device.platform.upper()), device.id)
