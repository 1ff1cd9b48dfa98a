# SPDX-License-Identifier: Apache-2.0
"""``explain``: what a cell's first run was spent on, by taking one thing away at a time in fresh processes."""
