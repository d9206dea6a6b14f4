-- The nine tables of TPC-C for MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8, with the standard's names (1.3).
-- Keys: the primary keys, and the two secondary indexes that finding a customer by last name and the last order of a
-- customer need. history has no key, as in the standard. No FOREIGN KEY constraints: no published run had them.
-- Types: identifiers are signed integers, as small as the largest scale allows; amounts are exact decimals; texts have one
-- byte a character, so that a row is as large on a server whose default is utf8mb4 as on 5.5.
-- NULL is allowed in o_carrier_id and ol_delivery_d only.
-- {engine} is replaced by the storage engine.

CREATE TABLE item (
    i_id    INT           NOT NULL,
    i_im_id INT           NOT NULL,
    i_name  VARCHAR(24)   NOT NULL,
    i_price DECIMAL(5, 2) NOT NULL,
    i_data  VARCHAR(50)   NOT NULL,
    PRIMARY KEY (i_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE warehouse (
    w_id       SMALLINT       NOT NULL,
    w_name     VARCHAR(10)    NOT NULL,
    w_street_1 VARCHAR(20)    NOT NULL,
    w_street_2 VARCHAR(20)    NOT NULL,
    w_city     VARCHAR(20)    NOT NULL,
    w_state    CHAR(2)        NOT NULL,
    w_zip      CHAR(9)        NOT NULL,
    w_tax      DECIMAL(4, 4)  NOT NULL,
    w_ytd      DECIMAL(12, 2) NOT NULL,
    PRIMARY KEY (w_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE district (
    d_id        TINYINT        NOT NULL,
    d_w_id      SMALLINT       NOT NULL,
    d_name      VARCHAR(10)    NOT NULL,
    d_street_1  VARCHAR(20)    NOT NULL,
    d_street_2  VARCHAR(20)    NOT NULL,
    d_city      VARCHAR(20)    NOT NULL,
    d_state     CHAR(2)        NOT NULL,
    d_zip       CHAR(9)        NOT NULL,
    d_tax       DECIMAL(4, 4)  NOT NULL,
    d_ytd       DECIMAL(12, 2) NOT NULL,
    d_next_o_id INT            NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE customer (
    c_id           INT            NOT NULL,
    c_d_id         TINYINT        NOT NULL,
    c_w_id         SMALLINT       NOT NULL,
    c_first        VARCHAR(16)    NOT NULL,
    c_middle       CHAR(2)        NOT NULL,
    c_last         VARCHAR(16)    NOT NULL,
    c_street_1     VARCHAR(20)    NOT NULL,
    c_street_2     VARCHAR(20)    NOT NULL,
    c_city         VARCHAR(20)    NOT NULL,
    c_state        CHAR(2)        NOT NULL,
    c_zip          CHAR(9)        NOT NULL,
    c_phone        CHAR(16)       NOT NULL,
    c_since        DATETIME       NOT NULL,
    c_credit       CHAR(2)        NOT NULL,
    c_credit_lim   DECIMAL(12, 2) NOT NULL,
    c_discount     DECIMAL(4, 4)  NOT NULL,
    c_balance      DECIMAL(12, 2) NOT NULL,
    c_ytd_payment  DECIMAL(12, 2) NOT NULL,
    c_payment_cnt  INT            NOT NULL,
    c_delivery_cnt INT            NOT NULL,
    c_data         VARCHAR(500)   NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id),
    KEY customer_by_name (c_w_id, c_d_id, c_last, c_first)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE history (
    h_c_id   INT           NOT NULL,
    h_c_d_id TINYINT       NOT NULL,
    h_c_w_id SMALLINT      NOT NULL,
    h_d_id   TINYINT       NOT NULL,
    h_w_id   SMALLINT      NOT NULL,
    h_date   DATETIME      NOT NULL,
    h_amount DECIMAL(6, 2) NOT NULL,
    h_data   VARCHAR(24)   NOT NULL
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE new_order (
    no_o_id INT      NOT NULL,
    no_d_id TINYINT  NOT NULL,
    no_w_id SMALLINT NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE orders (
    o_id         INT      NOT NULL,
    o_d_id       TINYINT  NOT NULL,
    o_w_id       SMALLINT NOT NULL,
    o_c_id       INT      NOT NULL,
    o_entry_d    DATETIME NOT NULL,
    o_carrier_id TINYINT,
    o_ol_cnt     TINYINT  NOT NULL,
    o_all_local  TINYINT  NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id),
    KEY orders_by_customer (o_w_id, o_d_id, o_c_id, o_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE order_line (
    ol_o_id        INT           NOT NULL,
    ol_d_id        TINYINT       NOT NULL,
    ol_w_id        SMALLINT      NOT NULL,
    ol_number      TINYINT       NOT NULL,
    ol_i_id        INT           NOT NULL,
    ol_supply_w_id SMALLINT      NOT NULL,
    ol_delivery_d  DATETIME,
    ol_quantity    TINYINT       NOT NULL,
    ol_amount      DECIMAL(6, 2) NOT NULL,
    ol_dist_info   CHAR(24)      NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;

CREATE TABLE stock (
    s_i_id       INT         NOT NULL,
    s_w_id       SMALLINT    NOT NULL,
    s_quantity   SMALLINT    NOT NULL,
    s_dist_01    CHAR(24)    NOT NULL,
    s_dist_02    CHAR(24)    NOT NULL,
    s_dist_03    CHAR(24)    NOT NULL,
    s_dist_04    CHAR(24)    NOT NULL,
    s_dist_05    CHAR(24)    NOT NULL,
    s_dist_06    CHAR(24)    NOT NULL,
    s_dist_07    CHAR(24)    NOT NULL,
    s_dist_08    CHAR(24)    NOT NULL,
    s_dist_09    CHAR(24)    NOT NULL,
    s_dist_10    CHAR(24)    NOT NULL,
    s_ytd        INT         NOT NULL,
    s_order_cnt  INT         NOT NULL,
    s_remote_cnt INT         NOT NULL,
    s_data       VARCHAR(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
) ENGINE={engine} DEFAULT CHARACTER SET latin1 COLLATE latin1_swedish_ci;
