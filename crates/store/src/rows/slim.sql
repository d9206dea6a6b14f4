-- What a slim record has besides schema.sql, in exactly one row. Its tables series, histogram and live are empty.
CREATE TABLE slim (
    prony_version TEXT NOT NULL,            -- of the prony that made it
    rules         INTEGER NOT NULL,         -- the version of the rules of every load.summary_json
    verdicts_json TEXT NOT NULL             -- the verdicts of the whole record, in the order of the claims
) STRICT;
