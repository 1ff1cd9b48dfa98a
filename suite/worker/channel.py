# SPDX-License-Identifier: Apache-2.0
"""What the worker tells its parent: one JSON object a line, appended to a file named in the request.

A file, not an inherited descriptor: a container has none of the parent's descriptors. Each event is one
``write`` to a file opened for appending, so a killed worker leaves whole lines and at most one torn one.
"""

import json
import os

PROTOCOL = 1


class Channel(object):
    """The open events file of one sample."""

    def __init__(self, path):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags, 0o666)

    def send(self, event, **fields):
        """Append one event. NaN and infinity are refused (ValueError): they are not JSON."""
        fields["v"] = PROTOCOL
        fields["event"] = event
        line = json.dumps(fields, sort_keys=True, allow_nan=False) + "\n"
        data = line.encode("utf-8")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def close(self):
        os.close(self._descriptor)
