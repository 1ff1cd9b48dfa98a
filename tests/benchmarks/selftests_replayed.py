# SPDX-License-Identifier: Apache-2.0
"""How often a selftest finds a difference where there is none, and how often it finds one of 10 %: by real samples.

    python -m tests.benchmarks.selftests_replayed --pool results/selftest/<id> --repeats 1000

Samples of stored runs (``bench`` or ``selftest``, both sides together) are a pool for each cell. A replayed selftest
draws K processes a cell and side from it, with replacement, and gives them to ``suite.comparison.compare``: the code of
``selftest``, from samples to verdicts. Both sides come from one pool, so each FASTER or SLOWER is a false alarm. Then
one quantity of one cell is made 10 % longer on side b, and what is found is power.

Two ways to draw (``--draw``):

``processes``
    Each process by itself. What the processes of a block had in common is lost, so pairing wins nothing.
``blocks``
    Only from selftests: a whole stored block, both sides and all cells together, its sides swapped by a coin. What a
    block has in common stays, as in a real selftest, and with the coin no difference is true. Blocks that lack a
    sample are left out.

Beside the share found stands the smallest detectable difference that ``selftest`` prints: in half of the replayed ones
and in 80 % of them it is no more than this. It rests on the spread of K values and so differs from run to run.
A difference that is sure but within the margin of 5 % is SAME and no false alarm, here as there.

Exit code: 0; 1 where more than 6 % of the selftests find a difference (whatever K, either way to draw), where 10 %
at the largest K is found in fewer than 80 % (the share's 95 % interval lies below) for a quantity whose smallest
detectable difference is no more than that in 80 % of them, or where no quantity is so; 2 where the pool cannot be used.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import msgspec

from suite import collect, comparison, journal, selftest, steadiness
from suite.comparison import QUANTITIES, Quantity, Row, Side
from suite.records import Planned, Run, Sample, Warm
from suite.steadiness import Steadiness

MOST_FALSE = 0.06
LEAST_POWER = 0.8
PLANTED = 1.10
#: With fewer processes in a pool than this, what is drawn says little of how processes differ.
LEAST_POOL = 10

#: One cell's sample on either side.
Drawn = dict[str, Sample]
#: Draws one block: what side a and side b measured of each cell.
Draw = Callable[[random.Random], tuple[Drawn, Drawn]]


@dataclass(frozen=True)
class Pool:
    """``by_cell``: the ok prepared samples of each cell; ``blocks``: those that two sides took in one block."""

    run: Run
    by_cell: dict[str, list[Sample]]
    blocks: list[tuple[Drawn, Drawn]]

    def processes(self, rng: random.Random) -> tuple[Drawn, Drawn]:
        first, second = ({cell: rng.choice(found) for cell, found in self.by_cell.items()} for _ in "ab")
        return first, second

    def of_block(self, rng: random.Random) -> tuple[Drawn, Drawn]:
        first, second = rng.choice(self.blocks)
        return (first, second) if rng.random() < 0.5 else (second, first)


def read_pool(folders: Sequence[Path]) -> Pool:
    """Read stored runs into one pool; ValueError where they have no cell in common, or no sample."""
    runs, taken, blocks = [], [], []
    for folder in folders:
        for path in collect.run_folders(folder):
            run = journal.read_run(path)
            samples = [
                each
                for each in journal.read_samples(path)[0]
                if each.kind == "prepared" and each.status == "ok" and not each.again and each.warm
            ]
            runs.append(run)
            taken.append({cell.id: [each for each in samples if each.cell == cell.id] for cell in run.plan.cells})
    if not runs:
        raise ValueError("no stored run")
    stacks = {run.stack["name"] for run in runs}
    if len(stacks) > 1:
        raise ValueError(f"runs of several stacks: {', '.join(sorted(stacks))}")
    cells = [cell for cell in taken[0] if all(found.get(cell) for found in taken)]
    if not cells:
        raise ValueError("no cell of which every run has an ok sample")
    for folder in folders:
        for path in collect.comparison_folders(folder):
            blocks += _blocks(path, cells)
    by_cell = {cell: [each for found in taken for each in found[cell]] for cell in cells}
    return Pool(runs[0], by_cell, blocks)


def _blocks(folder: Path, cells: Sequence[str]) -> list[tuple[Drawn, Drawn]]:
    """Return the blocks of one selftest in which both sides have every cell."""
    sides: list[dict[int, Drawn]] = []
    for arm in selftest.read(folder).arms[:2]:
        found: dict[int, Drawn] = {}
        for each in journal.read_samples(folder / arm.folder)[0]:
            if each.kind == "prepared" and each.status == "ok" and not each.again and each.cell in cells:
                found.setdefault(each.block, {})[each.cell] = each
        sides.append(found)
    first, second = sides
    whole = [block for block in first if len(first[block]) == len(second.get(block, ())) == len(cells)]
    return [(first[block], second[block]) for block in sorted(whole)]


class Planting:
    """Makes one quantity of a sample longer. The same sample is the same object again, so that it is judged once."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        # With the sample that it was made from: an id is its own only while that one lives.
        self._made: dict[tuple[int, Quantity], tuple[Sample, Sample]] = {}

    def plant(self, sample: Sample, quantity: Quantity) -> Sample:
        key = (id(sample), quantity)
        if key not in self._made:
            self._made[key] = (sample, self._longer(sample, quantity))
        return self._made[key][1]

    def _longer(self, sample: Sample, quantity: Quantity) -> Sample:
        assert sample.warm is not None and sample.cold_s is not None
        if quantity == "cold":
            return msgspec.structs.replace(sample, cold_s=self.factor * sample.cold_s)
        calls = [self.factor * each for each in sample.warm.calls_s]
        return msgspec.structs.replace(sample, warm=Warm(calls, self.factor * sample.warm.outer_s))


