"""The verbs of the command line, one file each; a file's `register` adds its verb."""

from core.commands import backup, doctor, matrix, person, price, read, reap, rebuild, runs, sweep, take_in

REGISTERS = (
    price.register,
    read.register,
    matrix.register,
    take_in.register,
    runs.register,
    sweep.register,
    backup.register,
    rebuild.register,
    reap.register,
    doctor.register,
    person.register,
)
