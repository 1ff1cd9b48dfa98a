# SPDX-License-Identifier: Apache-2.0
"""Thin sessions over the suite. They run in the interpreter that runs nox; imports nothing of suite."""

import logging
import os
import sys
from pathlib import Path

import nox

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

nox.options.sessions = []
nox.options.error_on_missing_interpreters = True

HERE = Path(__file__).resolve().parent
STACKS = sorted(path.parent.name for path in (HERE / "docker").glob("*/stack.toml"))
PLATFORM = "x86_64-manylinux_2_28"


@nox.session(python=False)
@nox.parametrize("stack", [nox.param(name, id=name) for name in STACKS])
def bench(session, stack):
    """Measure one stack; arguments after -- are flags of `python -m suite bench`."""
    flags = list(session.posargs)
    if "--stack" not in flags:
        flags += ["--stack", stack]
    suite(session, "bench", *flags)


@nox.session(python=False)
@nox.parametrize("stack", [nox.param(name, id=name) for name in STACKS])
def reproduce(session, stack):
    """Run the question's snippet on one stack; arguments after -- are flags of `python -m suite reproduce`."""
    flags = list(session.posargs)
    if "--stack" not in flags:
        flags += ["--stack", stack]
    suite(session, "reproduce", *flags)


@nox.session(python=False)
def lock(session):
    """Lock every stack again, one lock a Python minor; pins that still fit stay."""
    for name in STACKS:
        folder = HERE / "docker" / name
        minors = tomllib.loads((folder / "stack.toml").read_text(encoding="utf-8"))["python"]
        for minor in [minors["default"], *minors.get("also", [])]:
            for source in sorted(folder.glob("requirements*.in")):
                suffix = source.stem.removeprefix("requirements")  # "" or "-cuda"
                compile_lock(
                    session,
                    *("--python-version", minor, "--python-platform", PLATFORM),
                    *("--custom-compile-command", "nox -s lock"),
                    *(f"docker/{name}/{source.name}", "-o", f"docker/{name}/requirements-py{minor}{suffix}.lock"),
                )


@nox.session(python=False)
def lock_host(session):
    """Lock what the suite itself runs and is tested with, for all its Pythons at once."""
    common = ("--universal", "--python-version", "3.10", "--custom-compile-command", "nox -s lock_host")
    compile_lock(session, *common, "pyproject.toml", "-o", "requirements.lock")
    compile_lock(session, *common, "--extra", "test", "pyproject.toml", "-o", "requirements-test.lock")


@nox.session(python=False)
def tests(session):
    """Run the tests; arguments after -- are pytest's."""
    session.run(sys.executable, "-m", "pytest", *session.posargs, external=True)


@nox.session(python=False)
def lint(session):
    """Check style and types."""
    session.run(sys.executable, "-m", "ruff", "check", ".", external=True)
    session.run(sys.executable, "-m", "ruff", "format", "--check", ".", external=True)
    session.run(sys.executable, "-m", "mypy", external=True)


def compile_lock(session, *arguments):
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", *arguments]
    session.run(*command, external=True)


def suite(session, *arguments):
    """Run the suite; nox then ends with the suite's own exit code and adds no word of its own."""
    by_make = "COLDWARM_WATCH" in os.environ
    watched = f"{os.environ.get('COLDWARM_WATCH', '')} {os.getpid()}".strip()
    code = 0
    logging.disable(logging.ERROR)  # nox would add a line of its own after the suite's last one
    try:
        session.run(
            *(sys.executable, "-m", "suite", *arguments),
            env={"COLDWARM_WATCH": watched},
            external=True,
            log=False,
            stderr=None,  # nox would join it to stdout, where the tables are
            # On Ctrl-C the suite ends its worker and derives its tables: it needs more than nox's 0.3 s.
            interrupt_timeout=60.0,
            terminate_timeout=30.0,
        )
    except nox.command.CommandFailed as failed:
        code = failed.return_code or 1
    finally:
        logging.disable(logging.NOTSET)
    if code or by_make:
        # Not session.error, which would make every code 1 and add such a line.
        raise SystemExit(code)
