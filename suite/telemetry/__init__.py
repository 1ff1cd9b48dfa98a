# SPDX-License-Identifier: Apache-2.0
"""What the machine did while a sample ran: facts beside the numbers, and tags; never a reason to drop a sample.

:mod:`cpu` and :mod:`gpu` take one reading, :mod:`sampler` takes them around a worker's process, :mod:`summary` makes
a sample's record of them, :mod:`tags` judges that record. A reading is a dict of JSON types; what the machine does
not offer is absent.
"""

from __future__ import annotations

from typing import Any

Reading = dict[str, Any]
