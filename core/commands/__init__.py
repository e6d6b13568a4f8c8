"""The verbs of the command line, one file each; a file's `register` adds its verb."""

from core.commands import matrix, person, price, read, runs, sweep, take_in

REGISTERS = (
    price.register,
    read.register,
    matrix.register,
    take_in.register,
    runs.register,
    sweep.register,
    person.register,
)
