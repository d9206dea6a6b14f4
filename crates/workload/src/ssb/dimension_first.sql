-- The 13 queries with a forced join order: one dimension first, then the fact table through the index on that dimension's foreign
-- key, then the other dimensions by primary key. This is the order that MySQL 5.5.34 chooses at scale 1 after ANALYZE (EXPLAIN of the
-- ANSI form), so another server can run the plan of 5.5:
--   flight 1: date, lineorder (lo_orderdate)
--   flight 2: supplier, lineorder (lo_suppkey), part, date
--   flight 3: supplier, lineorder (lo_suppkey), customer, date
--   flight 4: supplier, lineorder (lo_suppkey), customer, part, date
-- STRAIGHT_JOIN fixes the order, FORCE INDEX the access path. For SQLite, STRAIGHT_JOIN becomes CROSS JOIN, which keeps the order.

-- Q1.1
SELECT SUM(lo_extendedprice * lo_discount) AS revenue
FROM date
STRAIGHT_JOIN lineorder FORCE INDEX (lo_orderdate) ON lo_orderdate = d_datekey
WHERE d_year = 1993
  AND lo_discount BETWEEN 1 AND 3
  AND lo_quantity < 25;

-- Q1.2
SELECT SUM(lo_extendedprice * lo_discount) AS revenue
FROM date
STRAIGHT_JOIN lineorder FORCE INDEX (lo_orderdate) ON lo_orderdate = d_datekey
WHERE d_yearmonthnum = 199401
  AND lo_discount BETWEEN 4 AND 6
  AND lo_quantity BETWEEN 26 AND 35;

-- Q1.3
SELECT SUM(lo_extendedprice * lo_discount) AS revenue
FROM date
STRAIGHT_JOIN lineorder FORCE INDEX (lo_orderdate) ON lo_orderdate = d_datekey
WHERE d_weeknuminyear = 6
  AND d_year = 1994
  AND lo_discount BETWEEN 5 AND 7
  AND lo_quantity BETWEEN 26 AND 35;

-- Q2.1
SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE p_category = 'MFGR#12'
  AND s_region = 'AMERICA'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;

-- Q2.2
SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228'
  AND s_region = 'ASIA'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;

-- Q2.3
SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE p_brand1 = 'MFGR#2221'
  AND s_region = 'EUROPE'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;

-- Q3.1
SELECT c_nation, s_nation, d_year, SUM(lo_revenue) AS revenue
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE c_region = 'ASIA'
  AND s_region = 'ASIA'
  AND d_year >= 1992 AND d_year <= 1997
GROUP BY c_nation, s_nation, d_year
ORDER BY d_year ASC, revenue DESC;

-- Q3.2
SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE c_nation = 'UNITED STATES'
  AND s_nation = 'UNITED STATES'
  AND d_year >= 1992 AND d_year <= 1997
GROUP BY c_city, s_city, d_year
ORDER BY d_year ASC, revenue DESC;

-- Q3.3
SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE (c_city = 'UNITED KI1' OR c_city = 'UNITED KI5')
  AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')
  AND d_year >= 1992 AND d_year <= 1997
GROUP BY c_city, s_city, d_year
ORDER BY d_year ASC, revenue DESC;

-- Q3.4
SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE (c_city = 'UNITED KI1' OR c_city = 'UNITED KI5')
  AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')
  AND d_yearmonth = 'Dec1997'
GROUP BY c_city, s_city, d_year
ORDER BY d_year ASC, revenue DESC;

-- Q4.1
SELECT d_year, c_nation, SUM(lo_revenue - lo_supplycost) AS profit
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE c_region = 'AMERICA'
  AND s_region = 'AMERICA'
  AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')
GROUP BY d_year, c_nation
ORDER BY d_year, c_nation;

-- Q4.2
SELECT d_year, s_nation, p_category, SUM(lo_revenue - lo_supplycost) AS profit
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE c_region = 'AMERICA'
  AND s_region = 'AMERICA'
  AND (d_year = 1997 OR d_year = 1998)
  AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')
GROUP BY d_year, s_nation, p_category
ORDER BY d_year, s_nation, p_category;

-- Q4.3
SELECT d_year, s_city, p_brand1, SUM(lo_revenue - lo_supplycost) AS profit
FROM supplier
STRAIGHT_JOIN lineorder FORCE INDEX (lo_suppkey) ON lo_suppkey = s_suppkey
STRAIGHT_JOIN customer FORCE INDEX (PRIMARY) ON lo_custkey = c_custkey
STRAIGHT_JOIN part FORCE INDEX (PRIMARY) ON lo_partkey = p_partkey
STRAIGHT_JOIN date FORCE INDEX (PRIMARY) ON lo_orderdate = d_datekey
WHERE c_region = 'AMERICA'
  AND s_nation = 'UNITED STATES'
  AND (d_year = 1997 OR d_year = 1998)
  AND p_category = 'MFGR#14'
GROUP BY d_year, s_city, p_brand1
ORDER BY d_year, s_city, p_brand1;
