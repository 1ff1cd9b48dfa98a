# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: drawn, quiet, offline, sorted by click and by key, in the dark and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.report import write
from tests import reports

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
WIDE = {"viewport": {"width": 1200, "height": 900}}
#: The colour that a selector's element is painted with, as numbers from 0 to 255.
PAINTED = (
    "([selector, name]) => getComputedStyle(document.querySelector(selector))[name].match(/[\\d.]+/g).map(Number)"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """The page of a real run."""
    made = tmp_path_factory.mktemp("bench") / "report.html"
    made.write_text(write.report(*reports.read()), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """The page of a run in which every name is an attack."""
    made = tmp_path_factory.mktemp("hostile") / "report.html"
    made.write_text(write.report(*reports.hostile(*reports.read())), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    """The page of a run of the question's snippet."""
    made = tmp_path_factory.mktemp("reproduce") / "report.html"
    made.write_text(write.report(*reports.read(reports.REPRODUCE)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    """The page of a real comparison of nine stacks."""
    made = tmp_path_factory.mktemp("compare") / "report.html"
    made.write_text(write.report_of(reports.COMPARE), encoding="utf-8")
    return made


def column(page, number: int, said: str = "sorted") -> list[str]:
    """Return the values of a column of a table that sorts, from top to bottom."""
    return page.eval_on_selector_all(
        f"table[data-said={said}] tbody tr > :nth-child({number})", "all => all.map(e => e.dataset.value)"
    )


#: The texts of charts that are drawn outside of them.
OUTSIDE = """() => [...document.querySelectorAll('svg')].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
  }).map((text) => text.textContent);
})"""


def luminance(colour: list[float]) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: list[float], b: list[float]) -> float:
    """Return the contrast ratio of two colours, as WCAG 2 defines it."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["path", "reproduced", "hostile", "compared"])
def test_a_page_is_quiet_and_asks_for_nothing(name, visit, request):
    """Fault: an error in the console, a policy that blocks the page's own script, a request to anywhere."""
    opened = visit(request.getfixturevalue(name))
    page = opened.page
    page.mouse.wheel(0, 100_000)
    for summary in page.query_selector_all("summary"):
        summary.click()
    page.wait_for_timeout(200)
    assert opened.said == []
    assert opened.asked == []


def test_markup_in_names_does_nothing(hostile, visit):
    """Fault: a script in the name of a host runs."""
    opened = visit(hostile)
    assert "owned" not in opened.page.title()[:10]
    assert opened.page.locator("script").count() == 1 and opened.page.locator("img").count() == 0
    assert opened.page.locator("h1").inner_text().startswith("</style>")
    assert any("<script>" in text for text in opened.page.locator("figure svg text").all_text_contents())


def test_no_script_but_the_page_s_own_runs(path, visit):
    """Fault: a policy that lets through what escaping missed."""
    opened = visit(path)
    opened.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<b id=x onclick=\"document.title=1\">x</b>')"
    )
    opened.page.click("#x")
    assert opened.page.title() != "1"
    assert any("Content Security Policy" in line for line in opened.said)


def test_charts_are_drawn(path, visit):
    """Fault: charts of no size, without lines or markers, or with text outside of them."""
    page = visit(path, **WIDE).page
    figures = page.locator("figure")
    assert figures.count() == 18
    for place in range(figures.count()):
        box = figures.nth(place).locator("svg").bounding_box()
        assert box and box["width"] > 250 and box["height"] > 80
    assert page.locator("#time-cpu-device svg use").count() >= 6  # markers of 3 sizes, twice
    assert page.locator("#spread-cpu-device svg use").count() >= 18  # 3 sizes, 3 processes, twice
    assert page.locator("#warm-cpu-device-50 svg path").count() >= 6
    assert page.evaluate(OUTSIDE) == []


def test_lines_are_painted_in_colours_of_the_page(path, visit):
    """Fault: a chart in black on black, or in the colours of the other mode."""
    for scheme in ("light", "dark"):
        page = visit(path, color_scheme=scheme, **WIDE).page
        paper = page.evaluate(PAINTED, ["body", "backgroundColor"])
        assert (luminance(paper) > 0.9) is (scheme == "light")
        assert contrast(page.evaluate(PAINTED, ["body", "color"]), paper) >= 7
        for soft in (".under", "caption", "td.number small", "summary", "nav a"):
            assert contrast(page.evaluate(PAINTED, [soft, "color"]), paper) >= 4.5, soft
        assert contrast(page.evaluate(PAINTED, ["svg text", "fill"]), paper) >= 7
        for patch in (".key .cold", ".key .warm", ".key .process", ".key .untimed"):
            assert contrast(page.evaluate(PAINTED, [patch, "backgroundColor"]), paper) >= 3, patch
        # Told apart without colours too: one is lighter.
        cold, warm = (page.evaluate(PAINTED, [f".key .{name}", "backgroundColor"]) for name in ("cold", "warm"))
        assert cold != warm


def test_the_table_sorts_by_click(path, visit):
    """Fault: numbers sorted as text, cells without a time first, or a column that says it is sorted and is not."""
    page = visit(path, **WIDE).page
    before = column(page, 3)
    button = page.get_by_role("button", name="cold", exact=True)
    button.click()
    values = [float(each) for each in column(page, 3) if each]
    assert values == sorted(values) and len(values) == 9
    assert column(page, 3)[9:] == [""] * 9
    head = page.locator(".cells thead th").nth(2)
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.locator("#sorted").inner_text() == "Sorted by cold, smallest first."
    button.click()
    assert [float(each) for each in column(page, 3) if each] == values[::-1]
    assert column(page, 3)[9:] == [""] * 9 and head.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="n", exact=True).click()
    assert head.get_attribute("aria-sort") is None
    assert [int(each) for each in column(page, 2)] == sorted(int(each) for each in column(page, 2))
    assert sorted(column(page, 3)) == sorted(before)


def test_the_keyboard_reaches_and_does_everything(path, visit):
    """Fault: a button that only a mouse can press, a focus that is not seen, a link that skips nothing."""
    page = visit(path, **WIDE).page
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.inner_text() == "Skip to the numbers"
    box = skip.bounding_box()
    assert box and box["x"] >= 0 and box["y"] >= 0
    page.keyboard.press("Enter")
    assert page.url.endswith("#cells")
    page.keyboard.press("Tab")  # past the links, to the region that scrolls
    assert page.locator(":focus").get_attribute("role") == "region"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "cold"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert float(ring.removesuffix("px")) >= 2
    page.keyboard.press("Enter")
    values = [float(each) for each in column(page, 3) if each]
    assert values == sorted(values)
    page.keyboard.press("Space")
    assert [float(each) for each in column(page, 3) if each] == values[::-1]
    assert page.locator(":focus").inner_text() == "cold"  # the focus stays where it was
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_attribute("open") is not None
    page.eval_on_selector_all("details", "all => all.forEach((each) => { each.open = true; })")
    seen = page.evaluate(
        """() => [...document.querySelectorAll('a, button, summary, [tabindex]')].filter((each) => {
          each.focus();
          return document.activeElement !== each || getComputedStyle(each).outlineStyle === 'none';
        }).map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert seen == []


def test_a_screen_reader_gets_names_and_tables(path, visit):
    """Fault: headings out of order, a chart without a name, a table without heads."""
    page = visit(path, **WIDE).page
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
    assert page.get_by_role("img").count() == 18
    assert page.get_by_role("main").count() == 1 and page.get_by_role("navigation").count() == 1
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.get_by_role("columnheader", name="cold/warm").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def test_on_a_phone_nothing_is_cut(path, visit):
    """Fault: a page wider than the screen, text too small to read, statuses that must be scrolled for."""
    page = visit(path, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('svg')].map((svg) =>
          svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
    )
    assert min(sizes) * 9 >= 8.5  # the smallest text of a chart, in pixels
    narrow = page.locator(".cells tbody tr").first.locator(".narrow")
    assert narrow.first.is_visible() and narrow.first.inner_text() == "3/3 ok"
    box = narrow.first.bounding_box()
    assert box and box["x"] + box["width"] <= 390
    region = page.locator(".scroll").first
    assert region.evaluate("e => e.scrollWidth > e.clientWidth") is True
    region.evaluate("e => { e.scrollLeft = 200; }")
    fixed = page.locator(".cells tbody th").first.bounding_box()
    assert fixed and fixed["x"] >= 0  # the name of a row stays while its numbers are scrolled


def test_printed_it_is_whole_and_light(path, visit, tmp_path):
    """Fault: white on white on paper, links to nowhere, a table cut at the edge."""
    page = visit(path, color_scheme="dark", viewport={"width": 720, "height": 900}).page
    page.emulate_media(media="print", color_scheme="dark")
    assert luminance(page.evaluate(PAINTED, ["body", "backgroundColor"])) > 0.9
    assert luminance(page.evaluate(PAINTED, ["body", "color"])) < 0.1
    assert not page.locator("nav").is_visible() and not page.locator(".skip").is_visible()
    assert page.locator(".cells").evaluate("e => e.scrollWidth <= document.documentElement.clientWidth") is True
    made = page.pdf(format="A4")
    assert made.startswith(b"%PDF") and len(made) > 20_000


def test_without_a_script_the_page_says_the_same(path, visit):
    """Fault: a page that is empty until its script has run."""
    page = visit(path, java_script_enabled=False, **WIDE).page
    assert page.locator("figure svg").count() == 18
    assert page.locator(".cells tbody tr").count() == 18
    assert page.locator(".cells thead button").first.is_disabled()


def test_a_comparison_is_drawn(compared, visit):
    """Fault: charts of stacks without rows, names that are cut at the edge, a run's charts that never open."""
    page = visit(compared, **WIDE).page
    seen = page.locator("figure svg:visible")
    stacks, judged, first = (page.locator(f"figure[id^={name}-]").count() for name in ("stacks", "ratio", "first"))
    assert stacks >= 4 and judged >= 2 and first >= 2 and seen.count() == stacks + judged + first
    for place in range(seen.count()):
        box = seen.nth(place).bounding_box()
        assert box and box["width"] > 250 and box["height"] > 80
    # A marker for each of nine stacks: start-up, cold, warm.
    assert page.locator("#stacks-cpu-device-500 svg use").count() >= 27
    assert page.evaluate(OUTSIDE) == []
    page.locator("details.arm > summary").first.focus()
    page.keyboard.press("Enter")
    opened = page.locator("details.arm").first.locator("figure svg")
    assert opened.count() >= 8
    box = opened.first.bounding_box()
    assert box and box["width"] > 250 and box["height"] > 80
    page.eval_on_selector_all("details", "all => all.forEach((each) => { each.open = true; })")
    assert page.evaluate(OUTSIDE) == []


def test_both_tables_of_a_comparison_sort(compared, visit):
    """Fault: a button sorts the other table, or says so below it."""
    page = visit(compared, **WIDE).page
    before = column(page, 1, "sorted-verdicts")
    cells, verdicts = (page.locator(f"table[data-said={name}]") for name in ("sorted", "sorted-verdicts"))
    cells.get_by_role("button", name="cold", exact=True).focus()
    page.keyboard.press("Enter")
    values = [float(each) for each in column(page, 5) if each]
    assert values == sorted(values) and len(values) >= 18
    assert page.locator("#sorted").inner_text() == "Sorted by cold, smallest first."
    assert column(page, 1, "sorted-verdicts") == before and page.locator("#sorted-verdicts").inner_text() == ""
    verdicts.get_by_role("button", name="ratio", exact=True).click()
    ratios = [float(each) for each in column(page, 5, "sorted-verdicts") if each]
    assert ratios == sorted(ratios) and len(ratios) >= 16
    assert page.locator("#sorted-verdicts").inner_text() == "Sorted by ratio, smallest first."


def test_a_comparison_on_a_phone_and_on_paper(compared, visit):
    """Fault: nine stacks make the page wider than a phone; a printed table goes on without the names of its columns."""
    page = visit(compared, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('figure svg')].filter((svg) => svg.checkVisibility()).map((svg) =>
          svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""
    )
    assert min(sizes) * 9 >= 8.5
    paper = visit(compared, viewport={"width": 720, "height": 900}).page
    paper.emulate_media(media="print")
    for name in ("sorted", "sorted-verdicts"):
        table = paper.locator(f"table[data-said={name}]")
        assert table.evaluate("e => e.scrollWidth <= document.documentElement.clientWidth") is True
        assert table.locator("thead button").first.evaluate("e => getComputedStyle(e).display") == "contents"
    assert not paper.locator("#runs").is_visible()


@pytest.mark.parametrize(
    ("name", "words"),
    [("light", WIDE), ("dark", {**WIDE, "color_scheme": "dark"}), ("phone", PHONE)],
)
def test_screenshots(path, visit, tmp_path, name, words):
    """Fault: a page that is painted in one colour only."""
    from PIL import Image

    shot = tmp_path / f"{name}.png"
    visit(path, **words).page.screenshot(path=shot, full_page=True)
    colours = Image.open(shot).convert("RGB").getcolors(1 << 24)
    assert colours is not None and len(colours) > 100
    most = max(colours)[1]
    assert (most[0] > 240) is (name != "dark")
