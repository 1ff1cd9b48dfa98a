# SPDX-License-Identifier: Apache-2.0
"""Every proof, on the real framework: an honest worker passes, each planted fault turns it red."""

from __future__ import annotations

import pytest

from tests.integration.harness import plant

pytestmark = pytest.mark.real

CONSTANT = """
import tf_session
class Folded:
    def __init__(self, tf, m, initializer): self.tf, self.m, self.initializer = tf, m, initializer
    def read_value(self): return self.tf.constant(self.m)
place = tf_session.Adapter.place
def place_and_capture(self, m):
    place(self, m)
    self._variables["m"] = Folded(self._tf, m, self._variables["m"].initializer)
tf_session.Adapter.place = place_and_capture
"""

UNUSED = """
import tf_session
def build(self):
    tf = self._tf
    with self._graph.as_default(), tf.device(self._device):
        m = self._variables["m"].read_value()
        tf.matmul(m, m, transpose_b=True)  # made, and used by nothing
        self._call = [tf.reduce_sum(m), tf.no_op(), tf.no_op()]
tf_session.Adapter.build = build
"""

SHORTCUT = """
import tf_session
def build(self):  # the right row sums, last row and scalar, by matrix-vector products alone
    tf = self._tf
    with self._graph.as_default(), tf.device(self._device):
        m = self._variables["m"].read_value()
        ones = tf.reduce_sum(m, axis=0, keepdims=True)
        rows = tf.squeeze(tf.matmul(m, ones, transpose_b=True), 1)
        last = tf.squeeze(tf.matmul(m, m[-1:], transpose_b=True), 1)
        self._call = [tf.reduce_sum(rows), self._variables["rows"].assign(rows, read_value=False),
                      self._variables["last"].assign(last, read_value=False)]
tf_session.Adapter.build = build
"""

ELSEWHERE = """
import tf_session
place, build = tf_session.Adapter.place, tf_session.Adapter.build
def on_cpu(method):
    def wrapped(self, *arguments):
        asked, self._device = self._device, "/device:CPU:0"
        try:
            return method(self, *arguments)
        finally:
            self._device = asked
    return wrapped
tf_session.Adapter.place, tf_session.Adapter.build = on_cpu(place), on_cpu(build)
"""

SOFT = """
import tf_session
def open_softly(self):  # soft placement on, and nobody asks whether the device exists
    tf = self._tf
    self._graph = tf.Graph()
    self._session = tf.Session(graph=self._graph, config=tf.ConfigProto(allow_soft_placement=True))
tf_session.Adapter.open = open_softly
"""

OTHER_SEED = """
import matmul, tf_session
place = tf_session.Adapter.place
tf_session.Adapter.place = lambda self, m: place(self, matmul.operand(m.shape[0], 4711, m.dtype))
"""

TF32 = """
import numpy, tf_session
place = tf_session.Adapter.place
def rounded(self, m):  # ten bits of mantissa, as a tensor core takes them, under the name of full precision
    bits = (m.view(numpy.uint32) + numpy.uint32(0x1000)) & numpy.uint32(0xFFFFE000)
    place(self, bits.view(numpy.float32))
tf_session.Adapter.place = rounded
"""

ZERO_LAST_ROW = """
import tf_session
outputs = tf_session.Adapter.outputs
def without_last_row(self):
    got = outputs(self)
    got["last"] = got["last"] * 0
    got["rows"][-1] = 0
    return got
tf_session.Adapter.outputs = without_last_row
"""

NOT_SYNCHRONISED = """
import concurrent.futures, tf_session
pool = concurrent.futures.ThreadPoolExecutor(1)
execute, drain = tf_session.Adapter.execute, tf_session.Adapter.drain
state = {"futures": [], "scalar": None}
def submit(self):  # hands the work over and returns at once
    if state["scalar"] is None:
        state["scalar"] = execute(self)
    else:
        state["futures"].append(pool.submit(execute, self))
    return state["scalar"]
def wait(self):
    while state["futures"]:
        state["futures"].pop().result()
    drain(self)
build, outputs, evidence = tf_session.Adapter.build, tf_session.Adapter.outputs, tf_session.Adapter.evidence
def rebuilt(self):
    build(self); state["scalar"] = None
def waited(method):
    def wrapped(self):
        wait(self); return method(self)
    return wrapped
tf_session.Adapter.execute, tf_session.Adapter.drain, tf_session.Adapter.build = submit, wait, rebuilt
tf_session.Adapter.outputs, tf_session.Adapter.evidence = waited(outputs), waited(evidence)
"""

