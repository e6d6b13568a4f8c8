-- Doors. Nothing here is updated: the newest entry of a person counts, a token ends by a row of its own, the audit log only grows.
CREATE TABLE people (
    key VARCHAR NOT NULL, entry BIGINT NOT NULL, name VARCHAR NOT NULL, role VARCHAR NOT NULL CHECK (role IN ('none', 'viewer', 'runner', 'decider', 'admin')),
    is_disabled BOOLEAN NOT NULL, who VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (key, entry)
);
-- Only the hash of a token is kept.
CREATE TABLE tokens (
    token_id VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, role VARCHAR NOT NULL CHECK (role IN ('viewer', 'runner', 'decider', 'admin')),
    sha256 VARCHAR NOT NULL, made_by VARCHAR NOT NULL, made_at TIMESTAMPTZ NOT NULL, expires_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE token_ends (token_id VARCHAR PRIMARY KEY, who VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL);
CREATE TABLE audit (
    number BIGINT PRIMARY KEY, noted_at VARCHAR NOT NULL, actor VARCHAR NOT NULL, name VARCHAR NOT NULL, via VARCHAR NOT NULL, action VARCHAR NOT NULL,
    object VARCHAR NOT NULL, outcome VARCHAR NOT NULL CHECK (outcome IN ('done', 'denied')), detail JSON NOT NULL, prev VARCHAR NOT NULL, sha VARCHAR NOT NULL
);
