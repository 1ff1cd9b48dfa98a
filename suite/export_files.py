# SPDX-License-Identifier: Apache-2.0
"""Tidy tables as files: CSV, or Parquet through pyarrow where that is installed. Whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TextIO

from suite.errors import SuiteError
from suite.exits import Exit
from suite.export_rows import Kind, Row, Value

FORMATS = ("csv", "parquet")
#: Rows of a Parquet row group: so much is held in memory, whatever is exported.
GROUP = 100_000


class Writer(Protocol):
    """An open table that rows are added to."""

    def add(self, rows: Sequence[Row]) -> None: ...
    def end(self) -> None: ...


class Files:
    """The files of one export, written beside their places and put there together when all of them are whole.

    Parameters
    ----------
    folder
        Where they are to be; made if need be.
    style
        One of ``FORMATS``.
    tables
        The columns of each table, by its name.

    Raises
    ------
    SuiteError
        NOT_PREPARED where pyarrow is needed and not installed.
    OSError
        The folder cannot be written.
    """

    def __init__(self, folder: Path, style: str, tables: Mapping[str, Mapping[str, Kind]]) -> None:
        make = _parquet() if style == "parquet" else _Csv
        folder.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(4)
        self._final = {name: folder / f"{name}.{style}" for name in tables}
        self._open = {name: path.with_name(f".{path.name}.{mark}") for name, path in self._final.items()}
        self._writers: dict[str, Writer] = {}
        try:
            for name, columns in tables.items():
                self._writers[name] = make(self._open[name], columns)
        except BaseException:
            self._remove()
            raise

    def add(self, name: str, rows: Sequence[Row]) -> None:
        self._writers[name].add(rows)

    def paths(self) -> list[Path]:
        return list(self._final.values())

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for writer in self._writers.values():
                writer.end()
            if kind is None:
                for name, path in self._open.items():
                    path.rename(self._final[name])
        finally:
            self._remove()

    def _remove(self) -> None:
        for path in self._open.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


class _Csv:
    """UTF-8, LF, floats by ``repr``, booleans as true and false, nothing where there is no value."""

    def __init__(self, path: Path, columns: Mapping[str, Kind]) -> None:
        self._columns = list(columns)
        self._file: TextIO = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(self._columns)

    def add(self, rows: Sequence[Row]) -> None:
        self._writer.writerows([_csv_value(row.get(name)) for name in self._columns] for row in rows)

    def end(self) -> None:
        if not self._file.closed:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())


def _csv_value(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else value


def _parquet() -> type[Any]:
    """Return the writer of Parquet files.

    Raises
    ------
    SuiteError
        NOT_PREPARED where pyarrow is not installed, naming what installs it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        what = f"FORMAT=parquet needs pyarrow, which is not installed here ({error})"
        next_step = f"{sys.executable} -m pip install 'pyarrow>=17' (about 50 MB); or FORMAT=csv."
        raise SuiteError(Exit.NOT_PREPARED, what, next_step) from error
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}

    class Parquet:
        """Row groups of ``GROUP`` rows, whatever the runs' sizes."""

        def __init__(self, path: Path, columns: Mapping[str, Kind]) -> None:
            self._schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
            self._file = pyarrow.parquet.ParquetWriter(path, self._schema, compression="zstd")
            self._waiting: list[Row] = []

        def add(self, rows: Sequence[Row]) -> None:
            self._waiting += rows
            while len(self._waiting) >= GROUP:
                self._group(self._waiting[:GROUP])
                del self._waiting[:GROUP]

        def end(self) -> None:
            if self._file.is_open:
                if self._waiting:
                    self._group(self._waiting)
                    self._waiting = []
                self._file.close()

        def _group(self, rows: Sequence[Row]) -> None:
            self._file.write_table(pyarrow.Table.from_pylist(list(rows), schema=self._schema))

    return Parquet
