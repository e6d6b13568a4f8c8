-- Where a waiting run stands in the queue of its box since somebody changed the order; NULL: by when it was asked for, behind those.
ALTER TABLE run_state ADD COLUMN queue_place BIGINT;
