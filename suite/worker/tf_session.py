# SPDX-License-Identifier: Apache-2.0
"""Adapter ``tf_session``: a graph and a Session, as TensorFlow 1 users run them.

The verbs are those of every adapter; sample.py calls them in this order: import_framework, open, place,
build, execute, outputs, poison, drain, evidence, facts, close. ``place`` and ``build`` may be called again for
another operand: the preparatory call has its own nodes in the same Session.
"""

import os

import hlo
import limits
import settings

NAME = "tf_session"

#: Kernels that compute the product, under any name that an optimiser gives it.
PRODUCT_OPS = (
    "MatMul",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "_FusedMatMul",
    "_MklMatMul",
    "_MklFusedMatMul",
    "_MklBatchMatMulV2",
)
#: Name of the operand's variable; a second one of the same graph is called operand_1.
OPERAND = "operand"
#: On an XLA device the whole call is one compiled cluster, run by this kernel.
CLUSTER_RUN = "_XlaRun"
#: Kernels whose device is evidence: what makes the product, from what, and what becomes of it.
EVIDENCE_OPS = PRODUCT_OPS + (
    CLUSTER_RUN,
    "VarHandleOp",
    "_Arg",
    "ReadVariableOp",
    "Identity",
    "Transpose",
    "Sum",
    "StridedSlice",
)


class Unavailable(Exception):
    """The asked device does not exist in this process; ``devices`` lists those that do."""

    def __init__(self, device, devices):
        Exception.__init__(self, "%s is not among %s" % (device, ", ".join(devices)))
        self.device = device
        self.devices = devices


