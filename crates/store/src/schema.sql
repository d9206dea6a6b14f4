-- One file holds one run. docs/RESULTS.md describes every column; *_json columns are read with json_each and ->>.
CREATE TABLE run (
    id              TEXT PRIMARY KEY,
    experiment_toml TEXT NOT NULL,
    overrides_json  TEXT NOT NULL,
    question_json   TEXT NOT NULL,
    seed            TEXT NOT NULL,          -- 64 bits unsigned, which do not fit into INTEGER
    shard           TEXT,
    started_ns      INTEGER NOT NULL,
    environment_json TEXT NOT NULL,
    sharing_json    TEXT                    -- {"shard": {...}} or {"merged": [...]}; NULL for a run with the whole load
) STRICT;

CREATE TABLE trial (
    id          INTEGER PRIMARY KEY,        -- in the order of completion
    run         TEXT NOT NULL REFERENCES run (id),
    block       INTEGER NOT NULL,
    server      TEXT,                       -- NULL where the target is no server
    levels_json TEXT NOT NULL,              -- {"variant": "small pool"}
    state       TEXT NOT NULL,              -- done, invalid, failed
    flags_json  TEXT NOT NULL,              -- [{"kind": ..., "text": ...}]
    started_ns  INTEGER NOT NULL,
    ended_ns    INTEGER NOT NULL,
    start_s_json TEXT NOT NULL,
    data_bytes  INTEGER NOT NULL,
    plans_json  TEXT NOT NULL,              -- hashes of all plans seen
    dataset_json TEXT,
    role        TEXT NOT NULL               -- measured, control
) STRICT;
CREATE UNIQUE INDEX trial_key ON trial (run, block, ifnull(server, ''), levels_json, role);

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
    client       INTEGER NOT NULL,          -- from 1
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
    text TEXT NOT NULL,
    steps_json TEXT                         -- [{"table": ..., "access": ...}]; NULL if the text has no steps
) STRICT, WITHOUT ROWID;

CREATE TABLE plan_form (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n     INTEGER NOT NULL,                 -- in the order of first appearance, from 0
    query TEXT NOT NULL,
    plan  TEXT NOT NULL,                    -- a hash in plan
    kind  TEXT NOT NULL,                    -- json, analyze
    text  TEXT NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n     INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    text  TEXT NOT NULL,
    ended_ns INTEGER,
    node  INTEGER,                          -- from 1; NULL where it is of no single node
    numbers_json TEXT,                      -- {"recovered_s": 1.25}; NULL where nothing was measured
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

-- Limits of a trial's server, as requested and as measured before its start.
CREATE TABLE trial_limit (
    trial    INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    n        INTEGER NOT NULL,             -- its position among the trial's limits, from 0
    name     TEXT NOT NULL,                -- read_iops, write_iops, read_bandwidth, write_bandwidth, memory, cpus
    asked    REAL NOT NULL,                -- requests/s, bytes/s, bytes, CPUs
    measured REAL NOT NULL,
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    node  INTEGER NOT NULL,                 -- from 1
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (trial, name, node)         -- a name is looked up for all nodes
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    trial            INTEGER PRIMARY KEY REFERENCES trial (id) ON DELETE CASCADE,
    acknowledged     INTEGER NOT NULL,      -- writing transactions, as all counts here
    refused          INTEGER NOT NULL,
    unknown          INTEGER NOT NULL,
    unknown_kept     INTEGER NOT NULL,
    lost             INTEGER NOT NULL,
    ghosts           INTEGER NOT NULL,
    partly_applied   INTEGER NOT NULL,
    seen_but_lost    INTEGER NOT NULL,
    loss_window_s    REAL,                  -- NULL where nothing was lost
    findings_json    TEXT NOT NULL,
    violations_json  TEXT NOT NULL,
    inputs_json      TEXT NOT NULL,         -- [{"name", "observed", "low", "high", "samples"}]
    inputs_unchecked TEXT
) STRICT;

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
    kind   TEXT,                            -- failed, lost, unknown, retried; NULL in rows of an older prony
    operation TEXT,                         -- NULL in rows of an older prony
    PRIMARY KEY (trial, n)
) STRICT, WITHOUT ROWID;

-- The trial in progress, or interrupted when prony was killed. It has no row in trial yet.
CREATE TABLE live (
    second INTEGER PRIMARY KEY,
    key_json TEXT NOT NULL,
    packed BLOB NOT NULL                    -- deflated JSON
) STRICT;
