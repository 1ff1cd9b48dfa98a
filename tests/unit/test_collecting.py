# SPDX-License-Identifier: Apache-2.0
"""``collect`` over trees: which runs are in its index, a cell's history, and machines that are never mixed."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from suite import cli, collect, history, index, journal, machines, units
from suite.collecting import collect_all
from suite.errors import SuiteError
from suite.exits import Exit
from tests import damaged

HOST = {
    **json.loads((damaged.EXAMPLE / journal.RUN).read_bytes())["host"],
    **{"cpu_model": "AMD EPYC", "machine": "x86_64", "logical_cpus": 2, "effective_cpus": 2.0, "kernel": "6.18"},
    "nvidia": {"gpus": [], "present": False, "why": "no driver"},
}
GPU = {"uuid": "GPU-1", "name": "NVIDIA H200", "driver_version": "570.1"}
CELL = "CPU device 50"


def run(top: Path, number: int, host: dict[str, Any] | None = None, **changed: Any) -> Path:
    """Copy a real run as the one of another day, on this or another machine."""
    at = f"2026-12-{number:02}T00:00:00Z"
    run_id = f"202612{number:02}T000000Z-{number:06x}"
    host = {**HOST, **(host or {})}
    return damaged.copied(top / "tf1.14-cuda10" / run_id, run_id, created_utc=at, host=host, **changed)


def collected(*paths: Path, code: Exit = Exit.DONE, stack: str | None = None, **asked: Any) -> str:
    printed: list[str] = []
    assert collect_all(list(paths), stack, printed.append, **asked) is code
    text = "".join(printed)
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_runs_are_listed_by_stack_machine_and_date(tmp_path):
    """Fault: runs of two machines among each other, or in the order in which a folder happens to be."""
    run(tmp_path, 3)
    run(tmp_path, 2, {"cpu_model": "Intel Xeon"})
    run(tmp_path, 1)
    run(tmp_path, 4, {"cpu_model": "Intel Xeon"})
    text = collected(tmp_path)
    rows = [line.split() for line in text.splitlines() if line.startswith("tf1.14")]
    assert [row[2][:8] for row in rows] == ["20261201", "20261203", "20261202", "20261204"]
    here, there = rows[0][1], rows[2][1]
    assert [row[1] for row in rows] == [here, here, there, there] and here != there
    assert f"- {here}: AMD EPYC, 2 CPUs, x86_64, no GPU\n- {there}: Intel Xeon, 2 CPUs" in text
    lines = list(csv.DictReader((tmp_path / index.INDEX_CSV).read_text().splitlines()))
    assert [line["run_id"][:8] for line in lines] == ["20261201", "20261203", "20261202", "20261204"]
    assert [line["machine"] for line in lines] == [here, here, there, there]


@pytest.mark.parametrize(
    ("host", "same"),
    [
        ({"kernel": "7.0", "os": "Debian 14", "memory_bytes": 1, "effective_cpus": 1.0}, True),
        ({"cpu_model": "Intel Xeon"}, False),
        ({"logical_cpus": 4}, False),
        ({"machine": "aarch64"}, False),
        ({"nvidia": {"gpus": [GPU], "present": True}}, False),
    ],
)
def test_what_makes_a_machine(tmp_path, host, same):
    """Fault: a new kernel makes a new machine, or two machines are one."""
    first, second = journal.read_run(run(tmp_path, 1)), journal.read_run(run(tmp_path, 2, host))
    assert (machines.of(first).id == machines.of(second).id) is same


def test_a_driver_does_not_make_a_machine(tmp_path):
    """Fault: the history of a GPU ends with each driver."""
    hosts = [{"nvidia": {"gpus": [{**GPU, "driver_version": each}]}} for each in ("570.1", "575.2")]
    first, second = (journal.read_run(run(tmp_path, k + 1, host)) for k, host in enumerate(hosts))
    assert machines.of(first) == machines.of(second)
    assert (machines.driver(first), machines.driver(second)) == ("570.1", "575.2")
    assert "NVIDIA H200 GPU-1" in machines.of(first).text()


def test_the_history_of_a_cell(tmp_path):
    """Fault: a jump between two runs without a word that the kernel or the stack was another."""
    run(tmp_path, 2, {"kernel": "7.0", "effective_cpus": 1.0})
    run(tmp_path, 1)
    last = run(tmp_path, 3, {"kernel": "7.0", "effective_cpus": 1.0})
    damaged.change_line(
        last, "prepared.CPU.device.50.1", lambda line: line.replace(b'"status": "ok"', b'"status": "crashed"')
    )
    text = collected(tmp_path, cell=CELL)
    rows = [line.split() for line in text.splitlines() if line.startswith("202612")]
    assert [row[0][:8] for row in rows] == ["20261201", "20261202", "20261203"]
    found = collect.read(last.parent / "20261201T000000Z-000001")
    row = next(each for each in found.rows.cells if each.cell.id == "CPU.device.50")
    shown = [units.seconds_with_interval(each) for each in (row.cold, row.warm)]
    assert " ".join(rows[0][1:]).replace("*", "") == f"{shown[0]} {shown[1]} 3/3"
    assert rows[2][1:] == ["crashed", "-", "2/3"]
    [change] = [line for line in text.splitlines() if "->" in line]
    assert change == "- 20261202T000000Z-000002: kernel 6.18 -> 7.0; effective_cpus 2 -> 1"
    assert text.startswith("CPU device 50 on tf1.14-cuda10\n") and text.count("machine ") == 1
    assert not list(tmp_path.rglob("table*")) and not (tmp_path / index.INDEX_MD).exists()


def test_a_line_of_a_history_is_of_one_machine(tmp_path):
    """Fault: a faster machine looks like a faster stack."""
    run(tmp_path / "a", 1)
    run(tmp_path / "b", 2, {"cpu_model": "Intel Xeon"})
    run(tmp_path / "b", 3)
    text = collected(tmp_path / "a", tmp_path / "b", cell=CELL)
    first, second = text.split("\n\n")
    assert "AMD EPYC" in first and "20261201" in first and "20261203" in first and "20261202" not in first
    assert "Intel Xeon" in second and second.count("20261202") == 1


def test_two_trees_stand_side_by_side(tmp_path):
    """Fault: nobody can tell which tree a run is of; or a tree's own index holds the other's runs."""
    run(tmp_path / "a", 1)
    run(tmp_path / "b", 2, {"cpu_model": "Intel Xeon"})
    text = collected(tmp_path / "a", tmp_path / "b")
    assert text.startswith(f"Trees\n- a: {tmp_path}/a, 1 run\n- b: {tmp_path}/b, 1 run\n\n2 runs\n")
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("tf1.14")] == ["a", "b"]
    for name, day in (("a", "20261201"), ("b", "20261202")):
        [line] = csv.DictReader((tmp_path / name / index.INDEX_CSV).read_text().splitlines())
        assert line["run_id"].startswith(day)


def test_out_names_several_trees(tmp_path, capsys):
    """Fault: OUT="a b" is taken for one folder that is not there."""
    run(tmp_path / "a", 1)
    run(tmp_path / "b c", 2)
    for out in (f"{tmp_path}/a '{tmp_path}/b c'", f"'{tmp_path}/a' '{tmp_path}/b c'"):
        assert cli.main(["collect", "--out", out]) == 0
        assert capsys.readouterr().out.count("tf1.14-cuda10") == 2
    assert cli.main(["collect", "--out", f"{tmp_path}/a,{tmp_path}/a"]) == 0
    assert capsys.readouterr().out.startswith("1 run\n")


def test_a_tree_within_a_tree_counts_once(tmp_path):
    """Fault: a run is in the index twice, and called its own twin."""
    run(tmp_path / "a", 1)
    text = collected(tmp_path, tmp_path / "a")
    assert text.count("20261201T000000Z") == 1 and "Not used" not in text


def test_a_run_with_two_contents_is_told(tmp_path):
    """Fault: two folders with one run's id both count, or which of them counts is chance."""
    first = run(tmp_path / "a", 1)
    shutil.copytree(first, tmp_path / "b" / "copy")
    text = collected(tmp_path / "a", tmp_path / "b")
    assert "Left out (1)" in text and "copy: a copy of ../a/tf1.14-cuda10/20261201" in " ".join(text.split())
    damaged.change_line(tmp_path / "b" / "copy", "probe", lambda line: line.replace(b'"pid": ', b'"pid": 1', 1))
    text = collected(tmp_path / "a", tmp_path / "b", code=Exit.CELLS_FAILED)
    assert "a second time, with other contents than" in " ".join(text.split())


