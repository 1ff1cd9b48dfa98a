# SPDX-License-Identifier: Apache-2.0
"""Runs that were measured together and ended early, opened again: the same for a comparison and an explanation."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from suite import claim
from suite.bench import Bench
from suite.journal import Journal
from suite.ready import Ready
from suite.resume import Earlier
from suite.watch import Watch


class EndedEarly(Protocol):
    """What was measured in several arms and ended early."""

    @property
    def arms(self) -> list[Earlier]:
        """Each arm as a run that ended early."""

    def read_again(self: Ended) -> Ended:
        """Return the same as its folders tell it now that no other process can add to them."""


Ended = TypeVar("Ended", bound=EndedEarly)


def reopened(
    earlier: Ended, made: Sequence[Ready], environ: Mapping[str, str], held: contextlib.ExitStack
) -> tuple[Ended, list[Bench]]:
    """Claim the GPUs, open every arm's journal, and return ``earlier`` as it is now and a bench an arm, on one watch.

    ``made``: what each arm is measured with, in their order. ``held`` closes all of it. Raises SuiteError NOT_PREPARED
    where another process is measuring into one of the arms, or holds a GPU.
    """
    claim.for_all([arm.run for arm in earlier.arms], held)
    logs = []
    for arm in earlier.arms:
        logs.append(Journal.reopen(arm.folder))
        held.callback(logs[-1].close)
    earlier = earlier.read_again()
    watch = held.enter_context(Watch(environ))
    benches = []
    for arm, ready, log in zip(earlier.arms, made, logs, strict=True):
        setting = ready.setting(arm.run, arm.folder, watch, arm.session)
        setting.caches.recover(setting.raw, arm.run.plan.cells)
        benches.append(Bench(arm.run, setting, log, watch, taken=arm.samples, alone=False))
    return earlier, benches