class Replayed:
    """Selftests of K processes a cell and side, drawn one after the other."""

    def __init__(self, pool: Pool, samples: int) -> None:
        self.samples = samples
        cells = [cell for cell in pool.run.plan.cells if cell.id in pool.by_cell]
        planned = [
            Planned(f"prepared.{cell.id}.{block}", "prepared", cell.id, block)
            for block in range(1, samples + 1)
            for cell in cells
        ]
        plan = msgspec.structs.replace(pool.run.plan, samples=samples, cells=cells, planned=planned)
        self._run = msgspec.structs.replace(pool.run, plan=plan)

    def drawn(self, draw: Draw, rng: random.Random) -> list[tuple[Drawn, Drawn]]:
        return [draw(rng) for _ in range(self.samples)]

    def compare(self, blocks: Sequence[tuple[Drawn, Drawn]]) -> list[Row]:
        """Return what ``selftest`` makes of these blocks."""
        sides = []
        for side in (0, 1):
            samples = [
                msgspec.structs.replace(each, id=f"prepared.{cell}.{block}", block=block)
                for block, both in enumerate(blocks, start=1)
                for cell, each in both[side].items()
            ]
            sides.append(Side(self._run, samples))
        return comparison.compare(sides[0], sides[1], paired=True)


@contextmanager
def judged_once() -> Iterator[None]:
    """Judge each warm series once, by its list of calls: they are drawn again and again, and cost most of the time."""
    known: dict[int, tuple[Sequence[float], Steadiness]] = {}
    assess = steadiness.assess

    def once(calls_s: Sequence[float]) -> Steadiness:
        if id(calls_s) not in known:
            known[id(calls_s)] = (calls_s, assess(calls_s))
        return known[id(calls_s)][1]

    with mock.patch.object(steadiness, "assess", once):
        yield


def verdicts_only() -> AbstractContextManager[object]:
    """Leave the smallest detectable difference out: no verdict rests on it, and it costs ten times the rest."""
    return mock.patch.object(comparison, "_detectable", lambda pairing, tests: None)


def share(found: int, of: int) -> tuple[str, float, float]:
    """Return a share with its 95 % interval (Clopper and Pearson) as text, and the interval."""
    from scipy import stats

    interval = stats.binomtest(found, of).proportion_ci(0.95, method="exact")
    low, high = float(interval.low), float(interval.high)
    return f"{found / of:6.1%} [{low:.1%}, {high:.1%}]", low, high


def false_alarms(pool: Pool, draws: Mapping[str, Draw], many: Sequence[int], repeats: int, seed: int) -> bool:
    """Print how many replayed selftests found a difference; return whether they are few enough."""
    fine = True
    print(f"\nselftests with a FASTER or SLOWER anywhere, of {repeats}; allowed {MOST_FALSE:.0%}")
    print(f"{'draw':10} {'K':>3}  share [95 %]           quantities that were found")
    for name, draw in draws.items():
        for samples in many:
            rng = random.Random(f"{seed} false {name} {samples}")
            replayed = Replayed(pool, samples)
            alarms, where = 0, dict.fromkeys(_keys(pool), 0)
            for _ in range(repeats):
                with verdicts_only():
                    rows = replayed.compare(replayed.drawn(draw, rng))
                found = [row for row in rows if row.verdict.word in ("FASTER", "SLOWER")]
                alarms += bool(found)
                for row in found:
                    where[row.a.cell.id, row.quantity] += 1
            fine = fine and alarms <= MOST_FALSE * repeats
            most = sorted(((count, key) for key, count in where.items() if count), reverse=True)[:2]
            text = ", ".join(f"{cell} {quantity} {count}" for count, (cell, quantity) in most)
            print(f"{name:10} {samples:3}  {share(alarms, repeats)[0]:22} {text}", flush=True)
    return fine


