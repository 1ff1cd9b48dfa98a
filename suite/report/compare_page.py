# SPDX-License-Identifier: Apache-2.0
"""The report of a comparison: the verdicts, every stack beside the others, and the charts of each run below."""

from __future__ import annotations

from collections.abc import Iterator

from suite import compare_tables, compare_text, comparison_tables, units
from suite.layout import heading_of_machine
from suite.records import Reason, Run
from suite.report import cells, chart_parts, compare_figures, compare_sentence, machine, sections
from suite.report.chart_parts import Arm
from suite.report.compare_view import MOST_RUNS, Across, CompareView, Standing, Told
from suite.report.markup import Child, Markup, element, table
from suite.report.page import Section, definitions, key, numbers, page
from suite.report.view import View


def compare_page(view: CompareView) -> str:
    """Return the whole report of a comparison, or of a selftest, whose two stacks are one."""
    found = [
        _by_stack(view),
        Section("cells", "Every cell of every stack", [_cells(view)]),
        _verdicts(view),
        _first(view),
        _withheld(view),
        _one_sided(view),
        _runs(view),
        _notes(view),
        _again(view),
        _environment(view),
    ]
    parts = [each for each in found if each is not None]
    return page(
        compare_sentence.title(view), compare_sentence.verdict(view), list(_under(view)), parts, skip_to="cells"
    )


def _under(view: CompareView) -> Iterator[Child]:
    counts = sorted({arm.run.plan.samples for arm in view.compared.arms})
    many = " or ".join(map(str, counts))
    how = (
        "interleaved in blocks, compared block by block" if view.comparison.paired else "stored runs, Welch's test"
    )
    said = f"{many} sample{'' if many == '1' else 's'} a cell and stack; {how}. {view.comparison.id}."
    yield element("p", said, class_="under")
    machines = dict.fromkeys(_machine(arm.run) for arm in view.compared.arms)
    yield element("p", f"{' / '.join(machines)}.", class_="under")
    for arm, seen in view.runs:
        for line in sections.marked(arm.run, seen.samples):
            yield element("p", f"{arm.name}: {line}", class_="under partial")


def _machine(run: Run) -> str:
    engine = heading_of_machine(run)[0]
    cpus = run.host.get("effective_cpus", "?")
    many = f"{cpus:g}" if isinstance(cpus, int | float) else str(cpus)
    gpu = (run.host.get("gpu") or {}).get("name")
    on = [str(run.host.get("cpu_model", "unknown CPU")), f"{many} CPUs", *([str(gpu)] if gpu else [])]
    return f"{', '.join(on)}; {engine}"


def _cells(view: CompareView) -> Markup:
    heads: list[cells.Head] = [
        *(("stack", False), ("target", False), ("n", True), ("start-up", True), ("cold", True), ("warm", True)),
        *(("cold/warm", True), ("samples", False), ("tags and marks", None)),
    ]
    caption = (
        "Geometric means over processes; in brackets 95 % intervals, same unit. Below cold and warm: the verdict "
        f"beside {view.compared.baseline.name}. Start-up is measured at the smallest n."
    )
    if not all(across.measured() for across in view.across):
        caption += " Cells that no stack has times for are not here: they stand under Withheld."
    body = [_cell(view, across, stand) for across in view.across if across.measured() for stand in across.stands]
    return cells.sortable("sorted", "Cells", caption, heads, body)


def _cell(view: CompareView, across: Across, stand: Standing) -> Markup:
    row, cell = stand.row, stand.row.cell
    said = [f"{name} {stand.told[name].word}" for name in ("cold", "warm") if name in stand.told]
    if row.cold and stand.arm == view.compared.baseline.name:
        said = ["baseline"]
    where = f"{across.name} {cell.n}"
    return element(
        "tr",
        cells.named(stand.arm, narrow=[where, cells.status_text(row.count), *said, *cells.marks(row)]),
        cells.word(across.name),
        cells.number(cell.n),
        cells.time(stand.start_up),
        cells.time(row.cold, _word(stand, "cold")),
        cells.time(row.warm, _word(stand, "warm"), mark="*" if row.not_steady else ""),
        cells.ratio(row.ratio),
        cells.status(row.count),
        cells.tags(row),
    )


def _word(stand: Standing, quantity: str) -> Markup | None:
    told = stand.told.get(quantity)
    return element("small", told.word, class_="word") if told else None


