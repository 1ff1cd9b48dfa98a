# SPDX-License-Identifier: Apache-2.0
"""What a framework does not offer on this machine: no fault of anything, and no crash."""


class NotOffered(Exception):
    """What was asked cannot be done here. ``code``: a stable word for it; ``next_step``: what a person can do."""

    def __init__(self, code, text, next_step):
        Exception.__init__(self, text)
        self.code = code
        self.next_step = next_step
