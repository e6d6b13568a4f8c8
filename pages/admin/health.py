"""Health: what is wrong with the house, and what to do, for admins."""

from core.ui.components.health import health
from core.ui.guard import enter
from core.ui.problem import shown

house = enter(
    "Health", "Store, ledgers, backups and boxes: what is wrong, and what to do. Nothing here waits for a box.", action="house.keep"
)
with shown():
    health(house)
