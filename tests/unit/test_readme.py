# SPDX-License-Identifier: Apache-2.0
"""What README and help show is what this version prints of the committed examples."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from suite import collect, compare, compare_text, journal, selftest, words
from suite.cli import cli
from suite.explain import explanation, run, sheet
from suite.stack import ROOT, names
from tests import comparing

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "results" / "examples"
REFERENCE = ROOT / "results" / "reference"
STORED = (EXAMPLES, REFERENCE)

#: A block of example output, its run's folder and, where only a part is shown, its first section and the next one.
SHOWN = re.compile(r'<!-- output: (\S+)(?: from "([^"]+)" to "([^"]+)")? -->\n```text\n(.*?)```', re.DOTALL)


def stored(pattern: str) -> list[Path]:
    """Return the folders, in both trees, of the files that ``pattern`` matches."""
    return sorted(path.parent for tree in STORED for path in tree.glob(pattern))


def whole(folder: Path) -> str:
    if (folder / journal.EXPERIMENT).exists():
        return sheet.text(explanation.read(folder))
    if (folder / collect.COMPARISON).exists():
        comparison = selftest.read(folder)
        return compare_text.text(comparison, compare.judged(folder, comparison))
    run = journal.read_run(folder)
    samples, notes = journal.read_samples(folder)
    return collect.text(run, samples, notes)


def printed(folder: str, begin: str, end: str) -> str:
    text = whole(ROOT / folder)
    if begin:
        text = text[text.index(f"\n{begin}") + 1 : text.index(f"\n{end}\n")]
    return text


def test_the_examples_in_readme_are_what_this_version_prints():
    """Fault: an example that was typed, or that an older version printed."""
    found = SHOWN.findall(README)
    assert len(found) == README.count("<!-- output:") == 6
    for folder, begin, end, block in found:
        assert block.strip() == printed(folder, begin, end).strip(), folder


def test_no_example_is_wider_than_a_terminal():
    """Fault: a table that wraps in 80 columns."""
    pasted = ("make ", "- autotuning kept: mkdir")
    folders = {folder for name in ("run.json", "comparison.json") for folder in stored(f"**/{name}")}
    assert len(folders) > 10
    for folder in sorted(folders | set(stored("**/experiment.json"))):
        lines = [line for line in whole(folder).splitlines() if not line.startswith(pasted)]
        assert max(len(line) for line in lines) <= 80


@pytest.mark.parametrize("folder", stored("*/run.json"), ids=lambda p: p.name)
def test_stored_examples_still_collect_to_the_same_bytes(folder, tmp_path):
    """Fault: a change of the tables that the committed examples do not have, or a run that is no longer read."""
    for name in ("run.json", "samples.jsonl"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    _, _, notes = collect.derive(tmp_path)
    assert notes == []
    for name in ("table.md", "table.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.parametrize("folder", stored("**/comparison.json"), ids=lambda p: p.name)
def test_stored_comparisons_still_collect_to_the_same_bytes(folder, tmp_path):
    """Fault: as above, for what was measured side by side."""
    # The whole tree: a comparison of stored runs names them by their place beside it.
    tree = next(each for each in STORED if folder.is_relative_to(each))
    shutil.copytree(tree, tmp_path / tree.name, ignore=shutil.ignore_patterns("report.html"))
    copy = tmp_path / tree.name / folder.relative_to(tree)
    compare.derive(copy)
    for name in ("table.md", "table.csv"):
        assert (copy / name).read_bytes() == (folder / name).read_bytes(), name


def test_two_runs_on_one_gpu_compare_as_the_reference_results_say(tmp_path):
    """Fault: "agrees within 1 %" of runs that do not, or of figures that no stored sample gives."""
    page = (REFERENCE / "README.md").read_text()
    said = page[page.index("Two independent runs") :].split("```")[1].removeprefix("text\n").split("\n\n")
    pairs = (
        ("h200-bench-jax0.11-cuda13", "h200-explain-jax0.11-cuda13-15000"),
        ("h200-bench-tf2.18-cuda12.5", "h200-explain-tf2.18-cuda12.5-15000"),
        ("h200-bench-jax0.11-cuda13", "h200-explain-jax0.11-cuda13-1000-10000"),
    )
    assert len(said) == len(pairs)
    for (bench, explained), table in zip(pairs, said, strict=True):
        runs = [REFERENCE / bench, REFERENCE / explained / "unablated"]
        done = comparing.stored(tmp_path / explained, *runs)
        assert f"\n{table.strip()}\n" in done.text


@pytest.mark.parametrize("folder", stored("**/experiment.json"), ids=lambda p: p.name)
def test_stored_explanations_still_derive_to_the_same_bytes(folder, tmp_path):
    """Fault: a sheet in the repository that this version's account of the same samples does not give."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html"))
    run.derive(copy)
    for name in (run.JSON, run.MARKDOWN):
        assert (copy / name).read_bytes() == (folder / name).read_bytes(), name


def test_every_reference_has_its_report():
    """Fault: figures that are published without what can be looked at."""
    folders = [path for path in REFERENCE.iterdir() if path.is_dir() and path.name != "compare"]
    assert len(folders) > 5
    for folder in [*folders, *stored("compare/*/comparison.json")]:
        assert (folder / "report.html").stat().st_size > 10_000, folder


def test_examples_tell_no_path_and_a_clean_tree():
    """Fault: somebody's home folder in a published result; a result of code that no commit holds."""
    for folder in stored("**/run.json"):
        text = (folder / "run.json").read_text(encoding="utf-8")
        assert not re.search(r'"/(root|home|tmp|work|srv|opt|Users)/', text), folder
        assert journal.read_run(folder).coldwarm["git_dirty"] is False, folder


def test_readme_names_every_stack_and_every_word():
    """Fault: a word that is documented nowhere, or a stack that README does not know."""
    for name in names():
        assert f"`{name}`" in README
    given = {parameter.name.upper() for parameter in cli.commands["bench"].params if parameter.name}
    given |= {parameter.name.upper() for parameter in cli.commands["reproduce"].params if parameter.name}
    assert {word for word in given if f"`{word}=" not in README} == set()
    assert words.parse({"stack": names()[0]}).profile.name == "quick"


def test_links_lead_somewhere():
    """Fault: a page that was renamed."""
    for page in [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("C*.md"),
        ROOT / "results" / "README.md",
    ]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_help_shows_real_output(verb):
    """Fault: a placeholder where an example belongs."""
    text = cli.commands[verb].help or ""
    assert "EXAMPLE" not in text
    if not cli.commands[verb].hidden:
        assert "$ python -m suite" in text
