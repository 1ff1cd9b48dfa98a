# SPDX-License-Identifier: Apache-2.0
"""What a worker tells of settings outside its adapter."""

from __future__ import annotations

import sys

import pytest

from suite.engines import WORKER

sys.path.insert(0, str(WORKER))
import settings  # noqa: E402 - the worker's modules import each other by bare name


@pytest.mark.parametrize(("value", "says"), [(None, "default"), ("true", "grows"), ("false", "default")])
def test_how_tensorflow_takes_a_gpus_memory_is_told(monkeypatch, value, says):
    """Fault: 139 GiB are in use, and nothing says that the process took them all at its first use."""
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    if value:
        monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", value)
    monkeypatch.setattr(settings.cuda_driver, "uuid", lambda index: "GPU-1")
    assert settings.gpu("/device:XLA_GPU:0") == {"gpu_uuid": "GPU-1", "gpu_memory": says}
    assert settings.gpu("/device:XLA_CPU:0") == {}
