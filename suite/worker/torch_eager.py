# SPDX-License-Identifier: Apache-2.0
"""Adapter ``torch_eager``: PyTorch as most people run it, operation by operation."""

import torch_record
from torch_call import TorchAdapter, product_and_sums

NAME = "torch_eager"


class Adapter(TorchAdapter):
    """Nothing is built but a Python function."""

    def build(self):
        """Take the function; nothing runs yet."""
        self._function = product_and_sums

    def evidence(self):
        """Make one untimed call under a dispatch mode and return what ran.

        Returns
        -------
        dict
            ``operations``: see :func:`torch_record.operations`; ``kernels``: what the GPU ran, by CUPTI;
            ``outputs_on``: where the scalar of the call is.
        """
        torch = self._torch
        scalar, operations = torch_record.operations(torch, self._function, self._arguments, ("m", "rows", "last"))
        return {
            "framework": "torch",
            "compiled": False,
            "operations": operations,
            "outputs_on": torch_record.device_name(scalar.device),
            "kernels": torch_record.kernels(torch, self.execute) if self._on_gpu else [],
        }
