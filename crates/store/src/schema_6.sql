-- Schema 6: the role of a trial. docs/RESULTS.md describes every column.
ALTER TABLE trial ADD COLUMN role TEXT NOT NULL DEFAULT 'measured'; -- measured, control
DROP INDEX trial_key;
CREATE UNIQUE INDEX trial_key ON trial (run, block, ifnull(server, ''), levels_json, role);