VANISHED = """
import tf_session
execute = tf_session.Adapter.execute
first = {}
def remembered(self):  # the first call is honest; the others return what it returned
    key = id(self._call)
    if key not in first:
        first[key] = execute(self)
    return first[key]
tf_session.Adapter.execute = remembered
"""


@pytest.mark.parametrize("target", ["CPU", "XLA_CPU"])
@pytest.mark.parametrize("kind", ["prepared", "fresh"])
@pytest.mark.parametrize("n", [8, 50, 1000])
def test_an_honest_worker_proves_everything(taker, target, kind, n):
    """Fault: a proof that turns honest numbers red, which would empty every table."""
    sample = taker.take(target, n, kind=kind)
    assert sample.status == "ok", sample.reason
    states = {name: proof.state for name, proof in sample.proofs.items()}
    assert states["result"] == states["device"] == states["plausible"] == states["bytecode"] == "ok"
    assert states["synchronised"] == ("ok" if kind == "prepared" else "not_applicable")


@pytest.mark.parametrize(
    ("fault", "target", "n", "status"),
    [
        (CONSTANT, "CPU", 50, "unverified_placement"),
        (CONSTANT, "CPU", 2000, "unverified_placement"),
        (CONSTANT, "XLA_CPU", 50, "unverified_placement"),
        (UNUSED, "CPU", 50, "wrong_result"),
        (UNUSED, "XLA_CPU", 50, "wrong_result"),
        (SHORTCUT, "CPU", 50, "unverified_placement"),
        (SHORTCUT, "XLA_CPU", 50, "unverified_placement"),
        (ELSEWHERE, "XLA_CPU", 50, "wrong_device"),
        (SOFT, "GPU", 50, "wrong_device"),
        (OTHER_SEED, "CPU", 50, "wrong_result"),
        (OTHER_SEED, "XLA_CPU", 2000, "wrong_result"),
        (TF32, "CPU", 50, "wrong_result"),
        (TF32, "CPU", 2000, "wrong_result"),
        (ZERO_LAST_ROW, "CPU", 50, "wrong_result"),
        (ZERO_LAST_ROW, "CPU", 2000, "wrong_result"),
        (NOT_SYNCHRONISED, "CPU", 50, "implausible"),
        (NOT_SYNCHRONISED, "CPU", 1000, "implausible"),
        (NOT_SYNCHRONISED, "CPU", 2000, "implausible"),
        (VANISHED, "CPU", 1500, "wrong_result"),
    ],
)
def test_a_planted_fault_turns_the_sample_red(taker, tmp_path, fault, target, n, status):
    """Fault: constants captured, product unused, computed elsewhere, other numbers, no waiting, no work."""
    sample = taker.take(target, n, worker=plant(tmp_path / "worker", fault), warm_calls=15)
    assert sample.status == status, (sample.reason, sample.proofs)
    assert sample.reason is not None and sample.reason.text


def test_vanished_work_is_implausible_too(taker, tmp_path):
    """Fault: n = 1500 in 0.3 ms on 2 cores; the rate alone must give it away, whatever the result says."""
    sample = taker.take("CPU", 1500, worker=plant(tmp_path / "worker", VANISHED), warm_calls=15)
    assert sample.proofs["plausible"].state == "failed"


def test_missing_bytecode_is_recorded(taker, tmp_path):
    """Fault: modules compiled at every start, which doubles an import and is taken for the framework's."""
    fault = "import sys\nimport importlib.util\nimportlib.util.MAGIC_NUMBER = b'none'"
    sample = taker.take("CPU", 8, kind="fresh", worker=plant(tmp_path / "worker", fault))
    assert sample.proofs["bytecode"].state == "failed"


@pytest.mark.parametrize("target", ["CPU", "XLA_CPU"])
def test_warm_grows_with_the_work(taker, target):
    """Fault: work that is folded away or not done: then time does not grow with n."""
    medians = []
    for n in (512, 1024, 2048):
        values = []
        for _ in range(3):
            sample = taker.take(target, n, warm_calls=20)
            assert sample.status == "ok", sample.reason
            assert sample.warm is not None
            values.append(sorted(sample.warm.calls_s)[10])
        medians.append(sorted(values)[1])
    assert medians[2] > 16 * medians[0]
    assert medians[1] > 2.5 * medians[0] and medians[2] > 2.5 * medians[1]
