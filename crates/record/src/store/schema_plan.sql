-- What schema 3 adds to schema 2 about plans. docs/RESULTS.md describes every column.
ALTER TABLE plan ADD COLUMN steps_json TEXT; -- [{"table": ..., "access": ...}]; NULL where the text is no table of EXPLAIN

CREATE TABLE plan_form (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n     INTEGER NOT NULL,                 -- in the order of sight, from 0
    query TEXT NOT NULL,
    plan  TEXT NOT NULL,                    -- a hash in plan
    kind  TEXT NOT NULL,                    -- json, analyze
    text  TEXT NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;