def _verdicts(view: CompareView) -> Section | None:
    told = view.told
    if not told:
        return None
    heads: list[cells.Head] = [
        *(("stack", False), ("target", False), ("n", True), ("time", False), ("ratio", True), ("verdict", False)),
        *(("reason", False), ("p, after Holm", True)),
    ]
    baseline = view.compared.baseline.name
    margin = "the band is what counts as the same" if view.judging.margin else "no margin: nothing is called SAME"
    children: list[Child] = []
    if view.alike is None:
        lines = [compare_text.sentence(view.compared, arm) for arm in view.compared.others()]
        children.append(element("ul", [element("li", each) for each in lines]))
    drawn = compare_figures.ratios(view)
    if drawn:
        children += [
            element("p", f"Times over those of {baseline}: left of 1 is faster, right of it slower; {margin}."),
            key(
                ("cold round", "cold, circles"),
                ("warm", "warm, squares"),
                ("hollow", "hollow: no finding"),
                ("range", "bars: 95 % intervals"),
            ),
            sections.charted(drawn),
        ]
    caption = f"What is said of each cell beside {baseline}; ratios are the stack's time over its."
    made = cells.sortable("sorted-verdicts", "Verdicts", caption, heads, [_judged(each) for each in told])
    return Section("verdicts", "Verdicts", [*children, made])


def _judged(told: Told) -> Markup:
    judged, cell = told.judged, told.judged.b.cell
    p, where = judged.verdict.p_adjusted, f"{cell.target} {cell.placement}"
    return element(
        "tr",
        cells.named(judged.arm, narrow=[f"{where} {cell.n}, {judged.quantity}", told.word]),
        cells.word(where),
        cells.number(cell.n),
        cells.word(judged.quantity),
        cells.ratio(told.ratio),
        element("td", element("span", told.word, class_="word"), data_value=told.word),
        cells.word(judged.verdict.reason),
        element("td", "-" if p is None else f"{p:.2g}", class_="number", data_value="" if p is None else repr(p)),
    )


def _by_stack(view: CompareView) -> Section | None:
    drawn = compare_figures.by_stack(view)
    if not drawn:
        return None
    body: list[list[Child]] = [
        [
            f"{across.name} {across.cell.n}",
            stand.arm,
            *(
                units.seconds_with_interval(e) if e else "-"
                for e in (stand.start_up, stand.row.cold, stand.row.warm)
            ),
        ]
        for across in view.across
        for stand in across.measured()
    ]
    made = table("Start-up, cold and warm by stack", ["cell", "stack", "start-up", "cold", "warm"], body)
    entries = key(
        ("hollow turned", "start-up, diamonds"),
        ("cold round", "cold, circles"),
        ("warm", "warm, squares"),
        ("range", "bars: 95 % intervals"),
    )
    children = [entries, sections.charted(drawn), numbers(chart_parts.BESIDE, made)]
    return Section("stacks", "Start-up, cold and warm by stack", children)


def _first(view: CompareView) -> Section | None:
    drawn = compare_figures.first_results(view)
    if not drawn:
        return None
    stands = [
        (f"{stand.arm}, {across.name} {across.cell.n}", stand.first)
        for across in view.across
        for stand in across.stands
        if stand.first is not None
    ]
    names = list(dict.fromkeys(step.name for _, found in stands for step in found.steps))
    names.sort(key="untimed".__eq__)
    body: list[list[Child]] = []
    for name, found in stands:
        lengths = {step.name: units.seconds(step.total_s) for step in found.steps}
        body.append([name, *(lengths.get(each, "-") for each in names), units.seconds(found.first_result_s)])
    made = table("Phases of the median samples", ["stack and cell", *names, "first result"], body)
    entries = key(
        ("process", "start; after import: devices, libraries, inputs"),
        ("import", "import"),
        ("cold", "paid by the shape: build, compile, first execution"),
        ("untimed", "untimed: in no phase"),
    )
    children = [
        element("p", "The median sample of each stack, from the spawn of its process to the first scalar."),
        *(entries, sections.charted(drawn), numbers(chart_parts.BESIDE, made)),
    ]
    return Section("first", "Where the first result's time went", children)


