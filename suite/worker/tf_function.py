# SPDX-License-Identifier: Apache-2.0
"""Adapter ``tf_function``: ``tf.function``, plain or compiled by XLA as a whole, as TensorFlow 2 users run it.

The verbs are those of every adapter (see tf_session.py).
"""

import os

import hlo
import limits
import settings
from tf_session import EVIDENCE_OPS, Unavailable, nan_like

NAME = "tf_function"
#: Name of the function of the evidence call, where its module has to be dumped.
EVIDENCE = "evidence"


class Adapter(object):
    """One process's TensorFlow 2, one device."""

    #: Tracing is ``build``; XLA compiles inside the first call, and offers no call that only compiles.
    compile = None

    def __init__(self, request, timed_compiles):
        self._device = request["device"]
        self._jit = request["placement"] == "jit"
        self._precision = request["precision"]
        self._modules_folder = request["modules_folder"]
        self._threads = limits.threads(request.get("threads"))
        self._dumps = False
        self._tf = None
        self._variables = {}
        self._function = None

    def import_framework(self):
        import tensorflow

        self._tf = tensorflow
        if self._jit and not hasattr(tensorflow.function(len), "experimental_get_compiler_ir"):
            # TensorFlow 2.3 hands out no module. XLA reads its flags when it first compiles, which is later.
            os.environ["XLA_FLAGS"] = hlo.dump_flags(self._modules_folder, EVIDENCE)
            self._dumps = True

    def devices(self):
        """Return the names of all devices, as ``/device:CPU:0``; creates them."""
        return sorted(_device(each.name) for each in self._tf.config.list_logical_devices())

    def open(self):
        """Create the devices, soft placement off. Raises :class:`Unavailable`."""
        tf = self._tf
        tf.config.set_soft_device_placement(False)
        threads = self._threads
        if threads is not None:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
        present = self.devices()
        if self._device not in present:
            raise Unavailable(self._device, present)
        settings.set_precision(tf, self._precision, self._device)

    def place(self, m):
        """Put the operand, shape (n, n), on the device, and make room for the outputs there, as NaN."""
        tf = self._tf
        n = m.shape[0]
        with tf.device(self._device):
            for name, value in (("m", m), ("rows", nan_like(m, (n,))), ("last", nan_like(m, (n,)))):
                self._variables[name] = tf.Variable(value, trainable=False, name=name)
        self.drain()  # a copy to the device may still be under way

    def build(self):
        """Trace the call; nothing runs yet."""
        self._function = self._new_function()
        self._function.get_concrete_function()

    def execute(self):
        """Make the call once; return its scalar, a Python float on the host."""
        return float(self._function())

    def drain(self):
        """Wait until nothing is outstanding on the device: read what the last call wrote there last."""
        self._variables["last"].numpy()

    def rescale(self, factor):
        """Multiply the operand by ``factor``, a power of two: exact. On the host: nothing more is compiled."""
        m = self._variables["m"]
        value = m.numpy()
        with self._tf.device(self._device):
            m.assign(value * value.dtype.type(factor))
        self.drain()

    def outputs(self):
        """Return the row sums and the last row of the last call, NumPy arrays of shape (n,)."""
        return {name: self._variables[name].numpy() for name in ("rows", "last")}

    def poison(self):
        """Overwrite the kept outputs with NaN: what is read afterwards was written by a later call."""
        for name in ("rows", "last"):
            variable = self._variables[name]
            variable.assign(nan_like(variable.numpy(), variable.shape))

    def evidence(self):
        """Return what ran, after the series; nothing of it is timed.

        Returns
        -------
        dict
            ``outputs_on``: where the scalar of one more call is. Plain: ``nodes`` as in tf_session, of the
            partition graphs of one call of the same Python function, traced again: the runtime hands out
            graphs only while a function is made. Compiled: ``modules``, what XLA makes of this very
            function (compiled once more; in TensorFlow 2.3 traced once more as well, under another name).
        """
        from tensorflow.python.eager import context

        scalar = self._function()
        out = {"nodes": [], "modules": [], "compiled": self._jit, "outputs_on": _device(scalar.device)}
        if self._jit:
            out["modules"] = self._dumped() if self._dumps else [hlo.module(self._compiler_ir())]
            return out
        runtime = context.context()
        runtime.enable_graph_collection()
        try:
            float(self._new_function()())
            functions = runtime.export_run_metadata().function_graphs
        finally:
            runtime.disable_graph_collection()
        out["nodes"] = [
            {"name": node.name, "op": node.op, "device": _device(node.device), "inputs": list(node.input)}
            for function in functions
            for graph in function.partition_graphs
            for node in graph.node
            if node.op in EVIDENCE_OPS
        ]
        return out

    def facts(self):
        """Return versions and settings that are part of what was measured."""
        import numpy

        tf = self._tf
        out = {
            "framework_version": tf.__version__,
            "numpy_version": numpy.__version__,
            "cpus": limits.cpus(),
            "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads() or "default",
            "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads() or "default",
            "optimizer": "default",
            "onednn": settings.onednn(),
            "cuda_module_loading": settings.cuda_module_loading(),
            "soft_placement": tf.config.get_soft_device_placement(),
            "precision": settings.precision_in_force(tf, self._device),
        }
        out.update(settings.gpu(self._device))
        peak = self._peak_bytes()
        if peak is not None:
            out["memory"] = {"peak_bytes": peak}
        return out

    def _peak_bytes(self):
        """Return the most that was in use of the GPU's memory; None on a CPU, and where TensorFlow does not tell."""
        if "GPU" not in self._device:
            return None
        try:  # from TensorFlow 2.5 on
            return int(self._tf.config.experimental.get_memory_info(self._device.split("/device:")[1])["peak"])
        except Exception:  # a fact beside the others: no sample fails for it
            return None

    def is_out_of_memory(self, error):
        """Tell whether an exception of the framework means that memory ran out."""
        return isinstance(error, self._tf.errors.ResourceExhaustedError)

    def close(self):
        """Let go of what was held."""
        self._variables.clear()
        self._function = None

    def _new_function(self):
        tf = self._tf
        m, rows, last = (self._variables[name] for name in ("m", "rows", "last"))

        def call():
            with tf.device(self._device):
                with tf.name_scope("operand"):  # what it is called in the graph that runs
                    read = m.read_value()
                product = tf.matmul(read, read, transpose_b=True)
                scalar = tf.reduce_sum(product)
                rows.assign(tf.reduce_sum(product, axis=1), read_value=False)
                last.assign(product[-1], read_value=False)
                return scalar

        if not self._jit:
            return tf.function(call)
        try:
            return tf.function(call, jit_compile=True)
        except TypeError:  # its name before TensorFlow 2.5
            return tf.function(call, experimental_compile=True)

    def _compiler_ir(self):
        with self._tf.device(self._device):
            return self._function.experimental_get_compiler_ir()(stage="optimized_hlo")

    def _dumped(self):
        again = self._function._clone(None)
        again._name = EVIDENCE  # its module is called after it, and is the only one that XLA writes down
        float(again())
        return hlo.dumped(self._modules_folder)


def _device(name):
    return "/device:" + name.split("/device:")[-1]
