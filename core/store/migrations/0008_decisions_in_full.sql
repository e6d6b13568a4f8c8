-- Decisions carry what goes with them (supersedes, action's n_max, dominant cost, what makes them stale, second person) in `details`,
-- NULL for entries from before; a withdrawal is an entry of its own. The rows themselves, and their hashes, stay as they were.
CREATE TABLE decisions_in_full (
    number BIGINT PRIMARY KEY, worksheet_id VARCHAR NOT NULL, verdict VARCHAR NOT NULL CHECK (verdict IN ('keep', 'reject', 'withdrawn')),
    action VARCHAR NOT NULL, owner VARCHAR NOT NULL, reason VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL,
    evidence JSON NOT NULL, evidence_sha256 VARCHAR NOT NULL, prev VARCHAR NOT NULL, sha VARCHAR NOT NULL UNIQUE, details JSON
);
INSERT INTO decisions_in_full SELECT *, NULL FROM decisions;
DROP TABLE decisions;
ALTER TABLE decisions_in_full RENAME TO decisions;
