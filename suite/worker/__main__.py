# SPDX-License-Identifier: Apache-2.0
"""The worker: ``python -I -u -B <this folder> REQUEST.json`` measures one sample in one process.

Python 3.6 syntax and the standard library only, and the framework that the request names: this runs
inside a stack, which may be eight years old.
"""

import clock

_STARTED_S = clock.now()  # before anything else is imported: the end of the interpreter's own start

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402

import channel as channel_module  # noqa: E402
import machine  # noqa: E402
import phases as phases_module  # noqa: E402
import refusal  # noqa: E402
import sample  # noqa: E402

REFUSED = 64  # the request itself cannot be carried out: a fault of the suite, not of the stack


def main(path):
    """Carry out one request; return the process's exit code."""
    with open(path, "r", encoding="utf-8") as file:
        request = json.load(file)
    if request.get("v") != channel_module.PROTOCOL:
        sys.stderr.write("coldwarm worker: request version %r, expected 1\n" % (request.get("v"),))
        return REFUSED
    channel = channel_module.Channel(request["events"])
    channel.send(
        "started",
        at_s=_STARTED_S,
        exec_at_s=clock.executed_s(os.environ),
        pid=os.getpid(),
        python=sys.version.split()[0],
        cpu_s=_cpu_s(),
        machine_cpu_s=machine.cpu_s(),
        **clock.frame(),
    )
    phases = phases_module.Phases(channel)
    try:
        _carry_out(request, channel, phases)
    except Exception as error:  # every failure of a stack becomes an event: the parent decides what it is
        channel.send("failure", **_failure(error))
        traceback.print_exc()
        return 1
    finally:
        channel.close()
    return 0


def _carry_out(request, channel, phases):
    if request["kind"] == "reproduce":
        import snippet

        channel.send("ready", at_s=clock.now())
        snippet.run(phases, channel, request)
        _done(channel)
        return
    if request["kind"] in ("drop", "clock"):
        import clockcheck
        import disk

        channel.send("ready", at_s=clock.now())
        if request["kind"] == "drop":
            channel.send("dropped", **disk.drop())
        else:
            channel.send("clock", **clockcheck.measure())
        _done(channel)
        return
    adapter = _adapter(request)
    channel.send("ready", at_s=clock.now())
    try:
        if request["kind"] == "probe":
            sample.probe(phases, channel, adapter)
        else:
            sample.measure(phases, channel, adapter, request)
    except Exception as error:
        error.out_of_memory = _is_out_of_memory(adapter, error)
        raise
    _done(channel)


def _done(channel):
    channel.send("done", at_s=clock.now(), cpu_s=_cpu_s(), machine_cpu_s=machine.cpu_s())


def _cpu_s():
    """Return the CPU seconds of this process and of children that it waited for (an assembler, say)."""
    return sum(os.times()[:4])


def _adapter(request):
    # By name, so that only the asked one is loaded.
    if request["adapter"] == "tf_session":
        import tf_session as module
    elif request["adapter"] == "tf_function":
        import tf_function as module
    elif request["adapter"] == "jax_jit":
        import jax_jit as module
    elif request["adapter"] == "torch_eager":
        import torch_eager as module
    elif request["adapter"] == "torch_compile":
        import torch_compile as module
    else:
        raise ValueError("no adapter %r" % (request["adapter"],))
    return module.Adapter(request, sample.timed_compiles(request["kind"]))


def _is_out_of_memory(adapter, error):
    if isinstance(error, MemoryError):
        return True
    try:
        return adapter.is_out_of_memory(error)
    except Exception:  # the framework may not even have been imported
        return False


def _failure(error):
    out = {
        "type": type(error).__name__,
        "text": str(error)[:4000],
        "devices": getattr(error, "devices", None),
        "out_of_memory": bool(getattr(error, "out_of_memory", False)),
    }
    if isinstance(error, refusal.NotOffered):
        out.update(code=error.code, next_step=error.next_step)
    return out


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: the interpreter's own end takes long with a framework loaded, measures nothing, and is
    # where old frameworks crash after their work is done.
    os._exit(code)
