# SPDX-License-Identifier: Apache-2.0
"""Thin sessions over the suite. They run in the interpreter that runs nox; imports nothing of suite."""

import logging
import os
import re
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
@nox.parametrize("stack", [nox.param(name, id=name) for name in STACKS])
def selftest(session, stack):
    """Measure one stack against itself; arguments after -- are flags of `python -m suite selftest`."""
    flags = list(session.posargs)
    if "--stack" not in flags:
        flags += ["--stack", stack]
    suite(session, "selftest", *flags)


@nox.session(python=False)
@nox.parametrize("stack", [nox.param(name, id=name) for name in STACKS])
def explain(session, stack):
    """Say what one stack's first run is spent on; arguments after -- are flags of `python -m suite explain`."""
    flags = list(session.posargs)
    if "--stack" not in flags:
        flags += ["--stack", stack]
    suite(session, "explain", *flags)


@nox.session(python=False)
def compare(session):
    """Set stacks side by side; arguments after -- are flags of `python -m suite compare`."""
    suite(session, "compare", *session.posargs)


@nox.session(python=False)
@nox.parametrize("stack", [nox.param(name, id=name) for name in STACKS])
def build(session, stack):
    """Build one stack's image; arguments after -- are flags of `python -m suite build`."""
    flags = list(session.posargs)
    if "--stack" not in flags:
        flags += ["--stack", stack]
    suite(session, "build", *flags)


@nox.session(python=False)
def lock(session):
    """Lock stacks again, those named after -- or every one; one lock a Python minor; pins that still fit stay."""
    for name in session.posargs or STACKS:
        if name not in STACKS:
            session.error(f"there is no stack {name!r}: docker/ has {', '.join(STACKS)}")
        folder = HERE / "docker" / name
        minors = tomllib.loads((folder / "stack.toml").read_text(encoding="utf-8"))["python"]
        for minor in [minors["default"], *minors.get("also", [])]:
            lock_stack(session, folder, minor)


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
def tests_gpu(session):
    """Run the tests that need an NVIDIA GPU; COLDWARM_GPU_PYTHON names a Python that has the frameworks."""
    command = (sys.executable, "-m", "pytest", "-rA", "--durations=20", "tests/gpu", *session.posargs)
    code = 0
    logging.disable(logging.ERROR)
    try:
        session.run(*command, external=True, log=False)
    except nox.command.CommandFailed as failed:
        code = failed.return_code or 1
    finally:
        logging.disable(logging.NOTSET)
    if code or "COLDWARM_REQUIRE" in os.environ:  # by make
        # nox would add a line of its own after pytest's, which counts passed and failed.
        raise SystemExit(code)


@nox.session(python=False)
def lint(session):
    """Check style and types."""
    session.run(sys.executable, "-m", "ruff", "check", ".", external=True)
    session.run(sys.executable, "-m", "ruff", "format", "--check", ".", external=True)
    session.run(sys.executable, "-m", "mypy", external=True)


def lock_stack(session, folder, minor):
    """Lock one stack for one minor: a plain lock and, where CUDA comes as wheels, one of what that lacks."""
    plain, cuda = folder / f"requirements-py{minor}.lock", folder / f"requirements-cuda-py{minor}.lock"
    common = ("--python-version", minor, "--python-platform", PLATFORM, "--custom-compile-command", "nox -s lock")
    name = folder.relative_to(HERE)
    if (folder / "requirements-pip.in").exists():
        lock_name = f"{name}/requirements-pip.lock"
        compile_lock(session, *common, f"{name}/requirements-pip.in", "--allow-unsafe", "-o", lock_name)
    # A build sees nothing outside its folder.
    (folder / "prove_image.py").write_bytes((HERE / "suite" / "prove_image.py").read_bytes())
    constraint = ()
    if (folder / "requirements-cuda.in").exists():
        # All together first, so that both locks agree; pins of the old ones are kept where they still fit.
        full = Path(session.create_tmp()) / f"{folder.name}-{minor}.txt"
        full.write_text("".join(path.read_text() for path in (plain, cuda) if path.exists()), encoding="utf-8")
        compile_lock(session, *common, f"{name}/requirements-cuda.in", "-o", str(full))
        constraint = ("--constraint", str(full), "--no-annotate")
    compile_lock(session, *common, *constraint, f"{name}/requirements.in", "-o", f"{name}/{plain.name}")
    if constraint:
        rest = sorted(pins(full).items() - pins(plain).items())
        wanted = Path(session.create_tmp()) / f"{folder.name}-{minor}-rest.in"
        wanted.write_text("".join(f"{package}=={version}\n" for package, version in rest), encoding="utf-8")
        compile_lock(session, *common, "--no-deps", "--no-annotate", str(wanted), "-o", f"{name}/{cuda.name}")


def pins(lock):
    """Return name and version of each package of a lock."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


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
