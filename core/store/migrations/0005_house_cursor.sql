-- How far the rows stand in house.jsonl: changed in the same transaction as the rows, so that after any stop the two can be compared.
CREATE TABLE house_cursor (seq BIGINT NOT NULL, sha VARCHAR NOT NULL);
INSERT INTO house_cursor VALUES (0, '');
