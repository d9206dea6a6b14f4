-- Schema 2 adds timed loads to schema 1. docs/RESULTS.md describes every column.
ALTER TABLE event ADD COLUMN ended_ns INTEGER;

CREATE TABLE load (
    trial      INTEGER PRIMARY KEY REFERENCES trial (id) ON DELETE CASCADE,
    mode_json  TEXT NOT NULL,               -- {"closed": {...}} or {"open": {...}}
    warmup_json TEXT NOT NULL,              -- {"seconds": 10.0} or "find"
    started_ns INTEGER NOT NULL,
    elapsed_s  REAL NOT NULL,
    operations_json TEXT NOT NULL,
    engine_json TEXT NOT NULL,
    open_json  TEXT,
    names      INTEGER REFERENCES counter_names (id),
    moved_json TEXT,
    rules      INTEGER NOT NULL,            -- version of the rules that computed the summary
    summary_json TEXT NOT NULL              -- computed from the tables below, recomputed if the rules changed
) STRICT;

CREATE TABLE series (
    trial  INTEGER NOT NULL REFERENCES load (trial) ON DELETE CASCADE,
    node   INTEGER NOT NULL,                -- from 1
    name   TEXT NOT NULL,
    packed BLOB NOT NULL,                   -- one value per second
    PRIMARY KEY (trial, node, name)
) STRICT;

CREATE TABLE histogram (
    id        INTEGER PRIMARY KEY,
    trial     INTEGER NOT NULL REFERENCES load (trial) ON DELETE CASCADE,
    operation TEXT,                         -- NULL: all operations together
    kind      TEXT NOT NULL,                -- response, wait, service, failed
    every_s   INTEGER NOT NULL,
    start_s   INTEGER NOT NULL,
    v2        BLOB NOT NULL                 -- HdrHistogram, V2 deflate, nanoseconds
) STRICT;
CREATE INDEX histogram_trial ON histogram (trial);

CREATE TABLE error (
    trial  INTEGER NOT NULL REFERENCES load (trial) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    second INTEGER NOT NULL,
    code   INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

-- The trial in progress, or interrupted when prony was killed. It has no row in trial yet.
CREATE TABLE live (
    second INTEGER PRIMARY KEY,
    key_json TEXT NOT NULL,
    packed BLOB NOT NULL                    -- deflated JSON
) STRICT;
