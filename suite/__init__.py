# SPDX-License-Identifier: Apache-2.0
"""coldwarm: why is the first run slow, on which stack, by how much, and is the number real?"""

__version__ = "0.1.0"
