-- The Star Schema Benchmark's five tables for MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8.
-- Keys: the paper's primary keys (O'Neil, O'Neil, Chen: Star Schema Benchmark, revision 3, 2009), and on the fact table
-- an index on each of the four foreign keys that a query joins by, as in the scripts behind the published results P1 and
-- P2. LO_COMMITDATE is a foreign key in the paper too, but no query uses it and those scripts do not index it.
-- No FOREIGN KEY constraints: MyISAM has none, and the published tables had none.
-- Types: integers, signed, since LO_REVENUE - LO_SUPPLYCOST may be negative; text as long as the paper says, of one
-- byte a character, so that a row is as large on a server whose default is utf8mb4 as on 5.5.
-- {engine} is replaced by the storage engine.

CREATE TABLE date (
    d_datekey          INT         NOT NULL,
    d_date             VARCHAR(18) NOT NULL,
    d_dayofweek        VARCHAR(9)  NOT NULL,
    d_month            VARCHAR(9)  NOT NULL,
    d_year             SMALLINT    NOT NULL,
    d_yearmonthnum     INT         NOT NULL,
    d_yearmonth        CHAR(7)     NOT NULL,
    d_daynuminweek     TINYINT     NOT NULL,
    d_daynuminmonth    TINYINT     NOT NULL,
    d_daynuminyear     SMALLINT    NOT NULL,
    d_monthnuminyear   TINYINT     NOT NULL,
    d_weeknuminyear    TINYINT     NOT NULL,
    d_sellingseason    VARCHAR(12) NOT NULL,
    d_lastdayinweekfl  TINYINT     NOT NULL,
    d_lastdayinmonthfl TINYINT     NOT NULL,
    d_holidayfl        TINYINT     NOT NULL,
    d_weekdayfl        TINYINT     NOT NULL,
    PRIMARY KEY (d_datekey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE supplier (
    s_suppkey INT         NOT NULL,
    s_name    CHAR(25)    NOT NULL,
    s_address VARCHAR(25) NOT NULL,
    s_city    CHAR(10)    NOT NULL,
    s_nation  CHAR(15)    NOT NULL,
    s_region  CHAR(12)    NOT NULL,
    s_phone   CHAR(15)    NOT NULL,
    PRIMARY KEY (s_suppkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE customer (
    c_custkey    INT         NOT NULL,
    c_name       VARCHAR(25) NOT NULL,
    c_address    VARCHAR(25) NOT NULL,
    c_city       CHAR(10)    NOT NULL,
    c_nation     CHAR(15)    NOT NULL,
    c_region     CHAR(12)    NOT NULL,
    c_phone      CHAR(15)    NOT NULL,
    c_mktsegment CHAR(10)    NOT NULL,
    PRIMARY KEY (c_custkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE part (
    p_partkey   INT         NOT NULL,
    p_name      VARCHAR(22) NOT NULL,
    p_mfgr      CHAR(6)     NOT NULL,
    p_category  CHAR(7)     NOT NULL,
    p_brand1    CHAR(9)     NOT NULL,
    p_color     VARCHAR(11) NOT NULL,
    p_type      VARCHAR(25) NOT NULL,
    p_size      TINYINT     NOT NULL,
    p_container CHAR(10)    NOT NULL,
    PRIMARY KEY (p_partkey)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE lineorder (
    lo_orderkey      INT      NOT NULL,
    lo_linenumber    TINYINT  NOT NULL,
    lo_custkey       INT      NOT NULL,
    lo_partkey       INT      NOT NULL,
    lo_suppkey       INT      NOT NULL,
    lo_orderdate     INT      NOT NULL,
    lo_orderpriority CHAR(15) NOT NULL,
    lo_shippriority  CHAR(1)  NOT NULL,
    lo_quantity      TINYINT  NOT NULL,
    lo_extendedprice INT      NOT NULL,
    lo_ordtotalprice INT      NOT NULL,
    lo_discount      TINYINT  NOT NULL,
    lo_revenue       INT      NOT NULL,
    lo_supplycost    INT      NOT NULL,
    lo_tax           TINYINT  NOT NULL,
    lo_commitdate    INT      NOT NULL,
    lo_shipmode      CHAR(10) NOT NULL,
    PRIMARY KEY (lo_orderkey, lo_linenumber),
    KEY lo_custkey (lo_custkey),
    KEY lo_partkey (lo_partkey),
    KEY lo_suppkey (lo_suppkey),
    KEY lo_orderdate (lo_orderdate)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;
