-- Tool suites run on the box, and engine starts that served something else than the sweep itself (the forced pass, a suite).
ALTER TABLE servers ADD COLUMN purpose VARCHAR DEFAULT 'sweep';
CREATE TABLE suite_runs (
    run_id VARCHAR NOT NULL, seq BIGINT NOT NULL, suite VARCHAR NOT NULL, n_max INTEGER NOT NULL, c INTEGER NOT NULL, run INTEGER NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'failed', 'timeout', 'missing', 'unreadable')), reason VARCHAR NOT NULL,
    score DOUBLE, exit_code INTEGER, took_s DOUBLE, output VARCHAR NOT NULL, errors VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, seq)
);