def test_one_run_is_shown_by_its_tables_and_a_tree_by_its_index(tmp_path):
    """Fault: hundreds of pages of tables where somebody wants to know what there is."""
    first = run(tmp_path, 1)
    run(tmp_path, 2)
    assert "What a shape pays once" in collected(first) and not (first / index.INDEX_MD).exists()
    assert "What a shape pays once" not in collected(tmp_path)
    text = collected(tmp_path, tables=True)
    assert text.count("What a shape pays once") == 2 and text.index("2 runs\n") > text.rindex("What a shape")


def test_only_one_stack_is_shown_and_the_files_hold_all(tmp_path):
    """Fault: STACK= makes an index that lacks the other stacks' runs."""
    run(tmp_path, 1)
    other = run(tmp_path, 2)
    fields = json.loads((other / journal.RUN).read_bytes())
    fields["stack"]["name"] = "tf2.99"
    (other / journal.RUN).write_text(json.dumps(fields))
    text = collected(tmp_path, stack="tf2.99")
    assert "1 run\n" in text and "20261201" not in text
    assert len((tmp_path / index.INDEX_CSV).read_text().splitlines()) == 3


def test_of_many_runs_a_terminal_gets_a_row_a_machine(tmp_path, monkeypatch):
    """Fault: ten thousand lines on a terminal."""
    monkeypatch.setattr(index, "MOST_ROWS", 2)
    for number in (1, 2, 3):
        run(tmp_path, number, {"cpu_model": "Intel Xeon"} if number == 3 else None)
    text = collected(tmp_path)
    assert text.startswith("3 runs, each in index.md and index.csv\n")
    rows = [line.split()[2:] for line in text.splitlines() if line.startswith("tf1.14")]
    assert rows == [
        ["2", "2026-12-01", "20261202T000000Z-000002"],
        ["1", "2026-12-03", "20261203T000000Z-000003"],
    ]
    assert (tmp_path / index.INDEX_MD).read_text().count("table.md") == 3


