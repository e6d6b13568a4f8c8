-- What the retention removed: a run's copy on its box, a raw engine log here. The rows and readings made from them stay.
CREATE TABLE retired (
    run_id VARCHAR NOT NULL, what VARCHAR NOT NULL CHECK (what IN ('box copy', 'raw log')), name VARCHAR NOT NULL, days INTEGER NOT NULL,
    noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (run_id, what, name)
);
