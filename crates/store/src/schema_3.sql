-- Schema 3: plans in several forms, limits, datasets, clients. docs/RESULTS.md describes every column.
ALTER TABLE trial ADD COLUMN dataset_json TEXT;
ALTER TABLE query ADD COLUMN client INTEGER NOT NULL DEFAULT 1;

-- Limits of a trial's server, as requested and as measured before its start.
CREATE TABLE trial_limit (
    trial    INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n        INTEGER NOT NULL,             -- its position among the trial's limits, from 0
    name     TEXT NOT NULL,                -- read_iops, write_iops, read_bandwidth, write_bandwidth, memory, cpus
    asked    REAL NOT NULL,                -- requests/s, bytes/s, bytes, CPUs
    measured REAL NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

ALTER TABLE plan ADD COLUMN steps_json TEXT; -- [{"table": ..., "access": ...}]; NULL if the text has no steps

CREATE TABLE plan_form (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n     INTEGER NOT NULL,                 -- in the order of first appearance, from 0
    query TEXT NOT NULL,
    plan  TEXT NOT NULL,                    -- a hash in plan
    kind  TEXT NOT NULL,                    -- json, analyze
    text  TEXT NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;
