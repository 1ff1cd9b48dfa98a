# SPDX-License-Identifier: Apache-2.0
"""What must be ready before a stack is measured, and the record of what it then is: engine, environment, cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from suite import (
    doctor_gpu,
    environment,
    host,
    journal,
    levels,
    plan,
    progress,
    provenance,
    pythons,
    reproduce,
    stack,
)
from suite.ablation import Mechanism
from suite.classify import Ending
from suite.engines import WORKER, Engine
from suite.engines.choose import Choice, choose
from suite.engines.local import Local
from suite.engines.ready import container_ready
from suite.errors import SuiteError
from suite.exits import Exit
from suite.launch import launch
from suite.levels import CACHE_VARIABLES
from suite.question import question
from suite.records import Cell, Plan, Planned, Protocol, Run
from suite.replay import Replay, ReplayEngine
from suite.sampling import Setting
from suite.stack import Stack
from suite.telemetry import machine as telemetry
from suite.telemetry.machine import Watched
from suite.watch import Watch
from suite.words import Words
from suite.worker_env import clean_environment

#: The operand is the same in every run, so that two runs multiply the same numbers.
OPERAND_SEED = 20190614
#: Below a run's folder: what its cells of level ``process`` keep between their samples.
CACHES = "caches"


@dataclass(frozen=True)
class Ready:
    """A stack that can be measured here, and what identifies it."""

    words: Words
    chosen: Stack
    choice: Choice
    engine: Engine
    cells: list[Cell]
    machine: dict[str, Any]
    environment: Callable[[Path, Mapping[str, str]], dict[str, str]]
    """Makes a worker's environment from its private HOME and what else it needs."""
    protocol: Protocol
    worker: Path
    recording: Path | None = None
    watched: Watched | None = None
    settled: Mapping[str, Ending] = field(default_factory=dict)
    """Cells that this GPU cannot run, known before anything starts."""
    asked: Callable[[Cell], Mapping[str, Any]] | None = None
    """What else a cell's workers are asked, by ``explain``."""
    mechanisms: Mapping[str, Mechanism] = field(default_factory=dict)
    """Signs of causes that are counted in every sample."""
    begins_with: str = ""
    """The folder of a run beside this one, whose kept caches a priming sample begins with."""

    def record(self, plan_of_run: Plan, command: Sequence[str], *, arm: str = "") -> Run:
        """Return what run.json will hold."""
        flops, text = host.float32_ceiling_flops(self.machine)
        engine = {"name": self.choice.name, "why": self.choice.why, "ceiling_flops": flops, "ceiling": text}
        machine = dict(self.machine)
        if self.watched is not None and self.watched.static:
            machine["gpu"] = dict(self.watched.static)
        return Run(
            run_id=journal.new_run_id(),
            created_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            command=list(command),
            coldwarm=provenance.coldwarm(self.worker),
            stack=_stack_record(self.chosen),
            environment=self.engine.identity(),
            engine=engine,
            host=machine,
            worker_environment=self.environment(Path("HOME"), dict.fromkeys(CACHE_VARIABLES, "private")),
            plan=plan_of_run,
            protocol=self.protocol,
            words=dict(self.words.given),
            arm=arm,
        )

    def setting(self, record: Run, folder: Path, watch: Watch, session: int = 0) -> Setting:
        """Return what the samples of a run share; ``folder`` is the run's."""
        definition = self.chosen.definition
        return Setting(
            engine=self.engine,
            environment=self.environment,
            probe_adapter=definition.adapter,
            placement_environment=_placement_environment(self.chosen, self.cells),
            compile_log=definition.compile_log,
            ceiling_flops=record.engine["ceiling_flops"],
            timeout_s=record.plan.timeout_s,
            operand_seed=record.plan.operand_seed,
            raw=folder / journal.RAW,
            load=host.load,
            watch=watch,
            caches=levels.Folders(
                folder / CACHES, folder.parent / self.begins_with / CACHES if self.begins_with else None
            ),
            watched=self.watched,
            launch=launch if self.recording is None else Replay(self.recording),
            session=session,
            settled=self.settled,
            asked=self.asked,
            mechanisms=self.mechanisms,
        )


