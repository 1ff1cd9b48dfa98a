# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one self-contained HTML file. Nothing here is imported before a report is made."""
