-- Two people at one worksheet: what each typed is kept. over_entry: the entry the editor saw (0: none; NULL: written without looking).
-- is_set_aside: somebody else had saved meanwhile, so this text waits for its writer to merge it and counts for nothing until then.
ALTER TABLE worksheet_entries ADD COLUMN over_entry BIGINT;
ALTER TABLE worksheet_entries ADD COLUMN is_set_aside BOOLEAN;
CREATE TABLE worksheet_comments (
    worksheet_id VARCHAR NOT NULL, comment BIGINT NOT NULL, text VARCHAR NOT NULL, written_by VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (worksheet_id, comment)
);
