-- Boxes, runs, events, samples, worksheets, decisions, published figures. Append-only but for run_state: nothing measured is ever updated.
CREATE TABLE boxes (
    box_id VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, body JSON NOT NULL,
    created_by VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE box_changes (box_id VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, who VARCHAR NOT NULL, body JSON NOT NULL);
CREATE TABLE box_checks (box_id VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, ok BOOLEAN NOT NULL, report JSON NOT NULL);

CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY CHECK (regexp_full_match(run_id, '[0-9a-f]{32}')),
    box_id VARCHAR NOT NULL, worksheet_id VARCHAR, title VARCHAR NOT NULL, request JSON NOT NULL,
    requested_by VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE run_specs (run_id VARCHAR PRIMARY KEY, spec JSON NOT NULL, noted_at TIMESTAMPTZ NOT NULL);
CREATE TABLE run_state (
    run_id VARCHAR PRIMARY KEY, state VARCHAR NOT NULL, note VARCHAR NOT NULL, read_offset BIGINT NOT NULL, last_seq BIGINT NOT NULL,
    last_sha VARCHAR NOT NULL, problem JSON, unreachable_since TIMESTAMPTZ, reached_at TIMESTAMPTZ,
    cancel_by VARCHAR, cancel_at TIMESTAMPTZ, ended_at TIMESTAMPTZ
);
CREATE TABLE run_events (
    run_id VARCHAR NOT NULL, seq BIGINT NOT NULL, kind VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, body JSON NOT NULL, PRIMARY KEY (run_id, seq)
);
CREATE TABLE raw_files (
    run_id VARCHAR NOT NULL, name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, bytes BIGINT NOT NULL, stored_as VARCHAR NOT NULL,
    noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (run_id, name)
);
CREATE TABLE recipes (recipe_id VARCHAR PRIMARY KEY, body JSON NOT NULL);
CREATE TABLE servers (
    run_id VARCHAR NOT NULL, server INTEGER NOT NULL, n_max INTEGER NOT NULL, c INTEGER NOT NULL, recipe_id VARCHAR NOT NULL,
    argv JSON NOT NULL, placement JSON NOT NULL, load_s DOUBLE, PRIMARY KEY (run_id, server)
);
CREATE TABLE samples (
    run_id VARCHAR NOT NULL, seq BIGINT NOT NULL, server INTEGER NOT NULL, recipe_id VARCHAR NOT NULL, stage VARCHAR NOT NULL,
    n_max INTEGER NOT NULL, c INTEGER NOT NULL, repetition INTEGER NOT NULL, temperature VARCHAR NOT NULL CHECK (temperature IN ('warm', 'cold')),
    counted BOOLEAN NOT NULL, kind VARCHAR NOT NULL CHECK (kind IN ('real', 'synthetic')),
    status VARCHAR NOT NULL CHECK (status IN ('ok', 'failed', 'invalid')), reason VARCHAR NOT NULL,
    tok_per_s DOUBLE, client_tok_per_s DOUBLE, ttft_ms DOUBLE, prefill_tok_per_s DOUBLE, wall_ms DOUBLE,
    decode_tokens BIGINT, predicted_ms DOUBLE, prompt_n BIGINT, prompt_ms DOUBLE, drafted BIGINT, accepted BIGINT, steps BIGINT,
    per_position DOUBLE[], d_ms DOUBLE, prompt_ids VARCHAR[], text_sha256 VARCHAR[], noted_at TIMESTAMPTZ NOT NULL, provenance VARCHAR NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE TABLE exclusions (run_id VARCHAR NOT NULL, seq BIGINT NOT NULL, reason VARCHAR NOT NULL, who VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (run_id, seq));

CREATE TABLE worksheets (
    worksheet_id VARCHAR PRIMARY KEY, title VARCHAR NOT NULL, body JSON NOT NULL, created_by VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE worksheet_entries (
    worksheet_id VARCHAR NOT NULL, entry BIGINT NOT NULL, field VARCHAR NOT NULL, side VARCHAR NOT NULL, value JSON, note VARCHAR NOT NULL,
    typed_by VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (worksheet_id, entry)
);
CREATE TABLE decisions (
    number BIGINT PRIMARY KEY, worksheet_id VARCHAR NOT NULL, verdict VARCHAR NOT NULL CHECK (verdict IN ('keep', 'reject')),
    action VARCHAR NOT NULL, owner VARCHAR NOT NULL, reason VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL,
    evidence JSON NOT NULL, evidence_sha256 VARCHAR NOT NULL, prev VARCHAR NOT NULL, sha VARCHAR NOT NULL UNIQUE
);
CREATE TABLE published_cells (
    source VARCHAR NOT NULL, row_key VARCHAR NOT NULL, position INTEGER NOT NULL, model VARCHAR NOT NULL, is_moe BOOLEAN, spill_label VARCHAR NOT NULL,
    spill_layers INTEGER, n_max INTEGER NOT NULL, tok_per_s DOUBLE NOT NULL, accept_share DOUBLE, accept_denominator VARCHAR,
    speedup_published DOUBLE, note VARCHAR NOT NULL, PRIMARY KEY (source, row_key, n_max)
);
CREATE TABLE published_remarks (source VARCHAR NOT NULL, section VARCHAR NOT NULL, position INTEGER NOT NULL, body JSON NOT NULL, PRIMARY KEY (source, section, position));

-- A cell: the counted warm repetitions of one recipe at one concurrency in one run. A failed arm without one good repetition is a cell too.
CREATE VIEW cells AS
SELECT s.run_id, s.n_max, s.c, s.kind, any_value(s.recipe_id ORDER BY s.seq) AS recipe_id, r.box_id,
       count(*) FILTER (WHERE good) AS n, count(*) FILTER (WHERE s.status <> 'ok') AS n_bad, count(e.seq) AS n_excluded,
       median(s.tok_per_s) FILTER (WHERE good) AS tok_per_s, min(s.tok_per_s) FILTER (WHERE good) AS tok_per_s_min,
       max(s.tok_per_s) FILTER (WHERE good) AS tok_per_s_max, list(s.tok_per_s ORDER BY s.seq) FILTER (WHERE good) AS rates,
       sum(s.decode_tokens) FILTER (WHERE good) AS decode_tokens, sum(s.predicted_ms) FILTER (WHERE good) AS predicted_ms,
       sum(s.steps) FILTER (WHERE good) AS steps, sum(s.drafted) FILTER (WHERE good) AS drafted, sum(s.accepted) FILTER (WHERE good) AS accepted,
       median(s.d_ms) FILTER (WHERE good) AS d_ms, median(s.ttft_ms) FILTER (WHERE good) AS ttft_ms,
       median(s.prefill_tok_per_s) FILTER (WHERE good) AS prefill_tok_per_s, any_value(s.reason) FILTER (WHERE s.status <> 'ok') AS why_bad,
       min(s.noted_at) AS first_at, max(s.noted_at) AS last_at
FROM samples s
JOIN runs r USING (run_id)
LEFT JOIN exclusions e USING (run_id, seq),
LATERAL (SELECT s.status = 'ok' AND s.counted AND s.temperature = 'warm' AND e.seq IS NULL AS good)
GROUP BY s.run_id, s.n_max, s.c, s.kind, r.box_id;
