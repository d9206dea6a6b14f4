-- One of the tables that sysbench's OLTP tests use, for MySQL 5.5 to 9.7 and MariaDB: the same columns, types and keys.
-- The text is of one byte a character, so that a row is as large on a server whose default is utf8mb4 as on 5.5.
-- {n} is replaced by the table's number, {engine} by the storage engine.

CREATE TABLE sbtest{n} (
    id  INT       NOT NULL AUTO_INCREMENT,
    k   INT       NOT NULL DEFAULT 0,
    c   CHAR(120) NOT NULL DEFAULT '',
    pad CHAR(60)  NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY k_{n} (k)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;
