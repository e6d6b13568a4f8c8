"""The most that one run may ask of a box, set by an admin: in its registration here, and in allow.json on the box itself."""

from __future__ import annotations

from pydantic import Field

from core.domain.forms import Record
from core.domain.run import SweepRequest

NAMES = {"n_max": "Draft length", "streams": "Streams at once", "context": "Context of a stream, tokens", "hours": "Hours a run may take"}


class Limits(Record):
    """None: no limit beside the form's own."""

    n_max: int | None = Field(default=None, ge=1, le=16)
    streams: int | None = Field(default=None, ge=1, le=64)
    context: int | None = Field(default=None, ge=256, le=1_048_576)
    hours: int | None = Field(default=None, ge=1, le=720)

    def problems(self, request: SweepRequest, context: int) -> dict[str, str]:
        """Field of the request → sentence, where it asks for more. `context`: of a stream, the workload's where none is asked."""
        asked = {"n_max": request.n_max, "production_c": request.production_c, "also_c": max(request.also_c, default=0), "context": context}
        most = {"n_max": self.n_max, "production_c": self.streams, "also_c": self.streams, "context": self.context}
        return {name: f"may be at most {limit} on this box." for name, limit in most.items() if limit is not None and asked[name] > limit}

    def set_ones(self) -> dict[str, int]:
        """Only the limits there are."""
        return self.model_dump(exclude_none=True)
