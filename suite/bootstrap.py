# SPDX-License-Identifier: Apache-2.0
"""Make the host's own virtual environment: ``python3 suite/bootstrap.py FOLDER LOCK``.

Starts under any Python 3 (its syntax is that of 3.6), because the python3 of a machine may be too old or too
new for the suite: then this finds another one or says what to do. Prints the environment's Python on stdout;
all else goes to stderr. Standard library only, and imports nothing of the suite.
"""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 10), (3, 13)
NOT_PREPARED = 4
STAMP = "coldwarm-lock.sha256"


class Failed(Exception):
    """The environment cannot be made; the arguments are the lines to say."""


def main(arguments):
    """Make the environment where it does not fit its lock; return the exit code."""
    folder, lock = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
    try:
        print(prepare(_possible(folder), lock))
    except Failed as failure:
        for line in failure.args:
            _say(line)
        _say("coldwarm: exit 4 (the stack or engine could not be prepared)")
        return NOT_PREPARED
    except KeyboardInterrupt:
        _say("coldwarm: exit 130 (interrupted)")
        return 130
    return 0


def prepare(folder, lock):
    """Return the path of an environment's Python that has exactly the lock's packages.

    Two at once: the second waits for the first. Interrupted: without its stamp it is made again.
    """
    with open(lock, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    python = os.path.join(folder, "bin", "python")
    if _stamp(folder) == wanted and os.access(python, os.X_OK):
        return python
    try:
        if not os.path.isdir(os.path.dirname(folder)):
            os.makedirs(os.path.dirname(folder))
        parent, name = os.path.split(folder)
        guard = open(os.path.join(parent, ".%s.lock" % name.lstrip(".")), "w")
    except OSError as error:
        raise Failed("coldwarm: %s cannot be made: %s" % (folder, error.strerror))
    with guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if _stamp(folder) == wanted and os.access(python, os.X_OK):
            return python
        _make(folder, lock, python)
        with open(os.path.join(folder, STAMP + ".new"), "w") as file:
            file.write(wanted)
        os.rename(os.path.join(folder, STAMP + ".new"), os.path.join(folder, STAMP))
    return python


def _make(folder, lock, python):
    host = find()
    name = os.path.basename(folder)
    size_mb = 680 if "test" in name else 420  # on the disk, byte-compiled; plotting and its numbers are most of it
    _say("coldwarm: making %s with %s (about %d MB, once)" % (name, host, size_mb))
    shutil.rmtree(folder, ignore_errors=True)
    done = _run([host, "-m", "venv", folder])
    if done.returncode != 0 or not os.access(python, os.X_OK):
        said = done.stdout.strip().splitlines()
        package = "python%s-venv" % _version(host)[0]
        raise Failed(
            *said[-12:],
            "coldwarm: %s cannot make a virtual environment (its words above)" % host,
            "          On Debian and Ubuntu: apt-get install %s" % package,
        )
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    done = _run(install + ["--only-binary", ":all:", "-r", lock])
    if done.returncode != 0:
        raise Failed(
            *done.stdout.strip().splitlines()[-25:],
            "coldwarm: %s cannot be installed (pip's words above)" % os.path.basename(lock),
        )


def find():
    """Return the path of a Python that the suite runs under: this one, one on PATH, or one of pyenv's."""
    passed_over = []
    for path in _candidates():
        version, why = _version(path)
        if not version:
            passed_over.append("%s: %s" % (path, why))
        elif OLDEST <= tuple(int(part) for part in version.split(".")) <= NEWEST:
            return path
        else:
            passed_over.append("%s: is Python %s" % (path, version))
    raise Failed(
        "coldwarm: no Python 3.%d to 3.%d was found for the suite itself" % (OLDEST[1], NEWEST[1]),
        "          Get one: apt-get install python3 python3-venv, pyenv install 3.13, or uv python install 3.13.",
        *["          passed over: " + line for line in passed_over],
    )


def _candidates():
    seen = set()
    names = ["python3"] + ["python3.%d" % minor for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    paths = [sys.executable] if sys.executable else []
    for name in names:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            paths.append(os.path.join(folder or ".", name))
    root = os.environ.get("PYENV_ROOT") or os.path.join(os.path.expanduser("~"), ".pyenv")
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        paths += sorted(
            glob.glob(os.path.join(root, "versions", "3.%d.*" % minor, "bin", "python3")), reverse=True
        )
    for path in paths:
        if path not in seen and os.path.isfile(path) and os.access(path, os.X_OK):
            seen.add(path)
            yield os.path.abspath(path)


def _version(path):
    """Return ("3.11", "") or ("", why it does not run)."""
    try:
        done = _run([path, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], timeout=3)
    except subprocess.TimeoutExpired:
        return "", "did not answer"
    except OSError as error:
        return "", error.strerror
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return "", "exit code %d" % done.returncode
    parts = lines[-1].split(".")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return "", "answers %r" % lines[-1][:40]
    return lines[-1], ""


def _run(command, timeout=None):
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        errors="replace",
        timeout=timeout,
    )


def _possible(folder):
    """Return ``folder``, or one in the user's cache where its path has a colon: venv refuses that."""
    if os.pathsep not in folder:
        return folder
    home = os.path.expanduser("~")
    cache = os.environ.get("COLDWARM_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "coldwarm"
    )
    return os.path.join(cache, "host", hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:12])


def _stamp(folder):
    try:
        with open(os.path.join(folder, STAMP)) as file:
            return file.read().strip()
    except OSError:
        return ""


def _say(line):
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