class Adapter(object):
    """One process's TensorFlow, one device, one Session."""

    #: Compiling is not a step of its own: it happens inside the first ``session.run``.
    compile = None

    def __init__(self, request, timed_compiles):
        """Take the request's device and, for an XLA device, where to keep the module of the evidence call.

        ``timed_compiles`` is how many clusters this sample compiles before that call: they are never
        dumped, because dumping is not free.
        """
        self._device = request["device"]
        self._precision = request["precision"]
        self._modules_folder = request["modules_folder"]
        self._timed_compiles = timed_compiles
        self._threads = limits.threads(request.get("threads"))
        self._tf = None
        self._graph = None
        self._session = None
        self._variables = {}
        self._feeds = {}
        self._call = None
        self._reads = None

    def import_framework(self):
        if "XLA" in self._device:
            os.environ["XLA_FLAGS"] = self._dump_flags()
        import tensorflow

        # TensorFlow 2 has Sessions there, and 1.14 has the same names.
        self._tf = tensorflow.compat.v1

    def devices(self):
        """Return the names of all devices, as ``/device:CPU:0``. Opens the Session if there is none."""
        if self._session is None:
            self._open_session()
        return sorted("/device:" + each.name.split("/device:")[1] for each in self._session.list_devices())

    def open(self):
        """Open the Session, soft placement off. Raises :class:`Unavailable`."""
        present = self.devices()
        if self._device not in present:
            raise Unavailable(self._device, present)
        settings.set_precision(self._tf, self._precision, self._device)

    def place(self, m):
        """Put the operand, shape (n, n), on the device, and make room for the outputs there, as NaN."""
        tf = self._tf
        n = m.shape[0]
        first = {"m": m, "rows": nan_like(m, (n,)), "last": nan_like(m, (n,))}
        feeds = {}
        with self._graph.as_default(), tf.device(self._device):
            for name, value in sorted(first.items()):
                # A placeholder as initial value: a constant would sit in the graph, and fold.
                feed = tf.placeholder(value.dtype, value.shape)
                # A plain (reference) variable of TF 1.14 has no kernel on XLA devices.
                self._variables[name] = tf.Variable(
                    feed, trainable=False, use_resource=True, name=OPERAND if name == "m" else name
                )
                feeds[name] = (feed, value)
            self._reads = {name: self._variables[name].read_value() for name in ("rows", "last")}
        self._feeds = feeds
        self._fill(("m", "rows", "last"))

    def build(self):
        """Add the nodes of the call to the graph; nothing runs yet."""
        tf = self._tf
        with self._graph.as_default(), tf.device(self._device):
            m = self._variables["m"].read_value()
            product = tf.matmul(m, m, transpose_b=True)
            scalar = tf.reduce_sum(product)
            keep_rows = self._variables["rows"].assign(tf.reduce_sum(product, axis=1), read_value=False)
            keep_last = self._variables["last"].assign(product[-1], read_value=False)
        self._call = [scalar, keep_rows, keep_last]

    def execute(self):
        """Make the call once; return its scalar, a Python float on the host."""
        return float(self._session.run(self._call)[0])

    def drain(self):
        """Wait until nothing is outstanding on the device: read what the last call wrote there last."""
        self._session.run(self._reads["last"])

    def rescale(self, factor):
        """Multiply the operand by ``factor``, a power of two: exact. On the host: nothing more is compiled."""
        feed, value = self._feeds["m"]
        self._feeds["m"] = (feed, value * value.dtype.type(factor))
        self._fill(("m",))

    def outputs(self):
        """Return the row sums and the last row of the last call, NumPy arrays of shape (n,)."""
        return self._session.run(self._reads)

    def poison(self):
        """Overwrite the kept outputs with NaN: what is read afterwards was written by a later call."""
        self._fill(("rows", "last"))

    def evidence(self):
        """Make one untimed call and return what ran.

        Returns
        -------
        dict
            ``nodes``: name, op, device and inputs of each kernel in EVIDENCE_OPS, from the partition graphs
            of RunMetadata, which are the graphs the executors hold (a log of placements is not: the
            optimiser may fold a placed node away). ``modules``: for an XLA device, what this call compiled:
            name and dot instructions of each optimised module. A target that the call does not need makes
            it compile the same nodes once more, which is how its module can be had without dumping a
            timed compile.
        """
        tf = self._tf
        with self._graph.as_default():
            unneeded = tf.no_op()
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        self._session.run(self._call + [unneeded], options=options, run_metadata=metadata)
        nodes = [
            {
                "name": node.name,
                "op": node.op,
                "device": "/device:" + node.device.split("/device:")[-1],
                "inputs": list(node.input),
            }
            for graph in metadata.partition_graphs
            for node in graph.node
            if node.op in EVIDENCE_OPS
        ]
        return {"nodes": nodes, "modules": self._modules(), "compiled": False}

    def _dump_flags(self):
        later = "[%d-9]|[1-9][0-9]+" % self._timed_compiles
        return hlo.dump_flags(self._modules_folder, "^cluster_(%s)__" % later)

    def _modules(self):
        return hlo.dumped(self._modules_folder) if "XLA" in self._device else []

    def facts(self):
        """Return versions and settings that are part of what was measured."""
        import numpy

        tf = self._tf
        out = {
            "framework_version": tf.__version__,
            "numpy_version": numpy.__version__,
            "cpus": limits.cpus(),
            "intra_op_threads": self._threads or "default",
            "inter_op_threads": self._threads or "default",
            "optimizer": "default",
            "onednn": settings.onednn(),
            "cuda_module_loading": settings.cuda_module_loading(),
            "soft_placement": False,
            "precision": settings.precision_in_force(tf, self._device),
        }
        out.update(settings.gpu(self._device))
        return out

    def is_out_of_memory(self, error):
        """Tell whether an exception of the framework means that memory ran out."""
        return isinstance(error, self._tf.errors.ResourceExhaustedError)

    def close(self):
        """Close the Session and let go of what it held."""
        self._variables.clear()
        self._feeds.clear()
        self._call = self._reads = None
        if self._session is not None:
            self._session.close()
            self._session = None
        self._graph = None

    def _open_session(self):
        tf = self._tf
        self._graph = tf.Graph()
        config = tf.ConfigProto(allow_soft_placement=False)
        if self._threads is not None:
            config.intra_op_parallelism_threads = self._threads
            config.inter_op_parallelism_threads = self._threads
        self._session = tf.Session(graph=self._graph, config=config)

    def _fill(self, names):
        self._session.run(
            [self._variables[name].initializer for name in names],
            dict(self._feeds[name] for name in names),
        )


def nan_like(like, shape):
    """Return an array of ``shape`` with the dtype of ``like``, full of NaN."""
    import numpy

    return numpy.full(shape, numpy.nan, dtype=like.dtype)
