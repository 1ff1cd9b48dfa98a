# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 2.21: every placement proves itself, each planted fault turns it red, compiles are counted."""

from __future__ import annotations

import statistics

import pytest

from tests.integration.harness import plant

pytestmark = pytest.mark.real

PLACEMENTS = [("CPU", "device"), ("XLA_CPU", "jit"), ("XLA_CPU", "device")]

REPLACED = """
import tf_function
class Adapter(tf_function.Adapter):
    def _new_function(self):
        tf, device, jit = self._tf, self._device, self._jit
        m, rows, last = (self._variables[name] for name in ("m", "rows", "last"))
        value = m.numpy()
        def call():
            with tf.device(device):
                %s
        return tf.function(call, jit_compile=True) if jit else tf.function(call)
tf_function.Adapter = Adapter
"""

KEEP = """
                rows.assign(tf.reduce_sum(product, axis=1), read_value=False)
                last.assign(product[-1], read_value=False)
                return tf.reduce_sum(product)"""

CONSTANT = REPLACED % ("read = tf.constant(value); product = tf.matmul(read, read, transpose_b=True)" + KEEP)

UNUSED = REPLACED % (
    """read = m.read_value()
                tf.matmul(read, read, transpose_b=True)
                return tf.reduce_sum(read)"""
)

SHORTCUT = REPLACED % (
    """read = m.read_value()
                ones = tf.reduce_sum(read, axis=0, keepdims=True)
                r = tf.squeeze(tf.matmul(read, ones, transpose_b=True), 1)
                rows.assign(r, read_value=False)
                last.assign(tf.squeeze(tf.matmul(read, read[-1:], transpose_b=True), 1), read_value=False)
                return tf.reduce_sum(r)"""
)

NOT_COMPILED = """
import tf_function
new = tf_function.Adapter._new_function
def plain(self):  # a function that XLA never saw, its module made afterwards
    jit, self._jit = self._jit, False
    try:
        function = new(self)
    finally:
        self._jit = jit
    function.experimental_get_compiler_ir = lambda: new(self).experimental_get_compiler_ir()
    return function
tf_function.Adapter._new_function = plain
"""

OTHER_SEED = """
import matmul, tf_function
place = tf_function.Adapter.place
tf_function.Adapter.place = lambda self, m: place(self, matmul.operand(m.shape[0], 4711, m.dtype))
"""

TF32 = """
import numpy, tf_function
place = tf_function.Adapter.place
def rounded(self, m):
    bits = (m.view(numpy.uint32) + numpy.uint32(0x1000)) & numpy.uint32(0xFFFFE000)
    place(self, bits.view(numpy.float32))
tf_function.Adapter.place = rounded
"""

ZERO_LAST_ROW = """
import tf_function
outputs = tf_function.Adapter.outputs
def without_last_row(self):
    got = outputs(self)
    got["last"] = got["last"] * 0
    return got
tf_function.Adapter.outputs = without_last_row
"""

SOFT = """
import tf_function
def open_softly(self):
    self._tf.config.set_soft_device_placement(True)
tf_function.Adapter.open = open_softly
"""

NOT_SYNCHRONISED = """
import concurrent.futures, tf_function
pool = concurrent.futures.ThreadPoolExecutor(1)
A = tf_function.Adapter
execute, drain = A.execute, A.drain
state = {"futures": [], "scalar": None}
def submit(self):
    if state["scalar"] is None:
        state["scalar"] = execute(self)
    else:
        state["futures"].append(pool.submit(execute, self))
    return state["scalar"]
def wait(self):
    while state["futures"]:
        state["futures"].pop().result()
    drain(self)
build, outputs, evidence = A.build, A.outputs, A.evidence
def rebuilt(self):
    build(self); state["scalar"] = None
def waited(method):
    def wrapped(self):
        wait(self); return method(self)
    return wrapped
A.execute, A.drain, A.build, A.outputs, A.evidence = submit, wait, rebuilt, waited(outputs), waited(evidence)
"""

RETRACED = """
import tf_function
execute, calls = tf_function.Adapter.execute, []
def now_and_then(self):  # a new function object in mid-series, as a shape that changes makes one
    calls.append(1)
    if len(calls) == 12:
        self._function = self._new_function()
    return execute(self)
tf_function.Adapter.execute = now_and_then
"""


