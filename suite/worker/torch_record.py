# SPDX-License-Identifier: Apache-2.0
"""What one call of PyTorch did: its operations with their tensors, and the kernels that a GPU ran."""

#: Operations that multiply two matrices.
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
#: At most so many are kept of each.
MOST = 64


def operations(torch, function, arguments, names):
    """Make one call under a dispatch mode, which every operation passes on its way to its device.

    Returns
    -------
    tuple
        What the call returned, and a list of its operations in order: ``op`` ("aten::mm"), ``inputs`` and
        ``outputs``, a dict a tensor: ``of`` is the memory that it is in (one of ``names`` for the arguments, else
        "t0", "t1", ...: a view has the name of what it looks at), ``shape`` ("500,500"), ``strides``, ``device``.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    # An argument has the name of the memory that it is in.
    known = {tensor.untyped_storage().data_ptr(): names[at] for at, tensor in enumerate(arguments)}
    kept, found = [], []

    def told(tree):
        out = []
        for value in tree_flatten(tree)[0]:
            if isinstance(value, torch.Tensor):
                kept.append(value)  # memory that was given back could be another tensor's next
                out.append(_tensor(value, known))
        return out

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            inputs = told((args, kwargs))
            result = func(*args, **kwargs)
            name = func._schema.name
            found.append({"op": name, "inputs": inputs, "outputs": told(result)})
            return result

    with Recorder():
        scalar = function(*arguments)
        scalar.item()
    return scalar, found[:MOST]


def ran(torch, call):
    """Return the matrix products of one further call, as PyTorch's profiler saw them run: ``op`` and ``shapes``."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        call()
    return [
        {"op": each.name, "shapes": [",".join(str(size) for size in shape) for shape in each.input_shapes]}
        for each in profile.events()
        if each.name in PRODUCTS
    ][:MOST]


def kernels(torch, call):
    """Return the names of the kernels that a GPU ran in one further call, in order; [] where CUPTI cannot be asked."""
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call()
            torch.cuda.synchronize()
        events = sorted(profile.events(), key=lambda each: each.time_range.start)
        on_gpu = torch.autograd.DeviceType.CUDA
        return [each.name[:200] for each in events if each.device_type == on_gpu][:MOST]
    except Exception as error:  # evidence beside the evidence: no sample fails for it
        return ["not told: %s" % (str(error)[:200],)]


def _tensor(value, known):
    place = value.untyped_storage().data_ptr()
    if place not in known:
        known[place] = "t%d" % sum(1 for name in known.values() if name.startswith("t"))
    return {
        "of": known[place],
        "shape": ",".join(str(each) for each in value.shape),
        "strides": ",".join(str(each) for each in value.stride()),
        "device": device_name(value.device),
    }


def device_name(device):
    """Return a torch.device as ``/device:GPU:0``."""
    return "/device:%s:%d" % ("GPU" if device.type == "cuda" else device.type.upper(), device.index or 0)
