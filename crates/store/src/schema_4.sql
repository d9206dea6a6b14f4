-- Schema 4: targets without a server, several nodes, numbers of events, kinds of errors. docs/RESULTS.md describes every column.
-- A column cannot lose its NOT NULL, so the table is made anew, https://sqlite.org/lang_altertable.html#otheralter.
CREATE TABLE trial_4 (
    id          INTEGER PRIMARY KEY,        -- in the order they ended
    run         TEXT NOT NULL REFERENCES run (id),
    block       INTEGER NOT NULL,
    server      TEXT,                       -- NULL where the target is no server
    levels_json TEXT NOT NULL,
    state       TEXT NOT NULL,
    flags_json  TEXT NOT NULL,
    started_ns  INTEGER NOT NULL,
    ended_ns    INTEGER NOT NULL,
    start_s_json TEXT NOT NULL,
    data_bytes  INTEGER NOT NULL,
    plans_json  TEXT NOT NULL,
    dataset_json TEXT
) STRICT;
INSERT INTO trial_4 SELECT id, run, block, server, levels_json, state, flags_json, started_ns, ended_ns, start_s_json, data_bytes, plans_json, dataset_json FROM trial;
DROP TABLE trial;
ALTER TABLE trial_4 RENAME TO trial;
CREATE UNIQUE INDEX trial_key ON trial (run, block, ifnull(server, ''), levels_json);

ALTER TABLE setting RENAME TO setting_3;
CREATE TABLE setting (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    node  INTEGER NOT NULL,                 -- from 1
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (trial, name, node)         -- a name is looked up for all nodes
) STRICT, WITHOUT ROWID;
INSERT INTO setting SELECT trial, 1, name, value FROM setting_3;
DROP TABLE setting_3;

ALTER TABLE event ADD COLUMN node INTEGER;       -- from 1; NULL where it is of no single node
ALTER TABLE event ADD COLUMN numbers_json TEXT;  -- {"recovered_s": 1.25}; NULL where nothing was measured

ALTER TABLE error ADD COLUMN kind TEXT;          -- failed, lost, unknown, retried; NULL in rows of an older schema
ALTER TABLE error ADD COLUMN operation TEXT;     -- NULL in rows of an older schema
