"""The verbs of the command line, one file each; a file's `register` adds its verb."""

from core.commands import (
    backup,
    decide,
    doctor,
    export,
    gate_kit,
    matrix,
    person,
    price,
    read,
    reap,
    rebuild,
    runs,
    sweep,
    take_in,
    worksheet,
)

REGISTERS = (
    price.register,
    read.register,
    matrix.register,
    take_in.register,
    runs.register,
    sweep.register,
    worksheet.register,
    decide.register,
    export.register,
    backup.register,
    rebuild.register,
    reap.register,
    doctor.register,
    person.register,
    gate_kit.register,
)
