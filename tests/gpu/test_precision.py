# SPDX-License-Identifier: Apache-2.0
"""Scenario H5: the precision of a row is what its entries show, not what a variable is called."""

from __future__ import annotations

import pytest

from tests.gpu.paths import PATHS
from tests.integration.harness import plant

pytestmark = [pytest.mark.real, pytest.mark.gpu]


#: A row that says ieee, multiplied in TF32.
PRETENDING = {
    "torch": """
import torch_settings
told = torch_settings.facts
def facts(torch, on_gpu):
    return dict(told(torch, on_gpu), precision="ieee")
torch_settings.facts = facts
asked = torch_settings.set_precision
torch_settings.set_precision = lambda torch, on_gpu, precision: asked(torch, on_gpu, "tf32")
""",
    "jax": """
import jax_jit
told = jax_jit.Adapter.facts
jax_jit.Adapter.facts = lambda self: dict(told(self), precision="ieee")
made = jax_jit.Adapter.__init__
def init(self, request, timed_compiles):
    made(self, dict(request, precision="tf32"), timed_compiles)
jax_jit.Adapter.__init__ = init
""",
}


@pytest.mark.parametrize("precision", ["default", "ieee", "tf32"])
@pytest.mark.parametrize("name", ["jax", "torch"])
def test_each_precision_is_the_one_in_force(on, name, precision):
    """Fault held: PRECISION= that is set and not in force."""
    target, placement = PATHS[name]
    sample = on(name).take(target, 4096, placement=placement, precision=precision, warm_calls=20)
    assert sample.status == "ok", (sample.reason, sample.proofs)
    in_force = sample.facts["precision"]
    defaults = {"jax": "tf32", "torch": "ieee"}
    assert in_force == (defaults[name] if precision == "default" else precision)
    # By the product's entries, not by what anything is called.
    assert sample.facts["effective_precision"] == in_force
    print(f"{name} {precision}: {in_force}; {sample.proofs['result'].text}")


@pytest.mark.parametrize("n", [50, 1000, 4096, 15000])
@pytest.mark.parametrize("name", ["jax", "torch"])
def test_tf32_that_says_ieee_is_a_wrong_result(on, tmp_path, name, n):
    """Fault held: a tolerance wide enough to take TF32 (error 1e-4) for full float32 (1e-6)."""
    target, placement = PATHS[name]
    worker = plant(tmp_path / "worker", PRETENDING[name])
    sample = on(name).take(target, n, placement=placement, precision="ieee", worker=worker, warm_calls=20)
    assert sample.status == "wrong_result", (sample.status, sample.reason, sample.proofs)
