-- Q3, Q10 and Q19 in the forms of the published result P6: the access that the optimizer feature works on is forced, since the
-- optimizer may take another one. The hints alone are added: the answers are those of the validation parameters.
-- Q3 reaches orders by the customer: batched key access gathers these lookups. Q10 reads a quarter's orders in the order of an index:
-- multi-range read sorts them. Q19 has all that it asks of lineitem but the price in an index: index condition pushdown checks it there.

-- Q3
SELECT l_orderkey,
       SUM(l_extendedprice * (1 - l_discount)) AS revenue,
       o_orderdate,
       o_shippriority
FROM customer, orders FORCE INDEX (o_custkey), lineitem
WHERE c_mktsegment = 'BUILDING'
  AND c_custkey = o_custkey
  AND l_orderkey = o_orderkey
  AND o_orderdate < DATE '1995-03-15'
  AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate
LIMIT 10;

-- Q10
SELECT c_custkey,
       c_name,
       SUM(l_extendedprice * (1 - l_discount)) AS revenue,
       c_acctbal,
       n_name,
       c_address,
       c_phone,
       c_comment
FROM customer, orders FORCE INDEX (o_orderdate), lineitem, nation
WHERE c_custkey = o_custkey
  AND l_orderkey = o_orderkey
  AND o_orderdate >= DATE '1993-10-01'
  AND o_orderdate < DATE '1993-10-01' + INTERVAL 3 MONTH
  AND l_returnflag = 'R'
  AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC
LIMIT 20;

-- Q19
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem FORCE INDEX (l_partkey_quantity), part
WHERE (p_partkey = l_partkey
   AND p_brand = 'Brand#12'
   AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
   AND l_quantity >= 1 AND l_quantity <= 1 + 10
   AND p_size BETWEEN 1 AND 5
   AND l_shipmode IN ('AIR', 'AIR REG')
   AND l_shipinstruct = 'DELIVER IN PERSON')
   OR (p_partkey = l_partkey
   AND p_brand = 'Brand#23'
   AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
   AND l_quantity >= 10 AND l_quantity <= 10 + 10
   AND p_size BETWEEN 1 AND 10
   AND l_shipmode IN ('AIR', 'AIR REG')
   AND l_shipinstruct = 'DELIVER IN PERSON')
   OR (p_partkey = l_partkey
   AND p_brand = 'Brand#34'
   AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
   AND l_quantity >= 20 AND l_quantity <= 20 + 10
   AND p_size BETWEEN 1 AND 15
   AND l_shipmode IN ('AIR', 'AIR REG')
   AND l_shipinstruct = 'DELIVER IN PERSON');
