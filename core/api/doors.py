"""The table of `/api/v1`. A new door is one line in one of its parts; routes, OpenAPI and the test of roles against doors all read it."""

from __future__ import annotations

from core.api.house_doors import HOUSE_DOORS
from core.api.run_doors import RUN_DOORS
from core.api.sheet_doors import SHEET_DOORS

DOORS = (*RUN_DOORS, *SHEET_DOORS, *HOUSE_DOORS)
