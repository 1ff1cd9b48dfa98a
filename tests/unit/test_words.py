# SPDX-License-Identifier: Apache-2.0
"""The words that a user types: what is taken, and what is refused and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite import words
from suite.errors import SuiteError
from suite.exits import Exit
from suite.plan import PROFILES
from suite.stack import ROOT, TARGETS


def test_nothing_typed_is_the_quick_profile():
    """Fault: a default that is not the one that --help promises."""
    found = words.parse({})
    assert found == words.parse(dict.fromkeys(["targets", "shapes", "samples", "gpu", "adopt"]))
    assert found == words.parse(dict.fromkeys(["targets", "shapes", "budget", "out", "level"], ""))
    assert (found.profile, found.samples, found.shapes) == (PROFILES["quick"], 3, [50, 500, 2000])
    assert (found.targets, found.targets_by_name) == (list(TARGETS), False)
    assert (found.budget_s, found.timeout_s, found.out) == (600.0, 300.0, ROOT / "results")
    assert (found.level, found.dtype, found.precision, found.adopt) == ("jit", "float32", "default", False)
    assert (found.placement, found.engine, found.python, found.gpu) == (None, None, None, None)


def test_a_profile_sets_what_is_not_typed():
    """Fault: PROFILE= is passed over, or wins over a word that was typed."""
    found = words.parse({"profile": "publish", "samples": "4"})
    assert (found.samples, found.shapes) == (4, list(PROFILES["publish"].shapes))
    assert found.budget_s == 86400.0
    found = words.parse({"profile": "full", "shapes": "64", "budget": "7.5"})
    assert (found.samples, found.shapes, found.budget_s) == (10, [64], 7.5)


@pytest.mark.parametrize("text", ["500,50", "500 50", "500, 50", " 500\t50, ", "50,500,50", "500,,50"])
def test_lists_by_comma_or_space(text):
    """Fault: SHAPES="50 500" is one word, an empty part is refused, or a shape is measured twice."""
    assert words.parse({"shapes": text}).shapes == [50, 500]


def test_targets_keep_their_order_and_are_known_to_be_asked_for():
    """Fault: an absent GPU that was asked for by name ends with exit 0."""
    found = words.parse({"targets": "GPU CPU,GPU"})
    assert (found.targets, found.targets_by_name) == (["GPU", "CPU"], True)


BAD = [
    ("targets", "TPU", "TPU"),
    ("targets", "CPU,gpu", "gpu"),
    ("shapes", "0", "0"),
    ("shapes", "1", "1"),
    ("shapes", "50,0", "0"),
    ("shapes", "-50", "-50"),
    ("shapes", "50,5.5", "5.5"),
    ("shapes", "1e3", "1e3"),
    ("shapes", "46001", "46001"),
    ("shapes", "50x50", "50x50"),
    ("shapes", "٥٠", "٥٠"),
    ("shapes", "²", "²"),
    ("samples", "0", "0"),
    ("samples", "-3", "-3"),
    ("samples", "1001", "1001"),
    ("samples", "2.5", "2.5"),
    ("samples", "many", "many"),
    ("budget", "-1", "-1"),
    ("budget", "0", "0"),
    ("budget", "nan", "nan"),
    ("budget", "inf", "inf"),
    ("budget", "10m", "10m"),
    ("timeout", "-5", "-5"),
    ("timeout", "0.5", "0.5"),
    ("timeout", "1e9", "1e9"),
    ("profile", "slow", "slow"),
    ("profile", "Quick", "Quick"),
    ("level", "ice", "ice"),
    ("placement", "host", "host"),
    ("dtype", "float64", "float64"),
    ("precision", "fp32", "fp32"),
    ("adopt", "yes", "yes"),
    ("wheels", "rocm", "rocm"),
    ("gpu", "first", "first"),
    ("gpu", "-1", "-1"),
    ("gpu", "0,1", "0,1"),
]


@pytest.mark.parametrize(("word", "typed", "part"), BAD)
def test_a_bad_word_is_refused_by_its_name(word, typed, part):
    """Fault: a traceback, another exit code, a value silently corrected, or a message without the word."""
    with pytest.raises(SuiteError) as caught:
        words.parse({word: typed})
    assert caught.value.exit_code is Exit.USAGE and int(caught.value.exit_code) == 2
    assert caught.value.what.startswith(f"{word.upper()}={part}: {part!r} is n")


def test_the_refusal_says_what_may_be():
    """Fault: the user is told no and not told what."""

    def said(**given: str) -> str:
        with pytest.raises(SuiteError) as caught:
            words.parse(given)
        return caught.value.what

    assert "CPU, GPU, XLA_CPU, XLA_GPU" in said(targets="TPU")
    assert "from 2 to 46000" in said(shapes="0")
    assert "whole number from 1 to 1000" in said(samples="-3")
    assert "number from 1 to 86400" in said(timeout="-5") and "whole" not in said(timeout="-5")
    assert "quick, full, publish" in said(profile="slow")
    assert "process, jit, disk" in said(level="ice")
    assert "nvidia-smi -L" in said(gpu="first")


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        ("shapes", ["2", "46000"]),
        ("samples", ["1", "1000"]),
        ("budget", ["1", "2592000", "12.5", "1e3"]),
        ("timeout", ["1", "86400"]),
        ("placement", ["device", "jit", "all"]),
        ("precision", ["default", "ieee"]),
        ("adopt", ["0", "1"]),
        ("gpu", ["0", "11", "GPU-5f0c1b2a-0000-1111-2222-333344445555", "MIG-5f0c1b2a-0000"]),
        ("level", ["jit"]),
        ("wheels", ["cpu", "cuda"]),
        ("dtype", ["float32"]),
    ],
)
def test_what_is_at_the_edge_is_taken(word, texts):
    """Fault: a limit that is off by one, or a documented value that is refused."""
    for text in texts:
        words.parse({word: text})


def test_words_end_up_where_they_belong():
    """Fault: two words change places, or a value is read as another type."""
    given = {"stack": "s", "engine": "local", "python": "3.7", "adopt": "1", "gpu": "0", "placement": "all"}
    found = words.parse({**given, "budget": "77", "timeout": "99", "samples": "5", "precision": "ieee"})
    assert (found.stack, found.engine, found.python, found.adopt, found.gpu) == ("s", "local", "3.7", True, "0")
    assert (found.placement, found.budget_s, found.timeout_s, found.samples) == ("all", 77.0, 99.0, 5)
    assert found.precision == "ieee"


def test_out_is_an_absolute_path_from_where_the_user_is(tmp_path, monkeypatch):
    """Fault: results in a folder called ~, or below the checkout where another folder was meant."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert words.parse({"out": "my results"}).out == tmp_path / "my results"
    assert words.parse({"out": "~/r"}).out == Path("/home/somebody/r")


@pytest.mark.parametrize(("word", "typed"), [("shapes", "9" * 5000), ("out", "~no-such-user/results")])
def test_words_that_python_itself_refuses(word, typed):
    """Fault: a traceback and exit 70 for a word that was mistyped."""
    with pytest.raises(SuiteError, match=f"{word.upper()}="):
        words.parse({word: typed})