def make_ready(
    words: Words,
    environ: Mapping[str, str],
    *,
    protocol: Protocol = "isolated",
    worker: Path = WORKER,
    stacks: Path = stack.STACKS,
    recording: Path | None = None,
) -> Ready:
    """Choose the engine, make the environment or find the image, and name the cells.

    Parameters
    ----------
    worker
        The worker's folder; tests plant faults by naming another.
    recording
        The ``raw`` folder of a stored run to play back instead of measuring (see :mod:`suite.replay`).

    Raises
    ------
    SuiteError
        USAGE, IMPOSSIBLE or NOT_PREPARED: what cannot be, and what to do.
    """
    chosen = stack.load(words.stack, stacks)
    _check_protocol(protocol, chosen)
    _check_placement(words, chosen)
    _check_dtype(words, chosen)
    if words.wheels == "cuda" and not chosen.has_cuda_wheels():
        raise SuiteError(
            Exit.USAGE, f"WHEELS=cuda: {chosen.name} has no CUDA wheels", "Its CUDA is the machine's."
        )
    if words.wheels == "cpu" and chosen.definition.install.cuda_included:
        step = "Leave WHEELS= out: CPU targets are measured with them as they are."
        raise SuiteError(Exit.USAGE, f"WHEELS=cpu: {chosen.name} cannot be imported without CUDA's wheels", step)
    if recording is None:
        choice = choose(words.engine, chosen, environ)
    else:
        choice = Choice("replay", "recorded samples, nothing is timed")
    journal.check_writable(words.out)
    progress.say(f"{chosen.name}: engine {choice.name} ({choice.why})")
    minor, engine, cuda = _prepare(words, chosen, environ, worker, recording, choice)
    extra = {**chosen.definition.environment, **cuda}
    if words.gpu is not None:
        extra.update(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=words.gpu)
    visible = extra.get("CUDA_VISIBLE_DEVICES", environ.get("CUDA_VISIBLE_DEVICES"))
    watched = telemetry.watch(words.gpu, visible, progress.say) if recording is None else None
    cells = _cells(words, chosen, minor, choice.name, protocol)
    return Ready(
        words=words,
        chosen=chosen,
        choice=choice,
        engine=engine,
        cells=cells,
        machine=host.fingerprint(),
        environment=lambda home, more: clean_environment(environ, home, {**extra, **more}),
        protocol=protocol,
        worker=worker,
        recording=recording,
        watched=watched,
        settled=_settled(words, cells, chosen, choice, watched),
    )


def _settled(
    words: Words, cells: Sequence[Cell], chosen: Stack, choice: Choice, watched: Watched | None
) -> Mapping[str, Ending]:
    """Look at the GPU as doctor does, say what matters, and return the cells that it cannot run."""
    offered = choice.daemon is None or choice.daemon.gpu_way != "none"
    if watched is None or not offered or words.adopt:
        return {}  # adopted packages need not be the ones whose code the stack's file tells of
    for remark in doctor_gpu.remarks(cells, chosen.definition, watched.static):
        progress.say(remark)
    return doctor_gpu.cannot_run(cells, chosen.definition, watched.static)


def _prepare(
    words: Words,
    chosen: Stack,
    environ: Mapping[str, str],
    worker: Path,
    recording: Path | None,
    choice: Choice,
) -> tuple[str, Engine, dict[str, str]]:
    """Return the Python minor that is measured, the engine, ready to start workers, and what they need for CUDA."""
    minors = chosen.definition.python.minors()
    if recording is not None:
        return minors[0], ReplayEngine(recording), {}
    if choice.name == "local" and (words.cpus or words.cpuset):
        limit = f"CPUS={words.cpus:g}" if words.cpus else f"CPUSET={words.cpuset}"
        what = f"{limit}: only a container can be limited"
        raise SuiteError(Exit.USAGE, what, "ENGINE=docker or podman; or taskset -c 0 make ... pins a local run.")
    if choice.daemon is not None:
        return (*container_ready(words, chosen, environ, worker, choice.daemon), {})
    if words.adopt:
        made = environment.adopt(chosen, words.python, environ=environ)
        minor = ".".join(made.python_version.split(".")[:2])
    else:
        minor, named = pythons.minor_of_word(words.python, minors)
        wheels = words.wheels or environment.wheels_for(chosen)
        try:
            made = environment.prepare(
                chosen, minor, environ=environ, named=named, wheels=wheels, report=progress.say
            )
        except pythons.NotFound as error:
            others = ", ".join(f"PYTHON={each}" for each in minors if each != minor)
            if not others:
                raise
            step = f"{chosen.name} has locks for other minors, too: {others}. {error.next_step}"
            raise SuiteError(error.exit_code, error.what, step, error.detail) from error
    cuda = environment.cuda_variables(chosen, made, environ)
    return minor, Local(python=made.python, made=made.identity(), worker=worker), cuda


