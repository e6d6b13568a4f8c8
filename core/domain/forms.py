"""From what a person or a machine typed to a checked record: every problem at once, by field, in plain sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from core.errors import InvalidInput

_SENTENCES = {
    "missing": "is needed.",
    "string_too_short": "is needed.",
    "string_too_long": "is too long (at most {max_length} characters).",
    "greater_than_equal": "has to be at least {ge}.",
    "less_than_equal": "has to be at most {le}.",
    "greater_than": "has to be above {gt}.",
    "finite_number": "has to be a number.",
    "int_parsing": "has to be a whole number.",
    "int_from_float": "has to be a whole number.",
    "float_parsing": "has to be a number, with a point for decimals.",
    "list_type": "has to be numbers separated by commas, with points for decimals.",
    "int_type": "has to be a whole number.",
    "float_type": "has to be a number.",
    "string_type": "has to be text.",
    "extra_forbidden": "is not a field of this form.",
}


def printable(text: str) -> str:
    """The text itself; raises ValueError where a control character or a line break is in it."""
    if any(not ch.isprintable() for ch in text):
        raise ValueError("may not contain control characters or line breaks.")
    return text


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(printable)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(printable)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)]
Rate = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Record(BaseModel):
    """Frozen, and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Builds the record or raises InvalidInput with one sentence per field."""
    try:
        return model(**values)
    except ValidationError as error:
        raise InvalidInput(problems_in(error)) from error


def problems_in(error: ValidationError) -> dict[str, str]:
    """Field → sentence, from pydantic's report; what the person typed is not repeated (it may be long or hostile)."""
    found: dict[str, str] = {}
    for item in error.errors():
        field = ".".join(str(part) for part in item["loc"]) or "input"
        template = _SENTENCES.get(item["type"])
        text = template.format(**item.get("ctx", {})) if template else str(item["msg"]).removeprefix("Value error, ")
        found.setdefault(field, text)
    return found


def plain_numbers(field: str, text: str) -> list[float]:
    """“40, 47” → [40.0, 47.0]. Raises InvalidInput naming what is no number, or may be one number or two (“40,5, 47,2”)."""
    found = []
    unclear = re.search(r"\d+,\d+", text)
    if unclear and re.search(r",\s|;|\s", text.strip()):
        raise InvalidInput({field: f"are not clear: “{unclear[0]}” may be one number or two. Write 40.5, 47 with points for decimals."})
    for part in (part for part in re.split(r"[,;\s]+", text) if part):
        try:
            found.append(float(part))
        except ValueError:
            raise InvalidInput({field: f"have to be numbers separated by commas; “{part[:40]}” is none."}) from None
    if not found:
        raise InvalidInput({field: "are needed, at least one number."})
    return found
