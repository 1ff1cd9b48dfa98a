# SPDX-License-Identifier: Apache-2.0
"""From a figure to SVG or PNG, always the same bytes; inlined, its colours are the page's own."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from suite.report.markup import Markup, escaped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a figure is drawn with, and what stands for it in a page. Okabe and Ito's colours (2008).
INK, FAINT, PAPER = "#1b1f24", "#8a9199", "#fffffe"
COLD, WARM, PROCESS, STEADY, UNTIMED = "#d55e00", "#0072b2", "#7f7f80", "#bfdbee", "#cc79a7"
IMPORT = "#009e73"
VARIABLES = {
    INK: "currentColor",
    FAINT: "var(--faint)",
    PAPER: "var(--paper)",
    COLD: "var(--cold)",
    WARM: "var(--warm)",
    PROCESS: "var(--process)",
    STEADY: "var(--steady)",
    UNTIMED: "var(--untimed)",
    IMPORT: "var(--import)",
}

SETTINGS = {
    "svg.hashsalt": "coldwarm",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "font.family": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_locale": False,
    "axes.unicode_minus": False,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.35,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "legend.frameon": False,
    "path.simplify": False,
}

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Draw with this module's settings, whatever a user's matplotlibrc says."""
    # The first use may have to make its font cache, in a home that cannot be written: nobody needs to know.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        yield


def standalone(figure: Figure) -> str:
    """Return a figure as an SVG file of its own."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=_NO_METADATA)
    # Matplotlib ends some lines with a space.
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file, at twice the size of a page's."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=144, metadata={"Software": None})
    return file.getvalue()


def inlined(figure: Figure, name: str, description: str) -> Markup:
    """Return a figure as an element of a page.

    Parameters
    ----------
    name
        What its ids begin with: no two figures of a page may share one.
    description
        What a screen reader says of it.
    """
    root = ElementTree.fromstring(standalone(figure))
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = _references(root)
    for each in root.iter():
        _adapt(each, name, used)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    width = root.attrib["viewBox"].split()[2]
    root.attrib.update({"role": "img", "aria-label": description, "style": f"--width: {float(width):g}"})
    return Markup(_written(root))


def _references(root: ElementTree.Element) -> set[str]:
    """Return the ids that something in the figure refers to: the others are dropped."""
    text = ElementTree.tostring(root, encoding="unicode")
    return set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))


def _adapt(each: ElementTree.Element, name: str, used: set[str]) -> None:
    identity = each.attrib.pop("id", None)
    if identity in used:
        each.set("id", f"{name}-{identity}")
    for key, value in list(each.attrib.items()):
        if key == f"{{{_XLINK}}}href":
            del each.attrib[key]
            each.set("href", value.replace("#", f"#{name}-", 1))
        elif key == "transform" and value.startswith("rotate(-0 "):
            del each.attrib[key]  # no turn at all
        elif key in ("clip-path", "fill", "style"):
            each.set(key, _style(value, name))
        elif key in ("d", "x", "y", "width", "height", "transform") and each.tag != f"{{{_SVG}}}svg":
            each.set(key, re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", value))


def _style(value: str, name: str) -> str:
    value = value.replace("url(#", f"url(#{name}-")
    for colour, variable in VARIABLES.items():
        value = value.replace(colour, variable)
    # The page's own font, in the figure's size.
    value = re.sub(r"font: (?:\w+ )*([\d.]+)px [^;]*", r"font-size: \1px", value)
    return re.sub(r"\s*font-family: [^;]*(;|$)", "", value)


def _written(each: ElementTree.Element) -> str:
    """Return an element as HTML writes it: no namespaces, everything escaped."""
    tag = each.tag.removeprefix(f"{{{_SVG}}}")
    attributes = "".join(f' {key}="{escaped(value)}"' for key, value in each.attrib.items())
    inner = "".join([escaped((each.text or "").strip("\n")) if tag == "text" else "", *map(_written, each)])
    if tag in ("g", "defs") and not inner:
        return ""
    if tag == "g" and not attributes:
        return inner
    return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"
