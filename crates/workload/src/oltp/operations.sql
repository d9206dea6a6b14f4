-- The statements of the operations, equivalent to those of sysbench 1.0.20's OLTP tests. {n} is a table number, drawn uniformly; :id is a
-- key from the distribution; :last is the last id of the range that starts at :id; :k, :c and :pad are values of a new row.

-- operation: point-select
SELECT c FROM sbtest{n} WHERE id = :id;

-- operation: range-simple
SELECT c FROM sbtest{n} WHERE id BETWEEN :id AND :last;

-- operation: range-sum
SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN :id AND :last;

-- operation: range-order
SELECT c FROM sbtest{n} WHERE id BETWEEN :id AND :last ORDER BY c;

-- operation: range-distinct
SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN :id AND :last ORDER BY c;

-- operation: update-index
UPDATE sbtest{n} SET k = k + 1 WHERE id = :id;

-- operation: update-non-index
UPDATE sbtest{n} SET c = :c WHERE id = :id;

-- operation: delete-insert
DELETE FROM sbtest{n} WHERE id = :id;
INSERT INTO sbtest{n} (id, k, c, pad) VALUES (:id, :k, :c, :pad);

-- operation: insert
INSERT INTO sbtest{n} (k, c, pad) VALUES (:k, :c, :pad);
