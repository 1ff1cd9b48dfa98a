# SPDX-License-Identifier: Apache-2.0
"""Stack files: the real ones load, a malformed one is refused with one error that helps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from suite import environment, ready, stack
from suite.errors import SuiteError
from suite.exits import Exit

NAME = "tf1.14-cuda10"
TEXT = (stack.STACKS / NAME / "stack.toml").read_text(encoding="utf-8")


def written(tmp_path: Path, data: str | bytes, name: str = NAME) -> Path:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "stack.toml").write_bytes(data.encode() if isinstance(data, str) else data)
    return tmp_path


def changed(tmp_path: Path, old: str, new: str) -> Path:
    assert old in TEXT
    return written(tmp_path, TEXT.replace(old, new, 1))


def refused(stacks: Path, name: str = NAME) -> SuiteError:
    with pytest.raises(SuiteError) as caught:
        stack.load(name, stacks)
    return caught.value


def test_every_real_stack_loads():
    """Fault: a stack of this repository that its own code refuses."""
    there = sorted(path.parent.name for path in stack.STACKS.glob("*/requirements.in"))
    assert stack.names() == there and NAME in there
    for name in there:
        found = stack.load(name)
        assert found.name == name and found.folder == stack.STACKS / name
        assert {each.target for each in found.definition.placements} <= set(stack.TARGETS)
        for minor in found.definition.python.minors():
            locked: list[str] = []
            for lock in found.locks(minor, "cuda" if found.has_cuda_wheels() else "cpu"):
                packages = re.findall(r"^([a-z0-9-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE)
                assert packages and not set(packages) & set(locked), "a package in both locks"
                assert "--hash=sha256:" in lock.read_text(encoding="utf-8")
                locked += packages
            assert found.definition.framework.package in locked
        assert set(found.definition.install.sdists) <= set(found.definition.python.minors())


def test_the_stack_of_the_question_is_what_it_was():
    """Fault: a field that is read as another, or a pin that changed without a word."""
    definition = stack.load(NAME).definition
    assert (definition.framework.package, definition.framework.version) == ("tensorflow-gpu", "1.14.0")
    assert definition.python.minors() == ["3.6", "3.7"]
    assert definition.cuda.built_with.cuda == "10.0" and definition.cuda.minimum_driver == "410.48"
    found = [(each.target, each.device, each.jit_cache) for each in definition.placements]
    wanted = {"CPU": False, "GPU": True, "XLA_CPU": False, "XLA_GPU": True}
    assert found == [(target, f"/device:{target}:0", cache) for target, cache in wanted.items()]


MALFORMED = {
    # wrong types
    "text for a number": ("environment_mb = 1500", 'environment_mb = "1500"', "install.environment_mb", "`int`"),
    "a fraction": ("download_mb = 500", "download_mb = 0.5", "install.download_mb", "`int`"),
    "a number for text": ('version = "1.14.0"', "version = 1.14", "framework.version", "`str`"),
    "text for a list": ('also = ["3.7"]', 'also = "3.7"', "python.also", "`array`"),
    "a number in a list": ('also = ["3.7"]', "also = [3.7]", "python.also[0]", "`str`"),
    "text for yes or no": ("jit_cache = false", 'jit_cache = "no"', "placements[0].jit_cache", "`bool`"),
    "a number for yes or no": ("jit_cache = false", "jit_cache = 0", "placements[0].jit_cache", "`bool`"),
    "text for the schema": ("schema = 1", 'schema = "1"', "schema", "`int`"),
    "a number in environment": ('"xla_compilation_cache=1"', "1", "environment", "`str`"),
    # right type, wrong value
    "nothing": ("environment_mb = 1500", "environment_mb = 0", "install.environment_mb", ">= 1"),
    "a newer schema": ("schema = 1", "schema = 2", "schema", "2"),
    "another target": ('target = "GPU"', 'target = "TPU"', "placements[1].target", "'TPU'"),
    "another minor": ('default = "3.6"', 'default = "2.7"', "python.default", "matching regex"),
    "a device that is none": ('"/device:CPU:0"', '"CPU:0"', "placements[0].device", "matching regex"),
    "an architecture": ('native = ["3.5"', 'native = ["sm_35"', "gpu_code.native[0]", "matching regex"),
    "another word": ('known = "seen here"', 'known = "sure"', "evidence[0].known", "'sure'"),
    # fields
    "an unknown field": ("title =", 'titel = "x"\ntitle =', "top level", "unknown field `titel`"),
    "one further down": ('cudnn = "7.4"', 'cudnn = "7.4", x = "1"', "cuda.built_with", "unknown field `x`"),
    "an unknown table": ("[cuda]", "[nothing]\n[cuda]", "top level", "unknown field `nothing`"),
    "a missing field": ('default = "3.6"\n', "", "python", "missing required field `default`"),
    "a missing one on top": ("schema = 1\n", "", "top level", "missing required field `schema`"),
    "a missing one in a list": ("jit_cache = false\n", "", "placements[0]", "required field `jit_cache`"),
    # contradictions
    "a placement twice": ('target = "GPU"', 'target = "CPU"', "placements", "('CPU', 'device') twice"),
    "a minor twice": ('also = ["3.7"]', 'also = ["3.7", "3.7"]', "python.also", "other than default"),
    "the default again": ('also = ["3.7"]', 'also = ["3.6"]', "python.also", "other than default"),
    "a pattern that is none": ("pattern = '", "pattern = '(", "compile_log.pattern", "expected a regular"),
    "a pattern of two groups": (
        "pattern = '",
        "pattern = '(x)?",
        "compile_log.pattern",
        "one group, the time, got 2",
    ),
    "a unit of no length": ("seconds = 1e-6", "seconds = 0.0", "compile_log.seconds", "> 0"),
    "another name": ('name = "tf1.14-cuda10"', 'name = "tf1.15"', "name", f"expected {NAME!r}"),
}


@pytest.mark.parametrize(("old", "new", "field", "expected"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_gives_one_error_that_names_all(tmp_path, old, new, field, expected):
    """Fault: a traceback, a default in silence, or an error without file, field or expectation."""
    error = refused(changed(tmp_path, old, new))
    assert error.exit_code is Exit.NOT_PREPARED
    where, _, rest = error.what.partition("/stack.toml: ")
    assert where == str(tmp_path / NAME)
    assert rest.startswith(field) and rest[len(field) :].startswith((": ", "[...]: "))
    assert expected in rest and "\n" not in error.what
    assert len(error.lines()) == 2 and "docs/stacks.md" in error.next_step


def test_no_placement_at_all_is_refused(tmp_path):
    """Fault: a stack that measures nothing and says that all is well."""
    begin, end = TEXT.index("[[placements]]"), TEXT.index("[environment]")
    error = refused(written(tmp_path, "placements = []\n" + TEXT[:begin] + TEXT[end:]))
    assert "/stack.toml: placements: " in error.what and "length >= 1" in error.what


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe\x00bad",
        TEXT.encode("utf-16"),
        TEXT.replace("[framework]", "[frame"),
        "name = ",
        TEXT + TEXT,
        "{}",
    ],
    ids=["not UTF-8", "UTF-16", "a bracket", "half a line", "twice", "JSON"],
)
def test_what_is_not_toml_is_said_so(tmp_path, data):
    """Fault: a parser's or a codec's traceback."""
    error = refused(written(tmp_path, data))
    assert error.exit_code is Exit.NOT_PREPARED
    assert error.what.startswith(f"{tmp_path / NAME}/stack.toml: not TOML: ") and len(error.lines()) == 2


def test_a_file_that_cannot_be_opened(tmp_path):
    """Fault: a traceback for a folder where a file should be."""
    (tmp_path / "stack.toml").mkdir()
    with pytest.raises(SuiteError, match="cannot be read: Is a directory"):
        stack.read_definition(tmp_path / "stack.toml")


def test_one_bad_stack_does_not_hide_the_others(tmp_path):
    """Fault: the list of names is read from the files, and one bad file ends every command."""
    written(tmp_path, TEXT)
    written(tmp_path, b"\xff", "broken")
    (tmp_path / "notes").mkdir()
    assert stack.names(tmp_path) == ["broken", NAME]
    assert stack.load(NAME, tmp_path).name == NAME


@pytest.mark.parametrize("typed", ["tf1.14-cuda1", "tf1.14", "TF1.14-CUDA10", "tf114-cuda10", "tf1.14_cuda10"])
def test_a_misspelt_name_gets_the_nearest(typed):
    """Fault: exit 4, a traceback, or no hint."""
    error = refused(stack.STACKS, typed)
    assert error.exit_code is Exit.USAGE
    assert error.what == f"there is no stack {typed!r}"
    known = "STACK= is one of: " + ", ".join(stack.names())
    assert error.next_step == f"Did you mean {NAME}? {known}"


def test_a_name_unlike_any_gets_the_list_alone():
    """Fault: a hint that has nothing to do with what was typed."""
    assert refused(stack.STACKS, "zzzz").next_step == "STACK= is one of: " + ", ".join(stack.names())


@pytest.mark.parametrize("typed", ["", ".", "..", "../docker/tf1.14-cuda10", "/etc", "tf1.14-cuda10/", "\0"])
def test_a_name_is_never_a_path(typed):
    """Fault: STACK=../x reads a file outside the folder of stacks."""
    error = refused(stack.STACKS, typed)
    assert error.exit_code is Exit.USAGE and NAME in error.next_step
    assert error.what == ("there is no stack " + repr(typed) if typed else "no stack was named")


def test_a_name_that_no_folder_can_have():
    """Fault: a traceback and exit 70."""
    assert refused(stack.STACKS, "x" * 300).exit_code is Exit.USAGE


def test_a_wrong_word_is_told_the_right_ones(tmp_path):
    """Fault: the error names the value and not what was expected."""
    assert "XLA_GPU" in refused(changed(tmp_path, 'target = "GPU"', 'target = "TPU"')).what


def test_a_wrong_value_in_a_table_is_told_by_its_key(tmp_path):
    """Fault: the error does not say which of ten variables is meant."""
    assert "TF_CPP_VMODULE" in refused(changed(tmp_path, '"xla_compilation_cache=1"', "1")).what


def test_the_hash_follows_names_and_bytes(tmp_path):
    """Fault: a run says that its stack is another run's, though a lock was changed or renamed."""
    shutil.copytree(stack.STACKS / NAME, tmp_path / NAME)
    copy = stack.load(NAME, tmp_path)
    hashes = [copy.sha256()]
    assert hashes[0] == stack.load(NAME).sha256()  # wherever it lies
    with copy.locks("3.7")[0].open("a") as file:
        file.write("\n")
    hashes.append(copy.sha256())
    copy.locks("3.7")[0].rename(copy.folder / "other.lock")
    hashes.append(copy.sha256())
    (copy.folder / "empty").touch()
    hashes.append(copy.sha256())
    assert len(set(hashes)) == 4


