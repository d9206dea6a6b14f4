-- One file holds one run. docs/RESULTS.md describes every column; *_json columns are read with json_each and ->>.
CREATE TABLE run (
    id              TEXT PRIMARY KEY,
    experiment_toml TEXT NOT NULL,
    overrides_json  TEXT NOT NULL,
    question_json   TEXT NOT NULL,
    seed            TEXT NOT NULL,          -- 64 bits unsigned, which do not fit into INTEGER
    shard           TEXT,
    started_ns      INTEGER NOT NULL,
    environment_json TEXT NOT NULL
) STRICT;

CREATE TABLE trial (
    id          INTEGER PRIMARY KEY,        -- in the order of completion
    run         TEXT NOT NULL REFERENCES run (id),
    block       INTEGER NOT NULL,
    server      TEXT NOT NULL,
    levels_json TEXT NOT NULL,              -- {"variant": "small pool"}
    state       TEXT NOT NULL,              -- done, invalid, failed
    flags_json  TEXT NOT NULL,              -- [{"kind": ..., "text": ...}]
    started_ns  INTEGER NOT NULL,
    ended_ns    INTEGER NOT NULL,
    start_s_json TEXT NOT NULL,
    data_bytes  INTEGER NOT NULL,
    plans_json  TEXT NOT NULL,              -- hashes of all plans seen
    UNIQUE (run, block, server, levels_json)
) STRICT;

-- Names of the counters of a server. Most trials share a few such lists.
CREATE TABLE counter_names (
    id         INTEGER PRIMARY KEY,
    names_json TEXT NOT NULL
) STRICT;

CREATE TABLE round (
    id         INTEGER PRIMARY KEY,
    trial      INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,            -- its position in the trial, from 0
    name       TEXT NOT NULL,
    idx        INTEGER NOT NULL,            -- within its name, from 1
    started_ns INTEGER NOT NULL,
    ended_ns   INTEGER NOT NULL,
    elapsed_s  REAL NOT NULL,
    proof_json TEXT,
    names      INTEGER REFERENCES counter_names (id),
    moved_json TEXT,                        -- {"Rows_read": 5}; a listed name that is missing here is 0
    UNIQUE (trial, n)
) STRICT;

CREATE TABLE query (
    round        INTEGER NOT NULL REFERENCES round (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL,          -- its position in the round, from 0
    name         TEXT NOT NULL,
    elapsed_ns   INTEGER NOT NULL,
    rows         INTEGER NOT NULL,
    answer       TEXT NOT NULL,             -- ok, wrong, unchecked
    answer_hash  TEXT NOT NULL,
    plan         TEXT,                      -- a hash in plan
    profile_json TEXT,                      -- [["executing", 0.5], ...], seconds
    error        TEXT,
    PRIMARY KEY (round, n)
) STRICT, WITHOUT ROWID;

-- Separate from query, so that reading all times does not read all counters.
CREATE TABLE query_counter (
    round      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    names      INTEGER NOT NULL REFERENCES counter_names (id),
    moved_json TEXT NOT NULL,
    PRIMARY KEY (round, n),
    FOREIGN KEY (round, n) REFERENCES query (round, n) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE plan (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n     INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    text  TEXT NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;
