# SPDX-License-Identifier: Apache-2.0
"""A real headless Chromium, and a page in it that notes every error and every request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.conftest import chromium

#: Chromium of its own accord asks for updates and the like: none of that is the page's.
FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]


@pytest.fixture(scope="session")
def browser(require: Callable[[str], None]) -> Iterator[Browser]:
    """The machine's own Chromium; none is downloaded."""
    require("browser")
    flags = [*FLAGS, "--no-sandbox"] if os.getuid() == 0 else FLAGS
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=flags)
        yield started
        started.close()


@dataclass
class Opened:
    """A page with what it said and asked for since it was opened; its own file is no request."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Return a function that opens a file in a browser of its own; words are those of playwright's new_context."""
    contexts: list[BrowserContext] = []

    def opened(path: Path, **words: object) -> Opened:
        context = browser.new_context(**words)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        found = Opened(page)
        page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        page.on("request", lambda request: found.asked.append(request.url))
        page.goto(path.as_uri())
        found.asked.remove(path.as_uri())
        return found

    yield opened
    for context in contexts:
        context.close()