INCLUDED = "torch2.11-cuda13"


def test_cuda_in_the_plain_lock_is_installed_everywhere(monkeypatch):
    """Fault: a second lock is looked for, or a result says that a stack without CUDA's wheels was measured."""
    found = stack.load(INCLUDED)
    monkeypatch.setattr("suite.host.nvidia_driver_loaded", lambda: False)
    assert found.has_cuda_wheels() and environment.wheels_for(found) == "cuda"
    assert found.locks("3.12", "cuda") == found.locks("3.12", "cpu")
    assert environment.wheels_for(stack.load("tf2.21-cuda12")) == "cpu"


def test_cuda_is_counted_once(tmp_path):
    """Fault: the room that CUDA's wheels take is asked for twice, or a lock is named that cannot be."""
    text = (stack.STACKS / INCLUDED / "stack.toml").read_text(encoding="utf-8")
    stacks = written(tmp_path, text.replace("cuda_included = true", "cuda_included = true\ncuda_mb = 5"), INCLUDED)
    assert "install.cuda_mb: expected 0" in refused(stacks, INCLUDED).what


def test_the_questions_snippet_is_tensorflows():
    """Fault: every row crashes with ModuleNotFoundError where the stack has another framework."""
    with pytest.raises(SuiteError) as caught:
        ready._check_protocol("reproduce", stack.load(INCLUDED))
    assert caught.value.exit_code is Exit.IMPOSSIBLE and "TensorFlow" in caught.value.what
    ready._check_protocol("isolated", stack.load(INCLUDED))
    ready._check_protocol("reproduce", stack.load(NAME))
