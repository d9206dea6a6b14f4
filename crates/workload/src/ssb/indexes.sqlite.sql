CREATE INDEX lo_custkey ON lineorder (lo_custkey);
CREATE INDEX lo_partkey ON lineorder (lo_partkey);
CREATE INDEX lo_suppkey ON lineorder (lo_suppkey);
CREATE INDEX lo_orderdate ON lineorder (lo_orderdate);
