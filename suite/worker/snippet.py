# SPDX-License-Identifier: Apache-2.0
"""The snippet of the question, in one process: every device and shape once, and then all of it again.

As a notebook cell that is executed twice: new nodes in the default graph and a new Session each time, the clock
started just before the Session and stopped after it is closed. Nothing is taken out, nothing warmed up.
"""

import os
import sys
from datetime import timedelta

import clock
import phases as phases_module

PASSES = ("first", "rerun")


def run(phases, channel, request):
    """Run ``request["pairs"]``, a list of [device, n], twice; tell each pair's time.

    A pair whose device does not exist is told as such. Before each pair its time is foreseen from the same
    device's last one; what would end after ``request["until_s"]`` (this process's clock) is told as
    over budget and not run. A pair that fails is told as ``oom`` or ``crashed``, and ends no other.
    """
    kinds = {device.split(":")[1] for device, _ in request["pairs"]}
    if {"GPU", "XLA_GPU"} <= kinds:
        # From its first kernel on GPU:0 holds nearly all of the GPU's memory, and XLA_GPU, which takes its own from the
        # driver, would find none in the rerun. The question asked for one of the two.
        os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    with phases.measure("import"):
        import tensorflow

        tf = tensorflow.compat.v1
        tf.disable_eager_execution()
    with phases.measure("device_init"):
        from tensorflow.python.client import device_lib

        devices = [
            {"name": each.name, "type": each.device_type, "memory_limit": each.memory_limit}
            for each in device_lib.list_local_devices()
        ]
    names = [each["name"] for each in devices]
    channel.send("devices", devices=sorted(names))
    facts = {
        "framework_version": tensorflow.__version__,
        "local_devices": devices,
        "gpu_memory": "grows" if "TF_FORCE_GPU_ALLOW_GROWTH" in os.environ else "default",
    }
    channel.send("facts", facts=facts)
    for which in PASSES:
        last = {}
        with phases.measure(which + "_pass"):
            for device, n in request["pairs"]:
                told = {"pass": which, "device": device, "n": n}
                if device not in names:
                    channel.send("pair", status="unavailable", **told)
                elif clock.now() + foreseen_s(last.get(device, []), n) > request["until_s"]:
                    channel.send("pair", status="over_budget", **told)
                else:
                    try:
                        last.setdefault(device, []).append((n, _pair(tf, channel, told)))
                    except tf.errors.OpError as error:
                        channel.send("pair", status=_status(tf, error), reason=str(error)[:300], **told)


def _pair(tf, channel, told):
    device, n = told["device"], told["n"]
    channel.send("pair_begin", **told)
    said = phases_module.said()
    with tf.device(device):
        matrix = tf.random_uniform(shape=(n, n), minval=0, maxval=1)
        product = tf.matmul(matrix, tf.transpose(matrix))
        total = tf.reduce_sum(product)
    begin = clock.now()
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        result = session.run(total)
    end = clock.now()
    sys.stdout.write("%s\nShape: (%d, %d) Device: %s\n" % (result, n, n, device))
    sys.stdout.write("Time taken: %s\n" % timedelta(seconds=end - begin))
    channel.send(
        "pair",
        status="ok",
        name="%s %s %d" % (told["pass"], device, n),
        begin_s=begin,
        end_s=end,
        scalar=float(result),
        stderr_bytes=[said, phases_module.said()],
        **told,
    )
    return end - begin


def _status(tf, error):
    words = ("out of memory", "OUT_OF_MEMORY", "RESOURCE_EXHAUSTED", "STATUS_ALLOC_FAILED")
    short = isinstance(error, tf.errors.ResourceExhaustedError) or any(each in str(error) for each in words)
    return "oom" if short else "crashed"


def foreseen_s(taken, n):
    """Return the seconds that a pair will take, by its device's pairs so far: a list of (n, seconds).

    What the quickest of them took does not grow (a Session, a compile); what the last one took beyond that grows with
    n^3.
    """
    if not taken or taken[-1][0] < 500:  # a small one's time says nothing of a large one
        return 0.0
    still = min(seconds for _, seconds in taken)
    size, seconds = taken[-1]
    if len(taken) == 1:
        still = 0.0  # then it says nothing of what grows
    return still + (seconds - still) * (float(n) / size) ** 3
