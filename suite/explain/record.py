# SPDX-License-Identifier: Apache-2.0
"""experiment.json: what an explanation was measured as. Its arms are runs in folders below it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from suite import bounded, migrate
from suite.ablation import Ablation
from suite.journal import EXPERIMENT, Unreadable
from suite.records import SCHEMA, from_json

ArmKind = Literal["unablated", "ablation", "together", "placement", "plain"]


class ExperimentArm(msgspec.Struct, frozen=True):
    """One arm: a run of its own below the experiment's folder.

    ``kind``: ``placement`` is the same target realised otherwise, ``plain`` the target without XLA; ``ablation`` holds
    what was taken away in full, so that the account can be made again without the stack's file.
    """

    name: str
    folder: str
    run_id: str
    kind: ArmKind
    ablation: Ablation | None = None


class Experiment(msgspec.Struct, frozen=True):
    """What was measured: the arms, and the order in which all samples ran (number of the arm, id of the sample).

    ``words``: those that were given, and SAMPLES, BUDGET, SHAPES and TARGETS whether given or not.
    """

    id: str
    created_utc: str
    command: list[str]
    seed: int
    arms: list[ExperimentArm]
    order: list[tuple[int, str]]
    words: dict[str, str] = {}
    schema: int = SCHEMA


def read(folder: Path) -> Experiment:
    """Read experiment.json. Raises :class:`suite.journal.Unreadable`."""
    path = folder / EXPERIMENT
    try:
        return msgspec.convert(migrate.to_current(from_json(bounded.whole(path))), Experiment)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error
