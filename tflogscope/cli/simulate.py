"""`tflogscope simulate`: run a program on the reference runtime instead of TensorFlow."""

from __future__ import annotations

from typing import Annotated

import typer

from tflogscope.errors import InputError

Program = Annotated[
    str, typer.Argument(metavar="PROGRAM.py", help="The Python program to run.", show_default=False)
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARGS",
        show_default=False,
        help="What the program finds in sys.argv; options among them are its own.",
    ),
]

# All that stands behind PROGRAM.py belongs to the program, as with `python PROGRAM.py`.
CONTEXT = {"allow_interspersed_args": False}


def simulate(program: Program, arguments: Arguments = None) -> None:
    """Run a program on the reference runtime: a small TensorFlow in Python and NumPy.

    `import tensorflow`, `from tensorflow import keras` and `import keras` in it mean the runtime,
    in which every op, function and graph is Python that you can read and step through. What the
    program prints, its exit status and its uncaught exceptions are its own.

    \b
    Examples:
      tflogscope simulate train.py
      tflogscope simulate train.py --epochs 2
    """
    try:
        with open(program, "rb") as file:
            source = file.read()
    except OSError as error:
        raise InputError(error.strerror or str(error), where=program) from error
    from tflogscope.runtime.simulate import run_program

    raise typer.Exit(run_program(program, source, arguments or []))
