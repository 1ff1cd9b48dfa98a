# SPDX-License-Identifier: Apache-2.0
"""Read from the text of an optimised XLA module which products of matrices it computes, and from what.

The text differs by version: TensorFlow 1.14 writes the shape of each operand beside its name, 2.21 and JAX do not.
All write ``%name = shape op(operands), attributes``, one instruction a line, within computations: that of the entry,
and those that a fusion, a call or a loop names in its attributes. A product may lie in any of them.
"""

import os
import re

_INSTRUCTION = re.compile(
    r"^\s*(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>\([^=]*?\)|\w+\[[\d,]*\](?:\{[^}]*\})?) "
    r"(?P<op>[\w\-]+)\((?P<operands>[^)]*)\)(?P<rest>.*)$"
)
_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) (?:\(.*\) -> .*)?\{\s*$")
#: Attributes that name computations: one, or several in braces.
_CALLED = re.compile(r"\b(?:calls|to_apply|called_computations|body|condition)=(?:\{([^}]*)\}|%?([\w.\-]+))")
_DIMENSIONS = re.compile(r"\w+\[([\d,]*)\]")
_INDEX = re.compile(r"\bindex=(\d+)")
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)\s*$")

#: A matrix product is one of these, or a call of a library whose target says so.
PRODUCT = "dot"
LIBRARY = re.compile(r'custom_call_target="([^"]*(?:gemm|matmul|dot)[^"]*)"', re.IGNORECASE)
#: Instructions that hand their operand on, at most in another layout or type, or with zeros around it.
PASSES_ON = ("bitcast", "copy", "copy-start", "copy-done", "transpose", "convert", "reshape", "pad")
#: Instructions whose result is that of the one computation that they name.
STANDS_FOR = ("fusion", "call", "async-start")
#: Operands are followed through at most so many instructions: a module's text may be a worker's own.
MOST_STEPS = 1000


class _Instruction(object):
    """One instruction: where it stands, what it is, from what it is made and what it calls."""

    def __init__(self, computation, match):
        rest = match.group("rest")
        self.computation = computation
        self.name = match.group("name")
        self.shape = match.group("shape")
        self.op = match.group("op")
        self.argument = match.group("operands").strip()  # of a parameter: its number
        self.operands = _operands(match.group("operands"))
        found = _INDEX.search(rest)
        self.index = int(found.group(1)) if found else 0
        self.called = [
            name.strip().lstrip("%") for many, one in _CALLED.findall(rest) for name in (many or one).split(",")
        ]
        self.is_product = self.op == PRODUCT or bool(self.op == "custom-call" and LIBRARY.search(rest))


class _Module(object):
    """The computations of one module: instructions by name, the last one of each, and who calls whom."""

    def __init__(self, text):
        self.entry = None
        self.order = []
        self._found = {}
        self._roots = {}
        self._callers = {}
        computation = ""
        for line in text.splitlines():
            opened = _COMPUTATION.match(line)
            if opened:
                computation = opened.group("name")
                if opened.group("entry"):
                    self.entry = computation
                continue
            match = _INSTRUCTION.match(line)
            if match:
                self._add(_Instruction(computation, match), bool(match.group("root")), line)

    def _add(self, made, is_root, line):
        self.order.append((made, line.strip()[:200]))
        self._found[made.computation, made.name] = made
        if is_root:
            self._roots[made.computation] = made
        for name in made.called:
            self._callers.setdefault(name, []).append(made)

    def instruction(self, computation, name):
        """Return the instruction of this name in a computation, or None."""
        return self._found.get((computation, name))

    def origin(self, computation, name):
        """Return what a value comes from: "parameter" of the entry, "constant", the name of another op, "unknown"."""
        inside = []  # the calls through which the way has led into a computation
        at = self.instruction(computation, name)
        for _ in range(MOST_STEPS):
            if at is None:
                return "unknown"
            if at.op == "parameter" and at.computation in (self.entry, ""):
                return "parameter"
            before = self._before(at, inside)
            if before is at:
                return at.op
            at = before
        return "unknown"

    def _before(self, at, inside):
        """Return the instruction whose value ``at`` hands on; itself where it makes its own, None where unknown."""
        if at.op == "parameter":
            callers = [inside.pop()] if inside else self._callers.get(at.computation, [])
            number = int(at.argument) if at.argument.isdigit() else len(self.order)
            if len(callers) != 1 or number >= len(callers[0].operands):
                return None  # called by several, or in a loop: not one value
            return self.instruction(callers[0].computation, callers[0].operands[number])
        if at.op == "get-tuple-element" and at.operands:
            made = self.instruction(at.computation, at.operands[0])
            root = self._stands_for(made)
            if root is not None:
                inside.append(made)
                made = root
            if made is None or made.op != "tuple" or at.index >= len(made.operands):
                return made
            return self.instruction(made.computation, made.operands[at.index])
        root = self._stands_for(at)
        if root is not None:
            inside.append(at)
            return root
        if at.op in PASSES_ON and at.operands:
            return self.instruction(at.computation, at.operands[0])
        return at

    def _stands_for(self, made):
        """Return the root of the one computation whose result an instruction gives, or None."""
        if made is None or made.op not in STANDS_FOR or len(made.called) != 1:
            return None
        return self._roots.get(made.called[0])


def dots(text):
    """Return each matrix product of a module.

    Returns
    -------
    list of dict
        ``text``: the instruction, at most 200 characters; ``shapes``: dimensions of the result (the first,
        where it is a tuple) and of the first two operands, as "300,300", "" where unknown; ``from``: for each
        of these operands what it comes from, such as "parameter" or "constant": followed out of the fusion that
        the product lies in, and through those that only lay its operand out anew.
    """
    read = _Module(text)
    out = []
    for made, line in read.order:
        if not made.is_product:
            continue
        operands = [(name, read.instruction(made.computation, name)) for name in made.operands[:2]]
        out.append(
            {
                "text": line,
                "shapes": [_dimensions(made.shape)]
                + [_dimensions(each.shape) if each else "" for _, each in operands],
                "from": [read.origin(made.computation, name) for name, _ in operands],
            }
        )
    return out


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
