# SPDX-License-Identifier: Apache-2.0
"""Fixtures of several unit tests."""

from __future__ import annotations

import pytest

from tests.resuming import STACK, begin, copied


@pytest.fixture(scope="session")
def uncut(tmp_path_factory):
    """A run that nothing has disturbed."""
    return begin(tmp_path_factory.mktemp("uncut")).folder


@pytest.fixture
def folder(uncut, tmp_path):
    """A copy of it."""
    return copied(uncut, tmp_path / STACK / uncut.name)
