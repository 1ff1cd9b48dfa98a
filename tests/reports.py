# SPDX-License-Identifier: Apache-2.0
"""What the tests of reports share: a real run, its parts replaced, and a reader of the page."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec

from suite import journal
from suite.records import Reason, Run, Sample
from suite.stack import ROOT

EXAMPLES = ROOT / "results" / "examples"
BENCH = EXAMPLES / "bench-tf2.21-cuda12"
COMPARE = EXAMPLES / "compare-nine-stacks"
REPRODUCE = EXAMPLES / "reproduce-tf1.14-cuda10"

#: What a name may hold that must do nothing: markup, both quotes, a formula, half of a pair, an override of direction.
HOSTILE = (
    "</style></script><script>document.title='owned'</script><img src=x onerror=alert(1)> \"'&lt; $x^2$ \u202e"
)


def read(folder: Path = BENCH) -> tuple[Run, list[Sample]]:
    """Return a stored run and its samples."""
    return journal.read_run(folder), journal.read_samples(folder)[0]


def withheld(samples: list[Sample], cell: str, status: str = "implausible") -> list[Sample]:
    """Return the samples with one prepared sample of a cell at another status; its times stay in the record."""
    target = next(each for each in samples if each.kind == "prepared" and each.cell == cell)
    reason = Reason("too_fast", "7e15 FLOP/s are above the ceiling", "Report it.")
    changed = msgspec.structs.replace(target, status=status, reason=reason)
    return [changed if each is target else each for each in samples]


def hostile(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    """Return a run in which everything that somebody else named is hostile."""
    replace = msgspec.structs.replace
    target = HOSTILE + "T"
    cells = [
        replace(each, target=target if each.target == "CPU" else each.target, placement=each.placement + HOSTILE)
        for each in run.plan.cells
    ]
    changed = replace(
        run,
        run_id=HOSTILE,
        command=["python", "-m", "suite", HOSTILE],
        stack={**run.stack, "name": HOSTILE, "title": HOSTILE},
        host={
            **run.host,
            "cpu_model": HOSTILE,
            "os": HOSTILE + "\x00\ud800",
            "gpu": {"name": HOSTILE, "uuid": HOSTILE},
        },
        engine={**run.engine, "why": HOSTILE},
        environment={**run.environment, "packages": {"numpy": HOSTILE}, "base": HOSTILE},
        plan=replace(run.plan, cells=cells),
    )
    reason = Reason(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    return changed, [
        replace(each, tags=[HOSTILE], telemetry={"wall_s": 1.0}, reason=reason if each.status != "ok" else None)
        for each in samples
    ]


class Page(HTMLParser):
    """A page as a browser's parser sees it: elements with their attributes, and the text of each kind."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self._open[-1] if self._open else "", []).append(data)

    def all(
        self, name: str, where: Callable[[dict[str, str | None]], bool] = lambda _: True
    ) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a name."""
        return [attributes for tag, attributes in self.elements if tag == name and where(attributes)]

    def words(self) -> str:
        """Return all text but that of style and script."""
        return "\n".join(
            line for tag, lines in self.text.items() if tag not in ("style", "script") for line in lines
        )