def power(pool: Pool, draws: Mapping[str, Draw], samples: int, repeats: int, seed: int) -> bool:
    """Print how often a planted difference was found, beside the one that should be; return whether often enough."""
    missed, able = 0, 0
    replayed, planting = Replayed(pool, samples), Planting(PLANTED)
    for name, draw in draws.items():
        rng = random.Random(f"{seed} power {name} {samples}")
        found = dict.fromkeys(_keys(pool), 0)
        least: dict[tuple[str, Quantity], list[float]] = {key: [] for key in found}
        for _ in range(repeats):
            blocks = replayed.drawn(draw, rng)
            # In every one: it is as uncertain as the spread of K values.
            for row in replayed.compare(blocks):
                if row.detectable is not None:
                    least[row.a.cell.id, row.quantity].append(row.detectable)
            for cell, quantity in found:
                planted = [
                    (ours, {**theirs, cell: planting.plant(theirs[cell], quantity)}) for ours, theirs in blocks
                ]
                with verdicts_only():
                    rows = replayed.compare(planted)
                [row] = [each for each in rows if (each.a.cell.id, each.quantity) == (cell, quantity)]
                found[cell, quantity] += row.verdict.word == "SLOWER"
        counts = _print_power(name, samples, repeats, found, least)
        missed, able = missed + counts[0], able + counts[1]
    if not able:
        print(
            f"no quantity in which {PLANTED - 1:.0%} is detectable: more samples or a quieter machine are needed"
        )
    return able > 0 and not missed


def _print_power(
    name: str,
    samples: int,
    repeats: int,
    found: Mapping[tuple[str, Quantity], int],
    least: Mapping[tuple[str, Quantity], Sequence[float]],
) -> tuple[int, int]:
    """Print a line for each quantity; return how many missed what they can detect, and how many can detect it."""
    print(f"\n{PLANTED - 1:+.0%} planted in one quantity, K = {samples}, {repeats} selftests each, draw {name}")
    print(f"{'cell':24} {'time':5} {'detectable in 50, 80 %':>22}  found [95 %]")
    missed, able = 0, 0
    for (cell, quantity), count in found.items():
        known = least[cell, quantity]
        half = statistics.median(known) if known else float("inf")
        # A run whose own figure is above 10 % says itself that it may miss 10 %: where more than one in five says so,
        # finding it in 80 % is not promised.
        most = statistics.quantiles(known, n=5)[3] if len(known) > 1 else half
        text, _, high = share(count, repeats)
        mark = ""
        if most <= PLANTED:
            able += 1
            missed += high < LEAST_POWER
            mark = "  MISSED" if high < LEAST_POWER else "  as it must"
        print(f"{cell:24} {quantity:5} {half - 1:13.1%}, {most - 1:7.1%}  {text}{mark}", flush=True)
    return missed, able


def _keys(pool: Pool) -> list[tuple[str, Quantity]]:
    return [(cell, quantity) for cell in pool.by_cell for quantity in QUANTITIES]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", nargs="+", type=Path, required=True, help="folders of stored runs or selftests")
    parser.add_argument("--repeats", type=int, default=1000, help="replayed selftests for each K")
    parser.add_argument("--power-repeats", type=int, default=200, help="and for each planted difference")
    parser.add_argument("--samples", nargs="+", type=int, default=[5, 10, 20], help="K; power is of the largest")
    parser.add_argument("--draw", choices=["processes", "blocks", "both"], default="both")
    parser.add_argument("--seed", type=int, default=20190614)
    given = parser.parse_args()
    try:
        pool = read_pool(given.pool)
    except (ValueError, OSError, journal.Unreadable) as error:
        print(f"{', '.join(map(str, given.pool))}: {error}", file=sys.stderr)
        return 2
    draws: dict[str, Draw] = {}
    if given.draw != "blocks":
        draws["processes"] = pool.processes
    if given.draw != "processes" and len(pool.blocks) >= 2:
        draws["blocks"] = pool.of_block
    if not draws:
        print("--draw blocks: no selftest with 2 whole blocks or more among them", file=sys.stderr)
        return 2
    sizes = [len(found) for found in pool.by_cell.values()]
    print(
        f"pool: {len(pool.by_cell)} cells, {min(sizes)} to {max(sizes)} processes each, {len(pool.blocks)} blocks"
    )
    few = [name for name, size in (("processes", min(sizes)), ("blocks", len(pool.blocks))) if size < LEAST_POOL]
    if set(few) & set(draws):
        print(f"fewer than {LEAST_POOL} {' and '.join(few)}: a trial of this program, not of the selftest")
    begin_s = time.monotonic()
    with judged_once():
        fine = false_alarms(pool, draws, given.samples, given.repeats, given.seed)
        fine = power(pool, draws, max(given.samples), given.power_repeats, given.seed) and fine
    print(f"\n{'held' if fine else 'NOT HELD'}, in {time.monotonic() - begin_s:.0f} s")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
