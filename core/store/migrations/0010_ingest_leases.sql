-- Who takes in a run's events right now, by the token of its worker; '' when nobody does. None outlives the process that holds the file.
CREATE TABLE ingest_leases (run_id VARCHAR PRIMARY KEY, token VARCHAR NOT NULL, expires_at TIMESTAMPTZ NOT NULL);
