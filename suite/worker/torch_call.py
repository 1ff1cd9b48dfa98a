# SPDX-License-Identifier: Apache-2.0
"""What both PyTorch adapters share: the device, the operand on it, the call, and CUDA's events as a second clock.

The verbs are those of every adapter (see tf_session.py). ``memory`` and ``device_clock`` are further ones, which
an adapter may have.
"""

import clock
import limits
import torch_settings
from refusal import NotOffered
from tf_session import Unavailable, nan_like

CPU, GPU = "/device:CPU:0", "/device:GPU:0"
#: No further call on two clocks begins after so long.
DEVICE_CLOCK_S = 1.0
#: What CPython and CUDA's allocator say where memory ran out, beside an exception of a class of its own.
_NO_MEMORY = ("can't allocate memory", "CUDA out of memory", "CUDA error: out of memory")


def product_and_sums(m, rows, last):
    """The call: P = M M^T, its row sums and last row kept in ``rows`` and ``last``; returns its sum."""
    product = m @ m.t()
    rows.copy_(product.sum(1))
    last.copy_(product[-1])
    return product.sum()


class TorchAdapter(object):
    """One process's PyTorch, one device."""

    #: Nothing to compile, or compiled inside the first call.
    compile = None

    def __init__(self, request, timed_compiles):
        self._device = request["device"]
        self._precision = request["precision"]
        self._dtype = request["dtype"]
        self._on_gpu = self._device == GPU
        self._threads = limits.threads(request.get("threads"))
        self._torch = None
        self._tensors = {}
        self._function = None
        self._arguments = ()

    def import_framework(self):
        import torch

        self._torch = torch

    def devices(self):
        """Return the names of all devices, as ``/device:CPU:0``; creates none."""
        cuda = self._torch.cuda
        gpus = cuda.device_count() if cuda.is_available() else 0
        return [CPU] + ["/device:GPU:%d" % index for index in range(gpus)]

    def open(self):
        """Set what is asked and, on a GPU, create its context. Raises :class:`Unavailable`."""
        torch = self._torch
        # A sample on a CPU starts no CUDA.
        present = self.devices() if self._device != CPU else [CPU]
        if self._device not in present:
            raise Unavailable(self._device, present)
        torch.set_grad_enabled(False)
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        if self._on_gpu:
            torch.cuda.set_device(0)
            torch.cuda.synchronize()
        if self._dtype == "float32":
            torch_settings.set_precision(torch, self._on_gpu, self._precision)
        elif self._precision not in ("default", "bf16"):
            text = "PRECISION=%s is of float32, the operand is %s" % (self._precision, self._dtype)
            raise NotOffered("no_precision", text, "DTYPE=float32, or leave PRECISION= out.")

    def memory(self):
        """Return the device's free and total memory in bytes; None where it has none of its own."""
        return torch_settings.memory(self._torch) if self._on_gpu else None

    def place(self, m):
        """Put the operand, shape (n, n), on the device, and make room for the outputs there, as NaN."""
        torch = self._torch
        where = torch.device("cuda:0" if self._on_gpu else "cpu")
        n = m.shape[0]
        for name, value in (("m", m), ("rows", nan_like(m, (n,))), ("last", nan_like(m, (n,)))):
            self._tensors[name] = torch.from_numpy(value).to(where, getattr(torch, self._dtype), copy=True)
        self._arguments = tuple(self._tensors[name] for name in ("m", "rows", "last"))
        self.drain()

    def execute(self):
        """Make the call once; return its scalar, a Python float on the host."""
        return self._function(*self._arguments).item()

    def drain(self):
        """Wait until nothing is outstanding on the device."""
        if self._on_gpu:
            self._torch.cuda.synchronize()
        else:
            self._tensors["last"][-1].item()

    def rescale(self, factor):
        """Multiply the operand in its place by ``factor``, a power of two: exact, whatever the precision."""
        self._tensors["m"].mul_(factor)
        self.drain()

    def pending(self):
        """Tell whether the GPU has work of this process outstanding; False on a CPU, whose calls return when done."""
        return self._on_gpu and not self._torch.cuda.current_stream().query()

    def outputs(self):
        """Return the row sums and the last row of the last call, NumPy arrays of shape (n,)."""
        # Through float32, which holds every bfloat16: NumPy has no such type.
        return {name: self._tensors[name].cpu().float().numpy().copy() for name in ("rows", "last")}

    def poison(self):
        """Overwrite the kept outputs with NaN: what is read afterwards was written by a later call."""
        for name in ("rows", "last"):
            self._tensors[name].fill_(float("nan"))
        self.drain()

    def device_clock(self, calls):
        """Make further calls, each clocked by the wall as in the series and by two CUDA events around the same work.

        Parameters
        ----------
        calls
            How many; no more after DEVICE_CLOCK_S seconds, and at least 3.

        Returns
        -------
        dict
            ``wall_s`` and ``device_s``, a list each, in seconds; None on a device without events.
        """
        if not self._on_gpu:
            return None
        event = self._torch.cuda.Event
        begin, end = event(enable_timing=True), event(enable_timing=True)
        now, function, arguments = clock.now, self._function, self._arguments
        walls, device = [], []
        for _ in range(2):  # what events cost once is in neither clock
            begin.record()
            end.record()
            end.synchronize()
        until = now() + DEVICE_CLOCK_S
        while len(walls) < calls and (len(walls) < 3 or now() < until):
            before = now()
            begin.record()
            scalar = function(*arguments)
            end.record()
            scalar.item()
            walls.append(now() - before)
            end.synchronize()
            device.append(begin.elapsed_time(end) / 1e3)
        return {"wall_s": walls, "device_s": device}

    def facts(self):
        """Return versions and settings that are part of what was measured."""
        out = torch_settings.facts(self._torch, self._on_gpu)
        return dict(out, precision="bf16") if self._dtype == "bfloat16" else out

    def is_out_of_memory(self, error):
        """Tell whether an exception of the framework means that memory ran out."""
        if isinstance(error, self._torch.OutOfMemoryError):
            return True
        return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)

    def close(self):
        """Let go of what was held."""
        self._tensors.clear()
        self._arguments = ()
        self._function = None
