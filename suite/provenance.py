# SPDX-License-Identifier: Apache-2.0
"""What measured: version, git commit and the hash of the worker's tree."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from suite import __version__
from suite.stack import ROOT


def coldwarm(worker: Path) -> dict[str, Any]:
    """Return version, worker tree hash, and git commit with its dirty flag (None outside a checkout)."""
    commit = _git("rev-parse", "HEAD")
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "version": __version__,
        "worker_tree_sha256": tree_sha256(worker),
        "git_commit": commit or None,
        "git_dirty": bool(status) if commit else None,
    }


def tree_sha256(folder: Path) -> str:
    """Return one hash over names and bytes of all .py files below ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _git(*arguments: str) -> str:
    # Another owner's checkout (root's, cloned by a user) makes git refuse: then there is no commit to tell.
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
