# SPDX-License-Identifier: Apache-2.0
"""Adapter ``torch_compile``: the call as ``torch.compile`` makes it, by Inductor, as a whole.

PyTorch compiles inside the first call, and offers no call that only compiles and is what that first call does
(``aot_compile`` makes something else that is called differently): ``compile`` is None, and what PyTorch itself records
about each compile is told with its time.
"""

import sys
import time
import types

import clock
import inductor
import torch_record
from torch_call import TorchAdapter, product_and_sums

NAME = "torch_compile"


class Adapter(TorchAdapter):
    """Compiles with the defaults, except that shapes are fixed and nothing may be left to Python."""

    def build(self):
        """Make the function; PyTorch's compiler is imported here, nothing is compiled yet."""
        # PyTorch keeps what it compiled by code object: the preparatory call and the cell's have one each.
        code = product_and_sums.__code__.replace(co_name="call")
        own = types.FunctionType(code, product_and_sums.__globals__, "call")
        self._function = self._torch.compile(own, fullgraph=True, dynamic=False)

    def execute(self):
        """Make the call once; return its scalar. Raises :class:`refusal.NotOffered` where no compiler is there."""
        try:
            return self._function(*self._arguments).item()
        except Exception as error:
            refused = inductor.refused(error)
            if refused is None:
                raise
            raise refused from error

    def evidence(self):
        """Return what ran, after the series; nothing of it is timed.

        Returns
        -------
        dict
            ``modules``: what Inductor wrote and this process loaded, with its matrix products; ``ran``: the products
            of one more call, as the profiler saw them; ``compile_events``: every compile of this process, as PyTorch
            recorded it; ``kernels``: what the GPU ran; ``outputs_on``: where the scalar of the call is.
        """
        torch = self._torch
        scalar = self._function(*self._arguments)
        return {
            "framework": "torch",
            "compiled": True,
            "modules": inductor.modules(),
            "ran": torch_record.ran(torch, self.execute),
            "compile_events": _compile_events(),
            "counters": inductor.counters(),
            "outputs_on": torch_record.device_name(scalar.device),
            "kernels": torch_record.kernels(torch, self.execute) if self._on_gpu else [],
        }

    def close(self):
        """Let go of what was held, and of the processes that compile."""
        TorchAdapter.close(self)
        pools = sys.modules.get("torch._inductor.async_compile")
        if pools is not None:
            pools.shutdown_compile_workers()


def _compile_events():
    """Return begin, on the sample's clock, and length of each compile that PyTorch recorded, in seconds."""
    from torch._dynamo.utils import get_compilation_metrics

    # PyTorch records the time of day.
    ahead = time.time() - clock.now()
    return [
        {"begin_s": each.start_time_us / 1e6 - ahead, "seconds": (each.end_time_us - each.start_time_us) / 1e6}
        for each in get_compilation_metrics()
        if each.start_time_us and each.end_time_us and each.fail_type is None
    ]
