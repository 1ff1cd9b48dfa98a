# SPDX-License-Identifier: Apache-2.0
"""The command line: its verbs together, and how one ends."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from suite import __version__, cli_machine, cli_measuring, cli_stored
from suite.errors import SuiteError
from suite.exits import Exit, closing_line, first_that_applies


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="coldwarm")
def cli() -> None:
    """Why is the first run slow, on which stack, by how much, and is the number real?"""


for _verb in (
    cli_measuring.bench,
    cli_measuring.reproduce,
    cli_measuring.selftest,
    cli_measuring.compare,
    cli_measuring.explain,
    cli_machine.list_stacks,
    cli_machine.doctor,
    cli_stored.collect,
    cli_stored.export,
    cli_stored.report,
    cli_machine.build,
    cli_machine.image_save,
    cli_machine.image_load,
    cli_machine.check_stack,
):
    cli.add_command(_verb)


def main(arguments: Sequence[str]) -> int:
    """Run one command; the last line on stderr is always the exit code and its meaning."""
    code = _run(arguments)
    sys.stdout.flush()
    if code is Exit.DONE and list(arguments[:1]) == [cli_machine.check_stack.name]:
        return 0  # a question that make asks on its way: the last line is the verb's that follows
    print(closing_line(code), file=sys.stderr, flush=True)
    return int(code)


def _run(arguments: Sequence[str]) -> Exit:
    try:
        # Without standalone mode click returns what the verb returned, and 0 after --help.
        returned = cli.main(list(arguments), prog_name="python -m suite", standalone_mode=False)
    except SuiteError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return error.exit_code
    except click.UsageError as error:
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        print("coldwarm: interrupted before anything was measured", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone: no fault of the run, and nothing more can be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception:
        traceback.print_exc()
        return Exit.INTERNAL
    return returned if isinstance(returned, Exit) else first_that_applies([])
