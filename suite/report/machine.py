# SPDX-License-Identifier: Apache-2.0
"""What a run was measured with and on, and the command that makes it again: names and values for a page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from suite.records import Run, Sample

#: Packages that say most of a stack; the others are counted, and in run.json.
PACKAGES = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "jax", "jaxlib", "torch", "numpy", "keras")

Lines = list[tuple[str, str]]


#: Titles of the sections, in the page's order.
ORDER = ("Machine", "Stack", "Engine", "Settings", "Provenance")


def shell(command: Sequence[str]) -> str:
    """Return a command as it is typed into a shell."""
    return shlex.join(command)


def facts(run: Run, samples: Sequence[Sample]) -> list[tuple[str, Lines]]:
    """Return sections of names and values; what a run does not tell is left out."""
    found = (_host(run.host), _stack(run), _engine(run), _settings(run, samples), _provenance(run))
    return [
        (title, [(name, value) for name, value in lines if value])
        for title, lines in zip(ORDER, found, strict=True)
    ]


def _host(host: Mapping[str, Any]) -> Lines:
    gpu = host.get("gpu") or {}
    nvidia = host.get("nvidia") or {}
    memory = host.get("memory_bytes")
    effective = host.get("effective_cpus")
    cpus = [
        f"{_text(effective)} can be used" if effective else "",
        f"{host['logical_cpus']} in all" if host.get("logical_cpus") else "",
    ]
    return [
        ("CPU", _text(host.get("cpu_model"))),
        ("CPUs", ", ".join(each for each in cpus if each)),
        ("memory", f"{memory / 2**30:.1f} GiB" if isinstance(memory, int | float) else ""),
        ("GPU", ", ".join(_text(gpu[key]) for key in ("name", "uuid") if gpu.get(key))),
        ("driver", _text(gpu.get("driver_version"))),
        ("no GPU", _text(nvidia.get("why")) if not gpu else ""),
        ("system", ", ".join(_text(host[key]) for key in ("os", "kernel", "machine") if host.get(key))),
    ]


def _stack(run: Run) -> Lines:
    environment = run.environment
    packages = environment.get("packages") or {}
    cuda = (run.stack.get("definition") or {}).get("cuda") or {}
    lines = [
        ("stack", _text(run.stack.get("name"))),
        ("", _text(run.stack.get("title"))),
        ("Python", _text(environment.get("python_version"))),
        *((name, _text(packages[name])) for name in PACKAGES if name in packages),
        ("packages", f"{len(packages)}, all in run.json" if packages else ""),
        ("wheels", _text(environment.get("wheels"))),
    ]
    for key, words in (("built_with", "built with"), ("ships", "ships")):
        versions = cuda.get(key) or {}
        lines.append((words, ", ".join(f"{name} {_text(versions[name])}" for name in sorted(versions))))
    lines += [("base", _text(environment.get("base"))), ("definition", _text(run.stack.get("sha256")))]
    return [(name or "title", value) for name, value in lines]


def _engine(run: Run) -> Lines:
    engine = run.engine
    flops = engine.get("ceiling_flops")
    ceiling = (
        f"{flops / 1e9:.4g} GFLOP/s: {_text(engine.get('ceiling'))}" if isinstance(flops, int | float) else ""
    )
    limits = [f"{name}={run.environment[name]}" for name in ("cpus", "cpuset") if run.environment.get(name)]
    return [
        ("engine", _text(engine.get("name"))),
        ("why", _text(engine.get("why"))),
        ("limits", ", ".join(limits)),
        ("ceiling", ceiling),
    ]


def _settings(run: Run, samples: Sequence[Sample]) -> Lines:
    plan = run.plan
    cells = plan.cells
    facts = next((each.facts for each in samples if each.kind in ("prepared", "reproduce") and each.facts), {})
    threads = facts.get("intra_op_threads")

    def of_cells(name: str) -> str:
        return ", ".join(dict.fromkeys(str(getattr(cell, name)) for cell in cells))

    return [
        ("profile", plan.profile),
        ("samples", f"{plan.samples} a cell"),
        ("targets", ", ".join(plan.targets)),
        ("sizes", ", ".join(str(n) for n in plan.shapes)),
        ("op", of_cells("op")),
        ("dtype", of_cells("dtype")),
        (
            "precision",
            of_cells("precision")
            + (f" (in force: {_text(facts['precision'])})" if facts.get("precision") else ""),
        ),
        ("cold level", of_cells("level")),
        ("warm calls", f"at least {plan.warm_min_calls} and {plan.warm_s:g} s" if plan.warm_min_calls else ""),
        ("threads", _text(threads)),
        ("oneDNN", _text(facts.get("onednn"))),
        ("seeds", f"order {plan.seed}, operand {plan.operand_seed}"),
        ("budget", f"{plan.budget_s:g} s, {plan.timeout_s:g} s a sample"),
    ]


def _provenance(run: Run) -> Lines:
    made = run.coldwarm
    dirty = ", with changes that are in no commit" if made.get("git_dirty") else ""
    return [
        ("coldwarm", _text(made.get("version"))),
        ("commit", f"{made['git_commit']}{dirty}" if made.get("git_commit") else ""),
        ("worker files", _text(made.get("worker_tree_sha256"))),
        ("run", run.run_id),
        ("begun", run.created_utc),
        ("arm", run.arm),
    ]


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
