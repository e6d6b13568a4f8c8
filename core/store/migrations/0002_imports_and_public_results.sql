-- Files taken in from other tools, what they stand for in the matrix, readings of kept logs, and results published elsewhere.
-- A file is known by its content: the same bytes a second time add nothing. Imported cells never meet measured samples.
CREATE TABLE imported_files (
    sha256 VARCHAR PRIMARY KEY CHECK (regexp_full_match(sha256, '[0-9a-f]{64}')), name VARCHAR NOT NULL, bytes BIGINT NOT NULL,
    stored_as VARCHAR NOT NULL, kind VARCHAR NOT NULL, reading JSON NOT NULL, warnings JSON NOT NULL,
    imported_by VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, provenance VARCHAR NOT NULL CHECK (provenance = 'imported')
);
-- n_max: NULL where the file does not say how long the drafts were, 0 for speculation off. c: NULL where the streams are unknown.
CREATE TABLE imported_cells (
    sha256 VARCHAR NOT NULL, position INTEGER NOT NULL, model VARCHAR, build VARCHAR, settings VARCHAR NOT NULL, context BIGINT,
    workload VARCHAR, placement JSON NOT NULL, n_max INTEGER, c INTEGER, tok_per_s DOUBLE NOT NULL, tok_per_s_min DOUBLE,
    tok_per_s_max DOUBLE, n INTEGER, accept_share DOUBLE, accept_denominator VARCHAR, a DOUBLE, d_ms DOUBLE, verdict VARCHAR,
    basis VARCHAR NOT NULL, PRIMARY KEY (sha256, position)
);
-- What the readers made of a kept raw file: worked out once per content and reader.
CREATE TABLE log_readings (sha256 VARCHAR NOT NULL, reader VARCHAR NOT NULL, body JSON NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (sha256, reader));

-- One published measurement a row. Intervals keep both ends; NULL: not given, never 0.
CREATE TABLE public_results (
    id VARCHAR PRIMARY KEY, position INTEGER NOT NULL, source_url VARCHAR, published DATE, engine VARCHAR, engine_build VARCHAR,
    model VARCHAR, architecture VARCHAR, quant VARCHAR, hardware VARCHAR, placement VARCHAR, n_cpu_moe INTEGER, draft_kind VARCHAR,
    n_max INTEGER, p_min DOUBLE, workload VARCHAR, context_tokens BIGINT, concurrency INTEGER,
    baseline_tok_per_s_min DOUBLE, baseline_tok_per_s_max DOUBLE, spec_tok_per_s_min DOUBLE, spec_tok_per_s_max DOUBLE,
    speedup_published_min DOUBLE, speedup_published_max DOUBLE, accept_share_min DOUBLE, accept_share_max DOUBLE,
    accept_denominator VARCHAR, tokens_per_step_min DOUBLE, tokens_per_step_max DOUBLE, repeats INTEGER, note VARCHAR,
    is_second_hand BOOLEAN NOT NULL
);
CREATE TABLE public_results_loaded (sha256 VARCHAR NOT NULL, rows INTEGER NOT NULL, noted_at TIMESTAMPTZ NOT NULL);
