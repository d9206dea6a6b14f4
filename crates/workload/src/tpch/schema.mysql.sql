-- TPC-H's eight tables for MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8.
-- Types: those of the specification (clause 1.3.1, 1.4.1); an identifier is an INT, a decimal a DECIMAL(15,2). Text is of one byte
-- a character, so that a row is as large on a server whose default is utf8mb4 as on 5.5.
-- Keys: the primary keys (clause 1.4.2.2), and on each foreign key (clause 1.4.2.3) that no primary key begins with an index. The
-- one on o_orderdate, a date, which clause 1.5.4 allows too, is what the published result P6 reads Q10 by.
-- The last index of lineitem is P6's own; it is there with extra_index = true alone.
-- No FOREIGN KEY constraints: MyISAM has none, and they would be checked for each row of a load.
-- {engine} is replaced by the storage engine.

CREATE TABLE region (
    r_regionkey INT          NOT NULL,
    r_name      CHAR(25)     NOT NULL,
    r_comment   VARCHAR(152) NOT NULL,
    PRIMARY KEY (r_regionkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE nation (
    n_nationkey INT          NOT NULL,
    n_name      CHAR(25)     NOT NULL,
    n_regionkey INT          NOT NULL,
    n_comment   VARCHAR(152) NOT NULL,
    PRIMARY KEY (n_nationkey),
    KEY n_regionkey (n_regionkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE supplier (
    s_suppkey   INT           NOT NULL,
    s_name      CHAR(25)      NOT NULL,
    s_address   VARCHAR(40)   NOT NULL,
    s_nationkey INT           NOT NULL,
    s_phone     CHAR(15)      NOT NULL,
    s_acctbal   DECIMAL(15,2) NOT NULL,
    s_comment   VARCHAR(101)  NOT NULL,
    PRIMARY KEY (s_suppkey),
    KEY s_nationkey (s_nationkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE part (
    p_partkey     INT           NOT NULL,
    p_name        VARCHAR(55)   NOT NULL,
    p_mfgr        CHAR(25)      NOT NULL,
    p_brand       CHAR(10)      NOT NULL,
    p_type        VARCHAR(25)   NOT NULL,
    p_size        INT           NOT NULL,
    p_container   CHAR(10)      NOT NULL,
    p_retailprice DECIMAL(15,2) NOT NULL,
    p_comment     VARCHAR(23)   NOT NULL,
    PRIMARY KEY (p_partkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE customer (
    c_custkey    INT           NOT NULL,
    c_name       VARCHAR(25)   NOT NULL,
    c_address    VARCHAR(40)   NOT NULL,
    c_nationkey  INT           NOT NULL,
    c_phone      CHAR(15)      NOT NULL,
    c_acctbal    DECIMAL(15,2) NOT NULL,
    c_mktsegment CHAR(10)      NOT NULL,
    c_comment    VARCHAR(117)  NOT NULL,
    PRIMARY KEY (c_custkey),
    KEY c_nationkey (c_nationkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE partsupp (
    ps_partkey    INT           NOT NULL,
    ps_suppkey    INT           NOT NULL,
    ps_availqty   INT           NOT NULL,
    ps_supplycost DECIMAL(15,2) NOT NULL,
    ps_comment    VARCHAR(199)  NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey),
    KEY ps_suppkey (ps_suppkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE orders (
    o_orderkey      INT           NOT NULL,
    o_custkey       INT           NOT NULL,
    o_orderstatus   CHAR(1)       NOT NULL,
    o_totalprice    DECIMAL(15,2) NOT NULL,
    o_orderdate     DATE          NOT NULL,
    o_orderpriority CHAR(15)      NOT NULL,
    o_clerk         CHAR(15)      NOT NULL,
    o_shippriority  INT           NOT NULL,
    o_comment       VARCHAR(79)   NOT NULL,
    PRIMARY KEY (o_orderkey),
    KEY o_custkey (o_custkey),
    KEY o_orderdate (o_orderdate)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE lineitem (
    l_orderkey      INT           NOT NULL,
    l_partkey       INT           NOT NULL,
    l_suppkey       INT           NOT NULL,
    l_linenumber    INT           NOT NULL,
    l_quantity      DECIMAL(15,2) NOT NULL,
    l_extendedprice DECIMAL(15,2) NOT NULL,
    l_discount      DECIMAL(15,2) NOT NULL,
    l_tax           DECIMAL(15,2) NOT NULL,
    l_returnflag    CHAR(1)       NOT NULL,
    l_linestatus    CHAR(1)       NOT NULL,
    l_shipdate      DATE          NOT NULL,
    l_commitdate    DATE          NOT NULL,
    l_receiptdate   DATE          NOT NULL,
    l_shipinstruct  CHAR(25)      NOT NULL,
    l_shipmode      CHAR(10)      NOT NULL,
    l_comment       VARCHAR(44)   NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber),
    KEY l_partkey_suppkey (l_partkey, l_suppkey),
    KEY l_suppkey (l_suppkey),
    KEY l_partkey_quantity (l_partkey, l_quantity, l_shipmode, l_shipinstruct)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;
