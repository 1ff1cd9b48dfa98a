# SPDX-License-Identifier: Apache-2.0
"""One sample: what one process does for one cell, in the order of the phases.

A *prepared* sample makes one identical call at 8 x 8 first and is the source of ``cold`` and ``warm``; a
*fresh* one makes none and is the source of ``first_result``. A *pilot* is a prepared sample that finds out
how many warm calls the others make, a *priming* sample one that fills the caches that a cell keeps. A *probe* lists
the devices.
"""

import bytecode
import disk
import matmul
import series
import touched


def probe(phases, channel, adapter):
    """Import the framework and list its devices."""
    with phases.measure("import"):
        adapter.import_framework()
    with phases.measure("device_init"):
        devices = adapter.devices()
    channel.send("devices", devices=devices)
    channel.send("facts", facts=adapter.facts())
    with phases.measure("verify"):
        channel.send("bytecode", **bytecode.loaded_from_cache())
    with phases.measure("teardown"):
        adapter.close()


def measure(phases, channel, adapter, request):
    """Measure one cell. ``request`` holds kind, n, seed, dtype, warm_calls and warm_s, and may hold device_clock.

    For ``explain`` also ``prepare_n``, the size of the preparatory call where it is not the usual one, and
    ``watch``: tell what a prepared sample's first call touches for the first time.
    """
    n, seed, dtype = request["n"], request["seed"], request["dtype"]
    before_bytes = disk.read_bytes()
    with phases.measure("import"):
        adapter.import_framework()
    with phases.measure("device_init"):
        adapter.open()
        _tell_memory(channel, adapter)
    if request["kind"] != "fresh":
        with phases.measure("library_init"):
            _prepare(adapter, request.get("prepare_n") or preparatory_n(n), seed, dtype)
    with phases.measure("inputs"):
        m = matmul.operand(n, seed, dtype)
        adapter.place(m)
    watch = bool(request.get("watch")) and request["kind"] != "fresh"
    if watch:
        with phases.measure("verify"):
            libraries, used = touched.libraries(), touched.used()
    with phases.measure("build"):
        adapter.build()
    if adapter.compile is not None:
        with phases.measure("compile"):
            adapter.compile()
    with phases.measure("first_execution"):
        scalar = adapter.execute()
    used_after = touched.used() if watch else None
    after_bytes = disk.read_bytes()
    channel.send("first_result", at_s=phases.last_end_s, scalar=scalar)
    with phases.measure("verify"):
        if watch:
            channel.send("touched", **touched.between(used, used_after, libraries, touched.libraries()))
        cold = dict(adapter.outputs(), scalar=scalar)
        adapter.poison()
    warm = None
    if request["kind"] != "fresh":
        with phases.measure("warm"):
            timed = series.measure(adapter, request["warm_calls"], request["warm_s"])
        warm = {"scalar": timed.pop("scalar")}
        channel.send("warm", **timed)
    with phases.measure("verify"):
        if warm is not None:
            warm.update(adapter.outputs())
            _tell_device_clock(channel, adapter, request.get("device_clock") or 0)
        _prove(channel, adapter, request, m, cold, warm)
        if request["level"] == "disk":
            _tell_reads(channel, before_bytes, after_bytes)
    del m, cold
    with phases.measure("teardown"):
        adapter.close()


def timed_compiles(kind):
    """Return how many times a sample of this kind compiles before its evidence call."""
    return 1 if kind == "fresh" else 2


def preparatory_n(n):
    """Return the size of the preparatory call: 8, and 16 where the cell itself is 8."""
    return 16 if n == 8 else 8


def _prepare(adapter, n, seed, dtype):
    adapter.place(matmul.operand(n, seed, dtype))
    adapter.build()
    if adapter.compile is not None:
        adapter.compile()
    adapter.execute()


def _tell_memory(channel, adapter):
    """Send how much of the device's memory is free before anything of the cell is there, where the framework tells."""
    memory = getattr(adapter, "memory", None)
    told = memory() if memory is not None else None
    if told is not None:
        channel.send("memory", **told)


def _tell_device_clock(channel, adapter, calls):
    """Send further calls on the wall's clock and on the device's own, right after the series: the device is awake."""
    second = getattr(adapter, "device_clock", None)
    if second is None or not calls:
        return
    with series.undisturbed():
        told = second(calls)
    if told is not None:
        channel.send("device_clock", **told)


def _doubled(adapter):
    """Return the scalar of one call on twice the operand: a call that fetches nothing cannot know it."""
    adapter.rescale(2.0)
    try:
        return adapter.execute()
    finally:
        adapter.rescale(0.5)


def _tell_reads(channel, before, after):
    read = None if before is None or after is None else after - before
    channel.send("disk", read_bytes=read, used_bytes=disk.used_bytes())


def _prove(channel, adapter, request, m, cold, warm):
    """Send the evidence; the parent judges it."""
    expected = matmul.reference(m)
    facts = adapter.facts()
    judged = {"cold": cold}
    if warm is not None:
        judged["warm"] = warm
        channel.send("drains", **series.drains(adapter))
        if getattr(adapter, "rescale", None) is not None:
            channel.send("rescaled", scalar=warm["scalar"], doubled=_doubled(adapter))
    for which, outputs in sorted(judged.items()):
        ratios = matmul.errors(outputs, expected, request["adapter"], request["dtype"], facts["precision"])
        channel.send("result", of=which, ratios=ratios, entry_error=matmul.entry_error(outputs, expected))
    channel.send("placement", asked=request["device"], **adapter.evidence())
    channel.send("facts", facts=facts)
    channel.send("bytecode", **bytecode.loaded_from_cache())