@pytest.mark.parametrize(("target", "placement"), PLACEMENTS)
@pytest.mark.parametrize(("kind", "n"), [("prepared", 8), ("fresh", 50), ("prepared", 1000)])
def test_an_honest_worker_proves_everything(taker221, target, placement, kind, n):
    """Fault: a proof that turns honest numbers red, or evidence that this version has under another name."""
    sample = taker221.take(target, n, placement=placement, kind=kind)
    assert sample.status == "ok", sample.reason
    states = {name: proof.state for name, proof in sample.proofs.items()}
    assert states["result"] == states["device"] == states["plausible"] == states["bytecode"] == "ok"
    assert states["synchronised"] == ("ok" if kind == "prepared" else "not_applicable")
    assert sample.untimed_s <= 0.01 * sample.wall_s + 0.02


@pytest.mark.parametrize(
    ("fault", "target", "placement", "n", "status"),
    [
        (CONSTANT, "CPU", "device", 50, "unverified_placement"),
        (CONSTANT, "XLA_CPU", "jit", 50, "unverified_placement"),
        (UNUSED, "CPU", "device", 50, "wrong_result"),
        (SHORTCUT, "CPU", "device", 50, "unverified_placement"),
        (SHORTCUT, "XLA_CPU", "jit", 50, "unverified_placement"),
        (NOT_COMPILED, "XLA_CPU", "jit", 50, "unverified_placement"),
        (SOFT, "GPU", "device", 50, "wrong_device"),
        (SOFT, "XLA_GPU", "jit", 50, "wrong_device"),
        (OTHER_SEED, "XLA_CPU", "jit", 50, "wrong_result"),
        (TF32, "CPU", "device", 2000, "wrong_result"),
        (ZERO_LAST_ROW, "XLA_CPU", "jit", 2000, "wrong_result"),
        (NOT_SYNCHRONISED, "CPU", "device", 50, "implausible"),
        (NOT_SYNCHRONISED, "XLA_CPU", "jit", 1000, "implausible"),
    ],
)
def test_a_planted_fault_turns_the_sample_red(taker221, tmp_path, fault, target, placement, n, status):
    """Fault: constants captured, product unused, not compiled, computed elsewhere, other numbers, no waiting."""
    worker = plant(tmp_path / "worker", fault)
    sample = taker221.take(target, n, placement=placement, worker=worker, warm_calls=15)
    assert sample.status == status, (sample.reason, sample.proofs)


def compiled(sample, *phases: str) -> int:
    assert sample.compiles is not None
    return sum(found.count for name, found in sample.compiles.items() if name in phases)


def check_one_compile(sample) -> None:
    assert sample.status == "ok", sample.reason
    assert compiled(sample, "build", "first_execution") == 1
    assert compiled(sample, "warm") == 0
    calls = sample.warm.calls_s
    slow = [each for each in calls if each > 4 * statistics.median(calls)]
    # A busy machine may stretch a call; a compile takes ten times as long and is in the log.
    assert len(slow) <= 2, slow


@pytest.mark.parametrize("n", [256, 257, 258])
@pytest.mark.parametrize("placement", ["jit", "device"])
def test_each_size_compiles_once(taker221, placement, n):
    """Fault: odd sizes that compile again in the warm series, or a compile that nobody counts."""
    check_one_compile(taker221.take("XLA_CPU", n, placement=placement, warm_calls=100))


@pytest.mark.parametrize("n", [256, 257, 258])
def test_each_size_compiles_once_on_the_old_stack(taker, n):
    """Fault: as above, on TensorFlow 1.14."""
    check_one_compile(taker.take("XLA_CPU", n, warm_calls=100))


def test_a_compile_in_the_warm_series_is_seen(taker221, tmp_path):
    """Fault: a warm number that holds a compile."""
    worker = plant(tmp_path / "worker", RETRACED)
    sample = taker221.take("XLA_CPU", 256, placement="jit", worker=worker)
    assert sample.status == "ok", sample.reason
    assert compiled(sample, "warm") == 1
    assert max(sample.warm.calls_s) > 4 * statistics.median(sample.warm.calls_s)


UNFETCHED = """
import tf_function, tf_session
def unfetched(module, new):
    honest = module.Adapter.execute
    def execute(self):  # the scalar of the first such call, for ever
        if getattr(self, "_of", None) is not new(self):
            self._of, self._kept = new(self), honest(self)
        else:
            honest(self)
        return self._kept
    module.Adapter.execute = execute
unfetched(tf_function, lambda self: self._function)
unfetched(tf_session, lambda self: self._call)
"""


@pytest.mark.parametrize(("target", "placement"), PLACEMENTS)
def test_a_scalar_that_is_not_fetched_is_implausible(taker221, tmp_path, target, placement):
    """Fault: on a GPU such a call returns before its work is done, and at 50 leaves too little for a drain to tell."""
    worker = plant(tmp_path / "worker", UNFETCHED)
    sample = taker221.take(target, 50, placement=placement, worker=worker)
    assert sample.status == "implausible", (sample.status, sample.reason)
    assert "fetched nothing new" in sample.reason.text
