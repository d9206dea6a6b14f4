//! Settings whose effect on a server is known: what varies, on which load, and what explains it.

/// Two levels of one experiment, and the explanations that are right.
pub(crate) struct Case {
    pub name: &'static str,
    pub build: &'static str,
    /// Settings of both levels.
    pub settings: &'static str,
    /// The keys of the levels `slow` and `fast`.
    pub levels: [&'static str; 2],
    pub workload: &'static str,
    pub clients: u32,
    /// The counters and limits that show the mechanism.
    pub explained_by: &'static [&'static str],
    /// The beginning of the cause; empty if the counter says it all.
    pub because: &'static str,
}

const FSYNCS: &[&str] = &[
    "Innodb_data_fsyncs",
    "Innodb_os_log_fsyncs",
    "device flushes",
];
const READS: &[&str] = &[
    "Innodb_buffer_pool_reads",
    "Innodb_pages_read",
    "server read bytes",
    "device reads",
];
const WRITES: &[&str] = &[
    "Innodb_pages_written",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_dblwr_pages_written",
    "Innodb_data_fsyncs",
    "Innodb_os_log_fsyncs",
    "device flushes",
    "buffer_flush_sync_total_pages",
    "buffer_flush_adaptive_total_pages",
    "buffer_flush_neighbor_total_pages",
    "Innodb_buffer_pool_wait_free",
];
const LOOKUPS: &[&str] = &[
    "Innodb_buffer_pool_read_requests",
    "Handler_read_next",
    "Handler_read_rnd_next",
    "Handler_read_key",
    "Rows_read",
    "adaptive_hash_searches_btree",
    "Innodb_adaptive_hash_non_hash_searches",
];

const UPDATES: &str = "[workload.oltp]\noperations = \"update-non-index\"\nrows = 20000\n";
const LARGE_UPDATES: &str = "[workload.oltp]\noperations = \"update-index\"\nrows = 150000\n";
const LARGE_READS: &str = "[workload.oltp]\noperations = \"point-select\"\nrows = 200000\n";
const SMALL_READS: &str = "[workload.oltp]\noperations = \"read-only\"\nrows = 10000\n";

/// 100,000 rows with `b` beside `a` in an index, and one statement.
macro_rules! indexed {
    ($statement:literal) => {
        concat!(
            r#"[workload.sql]
setup = """
create table t (id int primary key, a int not null, b int not null, pad char(100) not null, key a (a, b));
insert into t select seq, seq % 1000, seq * 7919 % 977, repeat('x', 100) from seq_1_to_100000"""

[workload.sql.operation.read]
statements = ""#,
            $statement,
            r#""

[workload.sql.parameter]
b.uniform = [0, 9]
"#
        )
    };
}

const HOT_ROW: &str = r#"[workload.sql]
setup = "create table t (id int primary key, n int not null); insert into t select seq, 0 from seq_1_to_10000"

[workload.sql.operation.add]
statements = """
begin;
update t set n = n + 1 where id = :id;
do sleep(0.002);
commit"""

[workload.sql.parameter]
id.uniform = [1, 10000]
"#;

