"""Keys of session state and query parameters; query parameters carry identifiers only."""

PERSON = "person"
CELL = "cell"
RUN = "run"
WORKSHEET = "worksheet"
NEW_RUN_ID = "new-run-id"
PENDING_BOX = "pending-box"
SERVER_START = "server-start"