def _cells(words: Words, chosen: Stack, minor: str, engine: str, protocol: Protocol) -> list[Cell]:
    targets: Sequence[str] = words.targets
    if protocol == "reproduce":
        targets = [each for each in reproduce.TARGETS if each in words.targets]
    return plan.cells(
        chosen,
        targets,
        "device" if protocol == "reproduce" else words.placement or "all",
        question().shapes() if protocol == "reproduce" and not words.shapes_given else words.shapes,
        dtype=words.dtype,
        precision=words.precision,
        level=words.level,
        python=minor,
        engine=engine,
    )


def _placement_environment(chosen: Stack, cells: list[Cell]) -> Callable[[Cell | None], Mapping[str, str]]:
    """Return what gives a cell's own variables, and for the probe those of all cells together.

    With them the probe sees every device that some cell will see.
    """
    by_placement: dict[tuple[str, str], Mapping[str, str]] = {
        (each.target, each.placement): each.environment for each in chosen.definition.placements
    }

    def of(cell: Cell | None) -> Mapping[str, str]:
        if cell is not None:
            return by_placement[cell.target, cell.placement]
        together: dict[str, str] = {}
        for each in cells:
            together.update(by_placement[each.target, each.placement])
        return together

    return of


def bench_plan(
    words: Words, all_cells: list[Cell], planned: list[Planned], seed: int, budget_s: float | None = None
) -> Plan:
    """Return the plan of the isolated protocol, whose samples in their order are ``planned``.

    ``budget_s``: this run's share of BUDGET=, where it is not alone.
    """
    profile = words.profile
    return Plan(
        profile=profile.name,
        targets=list(words.targets),
        asked_by_name=words.targets if words.targets_by_name else [],
        shapes=words.shapes,
        samples=words.samples,
        warm_min_calls=profile.warm_min_calls,
        warm_s=profile.warm_s,
        budget_s=words.budget_s if budget_s is None else budget_s,
        timeout_s=words.timeout_s,
        seed=seed,
        operand_seed=OPERAND_SEED,
        cells=all_cells,
        planned=planned,
    )


def reproduce_plan(words: Words, all_cells: list[Cell]) -> Plan:
    """Return the plan of the reproduce protocol."""
    planned = [Planned(f"reproduce.{k}", "reproduce", "", k) for k in range(1, words.repeats + 1)]
    return Plan(
        profile="reproduce",
        targets=list(dict.fromkeys(cell.target for cell in all_cells)),
        asked_by_name=words.targets if words.targets_by_name else [],
        shapes=sorted({cell.n for cell in all_cells}),
        samples=words.repeats,
        warm_min_calls=0,
        warm_s=0.0,
        budget_s=words.budget_s,
        timeout_s=words.timeout_s,
        seed=0,
        operand_seed=0,
        cells=all_cells,
        planned=[Planned("probe", "probe", "", 0), *planned],
    )


def _check_protocol(protocol: Protocol, chosen: Stack) -> None:
    framework = chosen.definition.framework
    if protocol == "reproduce" and framework.import_name != "tensorflow":
        what = f"the question's snippet is TensorFlow's, and {chosen.name} has {framework.package}"
        raise SuiteError(Exit.IMPOSSIBLE, what, f"make bench STACK={chosen.name} measures it.")


def _check_placement(words: Words, chosen: Stack) -> None:
    asked = words.placement
    there = sorted({each.placement for each in chosen.definition.placements})
    if asked not in (None, "all") and asked not in there:
        what = f"PLACEMENT={asked}: {chosen.name} has only: {', '.join(there)}"
        raise SuiteError(Exit.USAGE, what, "docker/<stack>/stack.toml lists a stack's placements.")
    for target in words.targets if words.targets_by_name else []:
        ways = [each.placement for each in chosen.realisations(target)]
        if not ways or asked not in (None, "all", *ways):
            what = f"TARGETS={target}: {chosen.name} has no {asked or 'placement'} for it"
            raise SuiteError(Exit.IMPOSSIBLE, what, f"It has: {', '.join(ways) or 'none'}.")


#: Adapters that multiply more than float32.
_BFLOAT16 = ("torch_eager", "torch_compile")


def _check_dtype(words: Words, chosen: Stack) -> None:
    adapters = {each.adapter or chosen.definition.adapter for each in chosen.definition.placements}
    if words.dtype != "float32" and not adapters.issubset(_BFLOAT16):
        what = f"DTYPE={words.dtype}: {chosen.name} measures float32"
        raise SuiteError(
            Exit.IMPOSSIBLE, what, "PRECISION=bf16 multiplies float32 in bfloat16, where a device can."
        )


def _stack_record(chosen: Stack) -> dict[str, Any]:
    definition = chosen.definition
    return {
        "name": definition.name,
        "title": definition.title,
        "sha256": chosen.sha256(),
        "definition": msgspec.to_builtins(definition),
    }
