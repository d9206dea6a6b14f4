-- What schema 3 adds for storage engines and for rounds of several clients. docs/RESULTS.md describes every column.
ALTER TABLE trial ADD COLUMN dataset_json TEXT;
ALTER TABLE query ADD COLUMN client INTEGER NOT NULL DEFAULT 1;
