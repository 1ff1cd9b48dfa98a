# SPDX-License-Identifier: Apache-2.0
"""The ablations that are the same for every stack."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from suite.ablation import Ablation, Mechanism
from suite.levels import CACHE, CACHE_VARIABLES, FLAGGED, SCRATCH
from suite.records import Cell
from suite.stack import Definition, Target

_GPU: list[Target] = ["GPU", "XLA_GPU"]
_CODE = Mechanism("libraries", "kB of libraries' code that the call is the first to touch")
#: CUDA_MODULE_LOADING is read from this version of CUDA on.
LAZY_LOADING = (11, 7)

SECOND_SHAPE = Ablation(
    name="second shape",
    takes_out="what a process pays the first time it makes such a call, at whatever shape",
    prepare="second_shape",
    mechanism=_CODE,
    role="first_use",
)
SAME_SHAPE = Ablation(
    name="same shape again",
    takes_out="what a process pays once for a shape",
    prepare="same_shape",
    mechanism=_CODE,
    role="",
)
JIT_CACHE_KEPT = Ablation(
    name="JIT cache kept",
    cause="PTX compiled by the driver",
    takes_out="compiling PTX for this GPU by the driver",
    targets=_GPU,
    level="process",
    remedy="export CUDA_CACHE_PATH=$HOME/.nv/ComputeCache  # keep this folder between runs",
    mechanism=Mechanism("cache", "files that the driver adds to its JIT cache", pattern=r"^cuda/"),
    role="driver_jit",
)
EAGER_LOADING = Ablation(
    name="eager loading",
    cause="lazy loading",
    takes_out="loading each kernel at its first use: all are loaded when the GPU is opened",
    targets=_GPU,
    environment={"CUDA_MODULE_LOADING": "EAGER"},
    mechanism=_CODE,
    role="first_use",
)
PTX_FORCED = Ablation(
    name="PTX forced",
    takes_out="nothing: adds what a GPU pays that the stack has no machine code for",
    targets=_GPU,
    environment={"CUDA_FORCE_PTX_JIT": "1", "CUDA_CACHE_DISABLE": "1"},
    what_if=True,
    role="",
)
NO_TF32 = Ablation(
    name="TF32 off",
    takes_out="multiplying with 11 bits",
    targets=_GPU,
    precision="ieee",
    what_if=True,
    role="",
)
ONE_THREAD = Ablation(
    name="one thread",
    takes_out="starting threads and waiting for them",
    targets=["CPU", "XLA_CPU"],
    threads=1,
    what_if=True,
    mechanism=Mechanism("threads", "threads that the call starts"),
    role="",
)

#: Elsewhere, and empty in every sample: for what is to keep the driver's cache alone.
_NO_INDUCTOR_CACHE = {
    "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/{SCRATCH}/inductor",
    "TRITON_CACHE_DIR": f"{CACHE}/{SCRATCH}/triton",
}
_JAX_NO_CACHE = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
#: What XLA's autotuner chose in an earlier process, by its own cache: unlike without tuning, the same kernels run.
TUNING_KEPT = Ablation(
    name="autotuning kept",
    cause="autotuning",
    takes_out="trying candidates, with the choices of an earlier process",
    targets=["XLA_GPU"],
    watch={"XLA_FLAGS": f"--xla_gpu_per_fusion_autotune_cache_dir={CACHE}/{FLAGGED}"},
    level="process",
    own_cache=True,
    remedy="mkdir -p $HOME/.cache/xla; export XLA_FLAGS=--xla_gpu_per_fusion_autotune_cache_dir=$HOME/.cache/xla",
    mechanism=Mechanism("cache", "choices that XLA adds to its autotuning cache", pattern=f"^{FLAGGED}/"),
    role="tuning",
)
#: What has the same name in every version of a framework that a stack here has. A stack's own go before these.
OF_FRAMEWORK = {
    "tensorflow": [ONE_THREAD],
    "torch": [
        ONE_THREAD,
        # Inductor's and Triton's caches would keep what the driver's is to be measured by.
        msgspec.structs.replace(JIT_CACHE_KEPT, environment=_NO_INDUCTOR_CACHE),
        Ablation(
            name="compile cache kept",
            takes_out="compiling what an earlier process has compiled",
            placements=["jit"],
            # As it is in every arm; said, for it contradicts what keeps the driver's cache alone.
            environment={
                "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/{CACHE_VARIABLES['TORCHINDUCTOR_CACHE_DIR']}",
                "TRITON_CACHE_DIR": f"{CACHE}/{CACHE_VARIABLES['TRITON_CACHE_DIR']}",
            },
            level="process",
            own_cache=True,
            remedy="export TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor TRITON_CACHE_DIR=$HOME/.cache/triton",
            mechanism=Mechanism("cache", "files that Inductor adds to its cache", pattern="^(inductor|triton)/"),
            role="whole",
        ),
    ],
    "jax": [
        ONE_THREAD,
        # JAX's own cache would keep the whole compile.
        msgspec.structs.replace(TUNING_KEPT, environment=_JAX_NO_CACHE),
        # JAX's own cache would keep what the driver's is to be measured by.
        msgspec.structs.replace(JIT_CACHE_KEPT, environment=_JAX_NO_CACHE),
        Ablation(
            name="compile cache kept",
            takes_out="compiling and tuning what an earlier process has compiled",
            # The adapter has this cache on at that level alone, and keeps all that was compiled in it.
            environment={"JAX_ENABLE_COMPILATION_CACHE": "true"},
            level="process",
            own_cache=True,
            remedy="export JAX_COMPILATION_CACHE_DIR=$HOME/.cache/jax JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0",
            mechanism=Mechanism("compile_s", "seconds that JAX logs for its compiles"),
            role="whole",
        ),
        Ablation(
            name="autotuning off",
            cause="autotuning",
            takes_out="running candidates at full size to keep the fastest",
            targets=["XLA_GPU"],
            environment={"XLA_FLAGS": "--xla_gpu_autotune_level=0"},
            watch={"XLA_FLAGS": "--xla_gpu_dump_autotune_results_to=autotuned.txt"},
            remedy="export XLA_FLAGS=--xla_gpu_autotune_level=0",
            mechanism=Mechanism(
                "file",
                "results in the file that XLA writes of its autotuning",
                # TensorFlow's version of the file has "results"; JAX 0.11 names a backend, one of which has no choice.
                pattern=r"(?m)^results\b|backend: (?!NATIVE_EMITTER)\w+",
                where="autotuned.txt",
            ),
            role="tuning",
        ),
    ],
}


def once_tuned(kept: Ablation) -> Ablation:
    """Return what takes a first use away where trying candidates is away already, by ``kept``.

    Beside an unablated call, whose tuning varies by more than a first use costs, a second shape does not show it; and
    candidates load most of what a call needs, so that part of a first use is only paid where none is tried.
    """
    return Ablation(
        name="second shape once tuned",
        takes_out=f"what a process pays the first time it makes such a call, beyond what {kept.name} takes away",
        targets=kept.targets,
        placements=kept.placements,
        environment=kept.environment,
        prepare="second_shape",
        level=kept.level,
        own_cache=kept.own_cache,
        over=kept.name,
        mechanism=_CODE,
        role="first_use",
    )


def ablations(definition: Definition, cells: Sequence[Cell]) -> list[Ablation]:
    """Return all ablations that say something about one of ``cells``; a stack's own replace those of the same name."""
    general = [SECOND_SHAPE, SAME_SHAPE, JIT_CACHE_KEPT, PTX_FORCED]
    cuda = tuple(int(part) for part in definition.cuda.built_with.cuda.split(".")[:2])
    if cuda >= LAZY_LOADING:
        general.append(EAGER_LOADING)
    if any(cell.precision == "default" for cell in cells):
        general.append(NO_TF32)
    by_name = {each.name: each for each in general}
    for each in [*OF_FRAMEWORK.get(definition.framework.import_name, []), *definition.ablations]:
        by_name[each.name] = each
    if TUNING_KEPT.name in by_name:
        further = once_tuned(by_name[TUNING_KEPT.name])
        by_name.setdefault(further.name, further)
    every = list(by_name.values())
    return [each for each in every if any(each.applies(cell.target, cell.placement) for cell in cells)]
