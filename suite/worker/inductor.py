# SPDX-License-Identifier: Apache-2.0
"""Read what Inductor compiled: the matrix products of the modules that it wrote, and why it could not write any.

Such a module is a Python file with a function ``call(args)``. A product that is left to the libraries is a line
``extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, (50, 50), (1, 50), 0), out=buf0)`` in it.
"""

import os
import re

from refusal import NotOffered

_ARGUMENTS = re.compile(r"^\s*((?:\w+, )*\w+,?) = args$", re.MULTILINE)
_SHAPES = re.compile(r"assert_size_stride\((\w+), \(([\d, ]*)\), ")
_PRODUCTS = re.compile(r"^\s*extern_kernels\.(mm|addmm|bmm|baddbmm)\((.*)\)\s*(?:#.*)?$", re.MULTILINE)
_VIEW = re.compile(r"reinterpret_tensor\((\w+), \(([\d, ]*)\), ")

#: What is missing, in the words of Inductor, of Triton, or of the C++ compiler.
_MISSING = (
    (
        ("InvalidCxxCompiler", "No working C++ compiler found"),
        "no_cpp_compiler",
        "torch.compile needs a C++ compiler for CPUs, and found none",
        "Install g++ (Debian, Ubuntu: apt-get install g++; an image has it unless SYSTEM_PACKAGES= was replaced); "
        "the eager rows need none.",
    ),
    (
        ("Failed to find C compiler",),
        "no_c_compiler",
        "torch.compile needs a C compiler for Triton's launcher, and found none",
        "Install gcc (Debian, Ubuntu: apt-get install gcc; an image has it unless SYSTEM_PACKAGES= was replaced); "
        "the eager rows need none.",
    ),
    (
        ("Python.h: No such file", "'Python.h' file not found"),
        "no_python_headers",
        "torch.compile needs Python's own headers (Python.h), and they are not installed",
        "Install them (Debian, Ubuntu: apt-get install python3-dev), or name a Python that has them: PYTHON=",
    ),
    (
        ("GPUTooOldForTriton", "too old to be supported by the triton"),
        "gpu_too_old",
        "torch.compile needs a GPU of compute capability 7.0 or later for Triton",
        "PLACEMENT=device measures this GPU without compiling.",
    ),
)


def modules():
    """Return what this process loaded of Inductor's: each module's name and matrix products, at most 8 of them."""
    from torch._inductor.codecache import PyCodeCache

    found = []
    for each in PyCodeCache.modules:
        with open(each.__file__, "r", encoding="utf-8") as file:
            text = file.read()
        if _ARGUMENTS.search(text):
            found.append({"name": os.path.basename(each.__file__), "dots": products(text)[:8]})
    return found[-8:]


def products(text):
    """Return each matrix product that a module leaves to a library.

    Returns
    -------
    list of dict
        ``text``: the line, at most 200 characters; ``shapes``: dimensions of both factors, as "300,300", "" where
        unknown; ``from``: for each factor "parameter" where it is an argument of the call as it came, else the name
        of the buffer.
    """
    arguments = set()
    for line in _ARGUMENTS.finditer(text):
        arguments.update(name for name in re.split(r",\s*", line.group(1)) if name)
    shapes = {name: _dimensions(size) for name, size in _SHAPES.findall(text)}
    found = []
    for call in _PRODUCTS.finditer(text):
        parts = _split(call.group(2))
        # addmm and baddbmm: what they add to comes first.
        factors = parts[1:3] if "add" in call.group(1) else parts[:2]
        told = {"text": call.group(0).strip()[:200], "shapes": [], "from": []}
        for factor in factors:
            view = _VIEW.match(factor)
            name = view.group(1) if view else factor
            told["shapes"].append(_dimensions(view.group(2)) if view else shapes.get(name, ""))
            told["from"].append("parameter" if name in arguments else name)
        found.append(told)
    return found


def counters():
    """Return what Inductor counted in this process, such as hits of its cache on disk."""
    from torch._dynamo.utils import counters as told

    return {name: int(value) for name, value in sorted(told.get("inductor", {}).items())}


def refused(error):
    """Return :class:`refusal.NotOffered` where an exception says what this machine lacks, else None."""
    said = []
    while error is not None and len(said) < 16:
        said.append("%s: %s" % (type(error).__name__, error))
        error = error.__cause__ or error.__context__
    words = "\n".join(said)
    for told, code, text, next_step in _MISSING:
        if any(each in words for each in told):
            return NotOffered(code, text, next_step)
    return None


def _dimensions(size):
    return ",".join(part.strip() for part in size.split(",") if part.strip())


def _split(text):
    """Split arguments at the commas that are in no parenthesis."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return parts + [text[begin:].strip()]