def test_a_name_from_elsewhere_does_nothing(tmp_path):
    """Fault: a stack's or a host's name moves the cursor, breaks a table, or is a link in a Markdown viewer."""
    bad = run(tmp_path, 1, {"cpu_model": "a | b\x1b[2J\n[x](http://y)"})
    fields = json.loads((bad / journal.RUN).read_bytes())
    fields["stack"]["name"] = "very-long-stack-name|\x1b[31m<b>"
    (bad / journal.RUN).write_text(json.dumps(fields))
    text = collected(tmp_path)
    assert "\x1b" not in text and "very-long" in text
    for name in (index.INDEX_MD, index.INDEX_CSV):
        assert "\x1b" not in (tmp_path / name).read_text()
    lines = (tmp_path / index.INDEX_MD).read_text().splitlines()
    row = next(line for line in lines if "very-long" in line)
    assert row.replace("\\|", "").count("|") == 7 and "\\<b\\>" in row
    assert any("a \\| b\\\\x1b\\[2J\\\\n\\[x\\](http://y)" in line for line in lines)


def test_an_index_that_cannot_be_written_is_told(tmp_path, capsys):
    """Fault: a folder that somebody else owns ends collect in a traceback."""
    run(tmp_path, 1)
    (tmp_path / index.INDEX_MD).mkdir()
    assert "20261201" in collected(tmp_path, code=Exit.CELLS_FAILED)
    assert "the index cannot be written" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("CPU.device.50", ("CPU", "device", 50)),
        ("XLA_CPU jit 500", ("XLA_CPU", "jit", 500)),
        (" GPU, 15000 ", ("GPU", None, 15000)),
    ],
)
def test_a_cell_as_people_write_it(text, cell):
    """Fault: a cell's id is taken, and what a table shows is not."""
    found = history.parse(text)
    assert (found.target, found.placement, found.n) == cell


@pytest.mark.parametrize(
    "text", ["50", "CPU", "CPU device", "TPU device 50", "CPU device 5e3", "CPU eager 50", "CPU ٥"]
)
def test_a_cell_that_is_none_is_refused(text):
    """Fault: an empty history where a word was misspelt."""
    with pytest.raises(SuiteError) as caught:
        history.parse(text)
    assert caught.value.exit_code is Exit.USAGE and f"CELL={text}" in caught.value.what


def test_a_cell_that_no_run_has(tmp_path):
    """Fault: nothing is printed, and exit 0."""
    run(tmp_path, 1)
    with pytest.raises(SuiteError) as caught:
        collect_all([tmp_path], None, print, cell="CPU device 51")
    assert caught.value.exit_code is Exit.USAGE and "no run has this cell" in caught.value.what
