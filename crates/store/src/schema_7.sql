-- Schema 7: loads shared by several runs. docs/RESULTS.md describes every column.
ALTER TABLE run ADD COLUMN sharing_json TEXT; -- {"shard": {...}} or {"merged": [...]}; NULL for a run with the whole load
