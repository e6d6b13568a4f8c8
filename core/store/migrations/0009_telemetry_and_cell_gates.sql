-- What the cell gate made of a run: worked out once per set of rules, events taken in and repetitions excluded.
CREATE TABLE cell_gates (
    run_id VARCHAR NOT NULL, rules VARCHAR NOT NULL, last_seq BIGINT NOT NULL, excluded INTEGER NOT NULL, body JSON NOT NULL,
    noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (run_id, rules, last_seq, excluded)
);
-- One reading of one GPU (or of a box without one) around a repetition, from the repetition's own event. NULL: not recorded, or no GPU.
CREATE VIEW telemetry AS
SELECT run_id, seq, noted_at, stage, repetition, n_max, c, reading.* FROM (
    SELECT e.run_id, e.seq, e.noted_at, json_extract_string(e.body, '$.stage.name') AS stage,
           CAST(json_extract(e.body, '$.repetition') AS INTEGER) AS repetition, CAST(json_extract(e.body, '$.n_max') AS INTEGER) AS n_max,
           CAST(json_extract(e.body, '$.c') AS INTEGER) AS c,
           unnest(json_transform(json_extract(e.body, '$.telemetry'),
               '[{"moment":"VARCHAR","at_s":"DOUBLE","gpu":"INTEGER","used_mib":"DOUBLE","sm_mhz":"DOUBLE","power_w":"DOUBLE","temp_c":"DOUBLE","throttle":["VARCHAR"],"host_load_1m":"DOUBLE","engine_rss_mib":"DOUBLE"}]')) AS reading
    FROM run_events e WHERE e.kind = 'sample'
);
