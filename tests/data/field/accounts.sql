-- A dump of a whole application: accounts, a folder of another machine, and the tables.
CREATE DATABASE shopdb;
USE shopdb;
CREATE USER 'app'@'localhost' IDENTIFIED BY 'secret';
GRANT ALL PRIVILEGES ON shopdb.* TO 'app'@'localhost';
SET PASSWORD FOR 'app'@'localhost' = 'other';
CREATE TABLE t (a INT) ENGINE=InnoDB DATA DIRECTORY='/no/such/disk';
INSERT INTO t VALUES (1), (2), (3);
DROP USER 'app'@'localhost';
