# SPDX-License-Identifier: Apache-2.0
"""Read from the text of an optimised XLA module which products of matrices it computes, and from what.

The text differs by version: TensorFlow 1.14 writes the shape of each operand beside its name, 2.21 does not.
Both write ``%name = shape op(operands), attributes``, one instruction a line.
"""

import os
import re

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>\([^=]*?\)|\w+\[[\d,]*\](?:\{[^}]*\})?) "
    r"(?P<op>[\w\-]+)\((?P<operands>[^)]*)\)(?P<rest>.*)$"
)
_DIMENSIONS = re.compile(r"\w+\[([\d,]*)\]")
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)\s*$")

#: A matrix product is one of these, or a call of a library whose target says so.
PRODUCT = "dot"
LIBRARY = re.compile(r'custom_call_target="([^"]*(?:gemm|matmul|dot)[^"]*)"', re.IGNORECASE)
#: Instructions that hand their operand on, at most in another layout or type.
PASSES_ON = ("bitcast", "copy", "transpose", "convert", "reshape")


def dots(text):
    """Return each matrix product of a module.

    Returns
    -------
    list of dict
        ``text``: the instruction, at most 200 characters; ``shapes``: dimensions of the result (the first,
        where it is a tuple) and of the first two operands, as "300,300", "" where unknown; ``from``: for each
        of these operands what it comes from, such as "parameter" or "constant".
    """
    found = {}
    products = []
    for line in text.splitlines():
        match = _INSTRUCTION.match(line)
        if not match:
            continue
        operands = _operands(match.group("operands"))
        found[match.group("name")] = (_dimensions(match.group("shape")), match.group("op"), operands)
        library = match.group("op") == "custom-call" and LIBRARY.search(match.group("rest"))
        if match.group("op") == PRODUCT or library:
            products.append((line.strip()[:200], match.group("shape"), operands))
    return [
        {
            "text": text_of,
            "shapes": [_dimensions(shape)] + [found.get(name, ("",))[0] for name in operands[:2]],
            "from": [_origin(name, found) for name in operands[:2]],
        }
        for text_of, shape, operands in products
    ]


def dump_flags(folder, names):
    """Make ``folder``; return XLA_FLAGS, with what they already hold, that have XLA write modules there.

    ``names``: a regular expression. Only a module in whose name it is found is written: writing is not free.
    """
    os.makedirs(folder)
    flags = [
        os.environ.get("XLA_FLAGS", ""),
        "--xla_dump_to=" + folder,
        "--xla_dump_hlo_as_text",
        "--xla_dump_hlo_module_re=" + names,
    ]
    return " ".join(flags).strip()


def dumped(folder):
    """Return each optimised module that was written to ``folder``: its name and its products, at most 8."""
    modules = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith("after_optimizations.txt"):
            continue
        with open(os.path.join(folder, name), "r", encoding="utf-8") as file:
            modules.append(module(file.read()))
    return modules


def module(text):
    """Return what is told of one module: its name and its products, at most 8."""
    return {"name": text.split(",", 1)[0].split("\n", 1)[0], "dots": dots(text)[:8]}


def _operands(text):
    names = []
    for part in re.split(r", (?=%|[A-Za-z_]\w*\[)|, ", text):
        match = _NAME.search(part.strip())
        if match:
            names.append(match.group(1))
    return names


def _dimensions(shape):
    match = _DIMENSIONS.search(shape)
    return match.group(1) if match else ""


def _origin(name, found):
    for _ in range(len(found) + 1):
        if name not in found:
            return "unknown"
        _, op, operands = found[name]
        if op not in PASSES_ON or not operands:
            return op
        name = operands[0]
    return "unknown"
