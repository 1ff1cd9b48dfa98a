# SPDX-License-Identifier: Apache-2.0
"""Driver versions against what a stack needs."""

from __future__ import annotations

import pytest

from suite import drivers, stack


@pytest.mark.parametrize(
    ("version", "wanted", "enough"),
    [
        ("410.48", "410.48", True),
        ("410.104", "410.48", True),
        ("410.5", "410.48", False),
        ("535.54.03", "535.54", True),
        ("535.54", "535.54.03", False),
        ("9.9", "10.0", False),
        ("525.60.13", "525.60.2", True),
    ],
)
def test_versions_are_numbers(version, wanted, enough):
    """Fault: 9 after 10, 104 before 48, as texts compare."""
    assert drivers.at_least(version, wanted) is enough


@pytest.mark.parametrize(
    ("driver", "minimum", "cuda", "state"),
    [
        ("384.81", "410.48", "10.0.130", "too_old"),
        ("410.48", "410.48", "10.0.130", "enough"),
        ("525.60.13", "525.60.13", "12.5.82", "minor_version"),
        ("555.42.02", "525.60.13", "12.5.82", "enough"),
        ("580.65.06", "525.60.13", "12.5.82", "enough"),
        (None, "525.60.13", "12.5.82", "unknown"),
        ("[N/A]", "525.60.13", "12.5.82", "unknown"),
        ("600.1", "525.60.13", "99.9", "enough"),
    ],
)
def test_what_a_driver_is_to_a_stack(driver, minimum, cuda, state):
    """Fault: a driver of the same major counts as too old, or an unknown one as new enough."""
    found = drivers.check(driver, minimum, cuda)
    assert found.state == state
    assert bool(found.next_step) is (state != "enough")


def test_the_table_rises():
    """Fault: a mistyped driver: a later CUDA with an earlier one."""
    cudas = list(drivers.OWN_DRIVER)
    assert cudas == sorted(cudas, key=drivers.numbers)
    for earlier, later in zip(cudas, cudas[1:], strict=False):
        assert not drivers.at_least(drivers.OWN_DRIVER[earlier], drivers.OWN_DRIVER[later])
    for cuda in cudas:
        assert drivers.cuda_of(drivers.OWN_DRIVER[cuda]) == cuda
    assert drivers.cuda_of("300.1") is None


def test_ptx_needs_the_driver_of_its_cuda():
    """Fault: minor version compatibility is taken to hold for PTX, too."""
    assert drivers.loads_ptx_of("525.60.13", "12.5") is False
    assert drivers.loads_ptx_of("555.42.02", "12.5.82") is True
    assert drivers.loads_ptx_of("555.42.02", "99.1") is None


@pytest.mark.parametrize("name", stack.names())
def test_no_stack_asks_for_less_than_its_majors_first_driver(name):
    """Fault: a minimum driver that could never load the CUDA that the stack ships."""
    cuda = stack.load(name).definition.cuda
    major = cuda.ships.cuda.split(".")[0]
    first = drivers.numbers("450.36.06") if major == "11" else drivers.numbers(drivers.OWN_DRIVER[f"{major}.0"])
    assert drivers.numbers(cuda.minimum_driver) >= first
    # Before CUDA 11 there is no minor version compatibility.
    if int(major) < 11:
        assert cuda.minimum_driver == drivers.own_driver(cuda.ships.cuda)