pub(crate) const CASES: [Case; 17] = [
    Case {
        name: "innodb_flush_log_at_trx_commit",
        build: "mariadb",
        settings: "",
        levels: [
            "settings = { innodb_flush_log_at_trx_commit = 1 }",
            "settings = { innodb_flush_log_at_trx_commit = 2 }",
        ],
        workload: UPDATES,
        clients: 4,
        explained_by: FSYNCS,
        because: "the redo log is flushed",
    },
    Case {
        name: "innodb_flush_log_at_trx_commit, MySQL 8.0",
        build: "mysql@8.0.33",
        settings: "skip_log_bin = true\n",
        levels: [
            "settings = { innodb_flush_log_at_trx_commit = 1 }",
            "settings = { innodb_flush_log_at_trx_commit = 2 }",
        ],
        workload: UPDATES,
        clients: 4,
        explained_by: FSYNCS,
        because: "the redo log is flushed",
    },
    Case {
        name: "innodb_buffer_pool_size",
        build: "mariadb",
        settings: "innodb_flush_method = \"O_DIRECT\"\n",
        levels: [
            "settings = { innodb_buffer_pool_size = \"data / 5\" }",
            "settings = { innodb_buffer_pool_size = \"data * 4\" }",
        ],
        workload: LARGE_READS,
        clients: 2,
        explained_by: READS,
        because: "more of the data fits",
    },
    Case {
        name: "limit read_iops",
        build: "mariadb",
        settings: "innodb_flush_method = \"O_DIRECT\"\ninnodb_buffer_pool_size = \"data / 5\"\n",
        levels: ["limits = { read_iops = 300 }", "settings = {}"],
        workload: LARGE_READS,
        clients: 2,
        explained_by: &["read_iops"],
        because: "",
    },
    Case {
        name: "limit cpus",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"data * 4\"\n",
        levels: ["limits = { cpus = 0.25 }", "settings = {}"],
        workload: SMALL_READS,
        clients: 2,
        explained_by: &["cpus"],
        because: "",
    },
    Case {
        name: "innodb_doublewrite",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"data / 5\"\ninnodb_flush_log_at_trx_commit = 0\n",
        levels: [
            "settings = { innodb_doublewrite = 1 }",
            "settings = { innodb_doublewrite = 0 }",
        ],
        workload: LARGE_UPDATES,
        clients: 4,
        explained_by: WRITES,
        because: "pages are not written to the doublewrite buffer",
    },
    Case {
        name: "innodb_flush_neighbors",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"data / 5\"\ninnodb_flush_log_at_trx_commit = 0\n",
        levels: [
            "settings = { innodb_flush_neighbors = 2 }",
            "settings = { innodb_flush_neighbors = 0 }",
        ],
        workload: LARGE_UPDATES,
        clients: 4,
        explained_by: WRITES,
        because: "a page is flushed with fewer of its neighbours",
    },
    Case {
        name: "sync_binlog",
        build: "mariadb",
        settings: "log_bin = \"binlog\"\ninnodb_flush_log_at_trx_commit = 2\n",
        levels: [
            "settings = { sync_binlog = 1 }",
            "settings = { sync_binlog = 0 }",
        ],
        workload: UPDATES,
        clients: 2,
        explained_by: FSYNCS,
        because: "the binary log is flushed",
    },
    Case {
        name: "query cache",
        build: "mariadb",
        settings: "",
        levels: [
            "settings = { query_cache_type = 0, query_cache_size = 0 }",
            "settings = { query_cache_type = 1, query_cache_size = \"16M\" }",
        ],
        workload: indexed!("select sum(length(pad)) from t where id <= 10000 and b <> :b"),
        clients: 2,
        explained_by: LOOKUPS,
        because: "the query cache answers",
    },
    Case {
        name: "index condition pushdown",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"256M\"\n",
        levels: [
            "session = { optimizer_switch = \"index_condition_pushdown=off\" }",
            "session = { optimizer_switch = \"index_condition_pushdown=on\" }",
        ],
        workload: indexed!(
            "select sum(length(pad)) from t force index (a) where a between 1 and 200 and b = :b"
        ),
        clients: 2,
        explained_by: LOOKUPS,
        because: "index condition pushdown checks",
    },
    Case {
        name: "join_buffer_size",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"256M\"\n",
        levels: [
            "session = { join_buffer_size = 1024, join_cache_level = 1 }",
            "session = { join_buffer_size = \"4M\", join_cache_level = 1 }",
        ],
        workload: indexed!(
            "select sum(length(t.pad) + length(u.pad)) from t straight_join t u ignore index (a) on u.b = t.b where t.id <= 300 and u.id <= 2000 and t.b <> :b"
        ),
        clients: 2,
        explained_by: LOOKUPS,
        because: "a larger join buffer",
    },
    Case {
        name: "innodb_adaptive_hash_index",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"256M\"\n",
        levels: [
            "settings = { innodb_adaptive_hash_index = 0 }",
            "settings = { innodb_adaptive_hash_index = 1 }",
        ],
        workload: indexed!(
            "select sum(u.b) from t force index (a) straight_join t u force index (primary) on u.id = t.id where t.a < 300 and t.b <> :b"
        ),
        clients: 1,
        explained_by: LOOKUPS,
        because: "the adaptive hash index answers",
    },
    Case {
        name: "innodb_flush_method",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"data / 5\"\n",
        levels: [
            "settings = { innodb_flush_method = \"O_DIRECT\" }",
            "settings = { innodb_flush_method = \"fsync\" }",
        ],
        workload: LARGE_READS,
        clients: 2,
        explained_by: READS,
        because: "reads are served by the page cache",
    },
    Case {
        name: "lock contention on a row",
        build: "mariadb",
        settings: "innodb_flush_log_at_trx_commit = 0\n",
        levels: [
            "workload = { parameter = { id = { uniform = [1, 1] } } }",
            "workload = { parameter = { id = { uniform = [1, 10000] } } }",
        ],
        workload: HOT_ROW,
        clients: 4,
        explained_by: &["Innodb_row_lock_waits"],
        because: "",
    },
    Case {
        name: "innodb_log_file_size",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"256M\"\ninnodb_flush_log_at_trx_commit = 0\n",
        levels: [
            "settings = { innodb_log_file_size = \"4M\" }",
            "settings = { innodb_log_file_size = \"256M\" }",
        ],
        workload: LARGE_UPDATES,
        clients: 4,
        explained_by: WRITES,
        because: "a larger redo log",
    },
    Case {
        name: "innodb_change_buffering",
        build: "mysql@5.6.14",
        settings: "innodb_buffer_pool_size = \"data / 5\"\ninnodb_flush_log_at_trx_commit = 0\ninnodb_flush_method = \"O_DIRECT\"\n",
        levels: [
            "settings = { innodb_change_buffering = \"none\" }",
            "settings = { innodb_change_buffering = \"all\" }",
        ],
        workload: LARGE_UPDATES,
        clients: 2,
        explained_by: READS,
        because: "changes of secondary index pages",
    },
    Case {
        name: "sort_buffer_size",
        build: "mariadb",
        settings: "innodb_buffer_pool_size = \"256M\"\n",
        levels: [
            "session = { sort_buffer_size = \"32K\" }",
            "session = { sort_buffer_size = \"32M\" }",
        ],
        workload: indexed!(
            "select sum(length(pad)) from (select pad from t where b <> :b order by b, pad limit 90000, 10) as sorted"
        ),
        clients: 2,
        explained_by: &["Sort_merge_passes", "Handler_read_rnd", "Handler_read_key"],
        because: "more of a sort fits",
    },
];
