-- Schema 5: audits. docs/RESULTS.md describes every column.
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