def _withheld(view: CompareView) -> Section | None:
    """Return the cells without a time: those that differ in size alone together, and stacks of which the same holds."""
    sizes: dict[tuple[str, str, str, str, Reason | None], list[str]] = {}
    for arm, seen in view.runs:
        for each in seen.withheld:
            where = f"{each.cell.target} {each.cell.placement}"
            status = f"{each.status} ({each.count})"
            sizes.setdefault((arm.name, where, each.what, status, each.reason), []).append(str(each.cell.n))
    alike: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for (arm_name, where, what, status, reason), found in sizes.items():
        why = f"{reason.text}. {reason.next_step}".rstrip() if reason else ""
        raw = f"{arm_name}/{reason.raw_file}" if reason and reason.raw_file else ""
        alike.setdefault((f"{where} {', '.join(found)}", what, status, why), []).append((arm_name, raw))
    return sections.withheld(
        [
            (f"{where}, {what}; {', '.join(name for name, _ in arms)}", status, why, arms[0][1])
            for (where, what, status, why), arms in alike.items()
        ]
    )


def _one_sided(view: CompareView) -> Section | None:
    lines = compare_text.one_sided(view.compared.one_sided)
    if not lines:
        return None
    return Section(
        "one-sided", "Only on one side, not compared", [element("ul", [element("li", each) for each in lines])]
    )


def _runs(view: CompareView) -> Section:
    """Return the charts of each run by itself, closed: a click or a key opens them."""
    if len(view.runs) > MOST_RUNS:
        said = (
            f"With more than {MOST_RUNS} runs each has its charts in its own report: make report RUN=<its folder>."
        )
        return Section("runs", "Each stack by itself", [element("p", said)])
    return Section(
        "runs",
        "Each stack by itself",
        [
            element("p", "Time against n, phases, spread over processes and every warm series.", class_="under"),
            [_run(Arm(place, arm.name), seen) for place, (arm, seen) in enumerate(view.runs, start=1)],
        ],
    )


def _run(arm: Arm, seen: View) -> Markup:
    parts = [
        ("Time against n", chart_parts.against_n(seen, arm)),
        ("What a process pays once", chart_parts.first(seen, arm)),
        ("Spread over processes", chart_parts.spread(seen, arm)),
        ("The warm series of each sample", chart_parts.warm(seen, arm)),
    ]
    shown = [[element("h3", title), children] for title, children in parts if children]
    inner: Child = shown or element("p", "Nothing was measured that could be shown.")
    return element("details", element("summary", arm.name), inner, class_="arm", id=f"run-{arm.place}")


def _notes(view: CompareView) -> Section | None:
    notes = [f"{arm.name}: {note}" for arm, seen in view.runs for note in seen.notes]
    if view.alike is not None:
        return sections.notes([*comparison_tables.remarks(view.comparison, view.alike), *notes])
    reasons = set(compare_text.reasons(view.compared))  # they stand under what is withheld
    found = compare_text.notes(view.comparison, view.compared)
    return sections.notes([each for each in found if each not in reasons])


def _again(view: CompareView) -> Section:
    shown = compare_text.command(view.comparison)
    if not shown:
        shown = machine.shell(view.comparison.command)
    stored = view.comparison.words.get("runs") is not None
    said = "The command that compares these runs:" if stored else "The command that measures this again:"
    return sections.commands(said, shown, [arm.run for arm in view.compared.arms])


def _environment(view: CompareView) -> Section:
    stacks = compare_tables.stacks(view.compared)
    body: list[list[Child]] = [
        [*map(str, line), arm.facts.get("numpy_version", "-"), arm.facts.get("onednn", "-"), arm.run.run_id]
        for line, arm in zip(stacks.body, view.compared.arms, strict=True)
    ]
    made = table("The stacks; * is the baseline", [*stacks.header, "NumPy", "oneDNN", "run"], body)
    grouped: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for arm, seen in view.runs:
        for title, lines in machine.facts(arm.run, seen.samples):
            # What is each run's own stands in the table.
            kept = tuple((name, value) for name, value in lines if name not in ("run", "begun", "arm", "oneDNN"))
            if title != "Stack" and kept:
                grouped.setdefault((title, kept), []).append(arm.name)
    many = len(view.runs)
    facts = [
        element(
            "div",
            element("h3", title if len(names) == many else f"{title}: {', '.join(names)}"),
            definitions(list(lines)),
        )
        for (title, lines), names in sorted(grouped.items(), key=lambda each: machine.ORDER.index(each[0][0]))
    ]
    return Section("environment", "Environment", [made, element("div", facts, class_="facts")])
