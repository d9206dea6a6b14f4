-- The tables of a small web shop: 2,000 customers and 200,000 orders, about 30 MB in InnoDB.
--
-- It stands for a dump of your own database. It is written by hand, and makes its rows from ten digits, so that the file stays
-- small and every server of the family accepts it. A dump of mysqldump or mariadb-dump may have any size.

CREATE TABLE digits (d INT NOT NULL PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);

CREATE TABLE customers (
  id     INT NOT NULL PRIMARY KEY,
  name   VARCHAR(40) NOT NULL,
  region VARCHAR(10) NOT NULL,
  KEY (region)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

INSERT INTO customers
SELECT n, CONCAT('customer ', n), ELT(1 + n % 5, 'north', 'south', 'east', 'west', 'abroad')
FROM (
  SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n
  FROM digits a, digits b, digits c, digits e
  WHERE e.d < 2
) numbers;

CREATE TABLE orders (
  id       INT NOT NULL PRIMARY KEY,
  customer INT NOT NULL,
  placed   DATE NOT NULL,
  price    DECIMAL(10, 2) NOT NULL,
  comment  VARCHAR(100) NOT NULL,
  KEY (customer),
  KEY (placed)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- 7919 is a prime: the orders of a customer, and those of a day, are scattered over the table.
INSERT INTO orders
SELECT n, n * 7919 % 2000, DATE_ADD('2025-01-01', INTERVAL n * 7919 % 365 DAY), n * 31 % 10000 / 100, LPAD(n, 80, '.')
FROM (
  SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS n
  FROM digits a, digits b, digits c, digits e, digits f, digits g
  WHERE g.d < 2
) numbers;

DROP TABLE digits;
