//! What the counters that explain differences mean, in one line each.
//!
//! Purpose: the counters of the MySQL family that explain analytical and OLTP results. Boundary: not all counters.
//! Which server has which: docs/COUNTERS.md. Source: the servers' manuals, "Server Status Variables" and "InnoDB
//! INFORMATION_SCHEMA Metrics Table" of MySQL 5.5 to 9.x, "Server Status Variables" of MariaDB 10.11 and 11.4. Names in lower
//! case are those of INNODB_METRICS.

/// The line for a counter, by its name as the server spells it (case does not matter) or as prony derives it.
pub fn meaning(counter: &str) -> Option<&'static str> {
    MEANINGS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(counter))
        .map(|(_, meaning)| *meaning)
}

#[rustfmt::skip]
const MEANINGS: [(&str, &str); 91] = [
    // CPU and disk use of the server process, read by prony.
    ("server cpu us", "CPU time of the server process (µs)"),
    ("server cpu system us", "kernel part of the CPU time (µs), in clock ticks"),
    ("server read bytes", "bytes that the server process read from disk, without page cache hits"),
    ("device reads", "reads of the disk with the data folder, by all processes"),
    ("device read bytes", "bytes read from this disk, by all processes"),
    ("device read us", "time of these reads (µs), queueing included"),
    ("device flushes", "flushes of this disk's cache, by all processes"),
    ("device flush us", "time of these flushes (µs)"),
    // The buffer pool, all servers.
    (
        "Innodb_buffer_pool_reads / Innodb_buffer_pool_read_requests",
        "buffer pool miss ratio: share of page requests that read from disk",
    ),
    ("Innodb_buffer_pool_reads", "buffer pool misses: pages read from disk or from the OS page cache"),
    ("Innodb_buffer_pool_read_requests", "page requests to the buffer pool"),
    ("Innodb_pages_read", "pages read from disk, read-ahead included"),
    ("Innodb_pages_written", "pages written to disk"),
    ("Innodb_pages_created", "new pages"),
    ("Innodb_buffer_pool_read_ahead", "pages read ahead"),
    ("Innodb_buffer_pool_read_ahead_rnd", "random read-aheads started"),
    ("Innodb_buffer_pool_read_ahead_evicted", "pages read ahead and evicted unused: wasted reads"),
    ("Innodb_buffer_pool_read_ahead_evicted / Innodb_buffer_pool_read_ahead", "share of the read-ahead that was wasted"),
    ("Innodb_buffer_pool_wait_free", "waits for a free page in the buffer pool"),
    ("Innodb_buffer_pool_write_requests", "page changes in the buffer pool"),
    ("Innodb_buffer_pool_pages_flushed", "pages flushed from the buffer pool"),
    ("Innodb_buffer_pool_pages_made_young", "pages moved to the young sublist"),
    ("Innodb_buffer_pool_pages_made_not_young", "pages kept in the old sublist because of innodb_old_blocks_time"),
    ("Innodb_buffer_pool_pages_LRU_flushed", "pages flushed from the end of the LRU list (MariaDB)"),
    ("buffer_pool_reads", "buffer pool misses: pages read from disk or from the OS page cache"),
    ("buffer_pool_read_requests", "page requests to the buffer pool"),
    ("buffer_pages_read", "pages read from disk"),
    ("buffer_LRU_get_free_loops", "searches for a free page that did not find one at once"),
    ("buffer_LRU_batch_flush_total_pages", "pages flushed in batches from the end of the LRU list"),
    ("buffer_LRU_batch_total_pages", "pages flushed in batches from the end of the LRU list (MySQL 5.6)"),
    ("buffer_LRU_get_free_waits", "sleeps while looking for a free page (MySQL from 8.0)"),
    ("buffer_LRU_single_flush_num_scan", "single pages flushed because a query needed a free one (MySQL)"),
    ("buffer_LRU_batch_scanned", "pages scanned for flushing at the end of the LRU list"),
    ("buffer_LRU_search_scanned", "pages scanned for eviction at the end of the LRU list"),
    ("buffer_flush_adaptive_total_pages", "pages flushed by adaptive flushing"),
    ("buffer_flush_background_total_pages", "pages flushed in the background"),
    ("buffer_flush_sync_total_pages", "pages flushed synchronously because the redo log was full"),
    ("buffer_flush_neighbor_total_pages", "pages flushed together with a neighbour"),
    // Files and redo.
    ("Innodb_data_read", "bytes that InnoDB read from files"),
    ("Innodb_data_reads", "read calls of InnoDB"),
    ("Innodb_data_written", "bytes that InnoDB wrote to files"),
    ("Innodb_data_writes", "write calls of InnoDB"),
    ("Innodb_data_fsyncs", "fsync calls of InnoDB"),
    ("Innodb_os_log_written", "bytes of redo written"),
    ("Innodb_os_log_fsyncs", "fsync calls on the redo log (MySQL)"),
    ("Innodb_log_waits", "waits because the log buffer was too small"),
    ("Innodb_dblwr_pages_written", "pages written to the doublewrite buffer"),
    // Locks.
    ("Innodb_row_lock_waits", "waits for row locks"),
    ("Innodb_deadlocks", "deadlocks (MariaDB)"),
    ("lock_deadlocks", "deadlocks"),
    ("lock_timeouts", "lock wait timeouts"),
    // Rows touched and how.
    ("Innodb_rows_read", "rows that InnoDB returned (MySQL); COUNT(*) counts none from 8.0"),
    ("Innodb_rows_inserted", "rows inserted (MySQL)"),
    ("Innodb_rows_updated", "rows updated (MySQL)"),
    ("Innodb_rows_deleted", "rows deleted (MySQL)"),
    ("Rows_read", "rows that the storage engines returned (MariaDB)"),
    ("Rows_tmp_read", "rows read from temporary tables (MariaDB)"),
    ("Handler_read_first", "full index scans started"),
    ("Handler_read_key", "rows looked up by an index"),
    ("Handler_read_next", "rows read in index order: range and index scans"),
    ("Handler_read_prev", "rows read backwards in index order"),
    ("Handler_read_rnd", "rows fetched by position, after a sort for instance"),
    ("Handler_read_rnd_next", "rows read by scanning tables"),
    ("Handler_icp_attempts", "index conditions checked inside the engine (MariaDB)"),
    ("Handler_icp_match", "index conditions that matched (MariaDB)"),
    ("icp_attempts", "index conditions checked inside the engine"),
    ("icp_match", "index conditions that matched"),
    ("icp_no_match", "index conditions that did not match"),
    ("Handler_mrr_init", "multi-range reads started (MySQL counts only those of joins)"),
    ("Handler_mrr_key_refills", "refills of the key buffer of multi-range reads (MariaDB)"),
    ("Handler_mrr_rowid_refills", "refills of the row buffer of multi-range reads (MariaDB)"),
    ("Handler_write", "rows written, into temporary tables too"),
    ("Handler_tmp_write", "rows written into temporary tables (MariaDB)"),
    ("Select_full_join", "joins that scan a table for each row, without an index"),
    ("Select_range_check", "joins that choose an index again for each row"),
    ("Select_scan", "joins that scan their first table"),
    ("Created_tmp_tables", "temporary tables"),
    ("Created_tmp_disk_tables", "temporary tables on disk"),
    ("Created_tmp_disk_tables / Created_tmp_tables", "share of the temporary tables on disk"),
    ("Sort_merge_passes", "merge passes of sorts that did not fit in the sort buffer"),
    ("Sort_rows", "rows sorted"),
    ("Sort_scan", "sorts of scanned rows"),
    // MyISAM, adaptive hash, purge.
    ("Key_reads", "MyISAM index blocks read from disk"),
    ("Key_read_requests", "MyISAM index block requests"),
    ("Key_reads / Key_read_requests", "MyISAM key buffer miss ratio: share of index block requests that read from disk"),
    ("adaptive_hash_searches", "lookups that the adaptive hash index answered"),
    ("adaptive_hash_searches_btree", "lookups that searched the B-tree instead"),
    ("Innodb_adaptive_hash_hash_searches", "lookups that the adaptive hash index answered (MariaDB)"),
    ("Innodb_adaptive_hash_non_hash_searches", "lookups that searched the B-tree instead (MariaDB)"),
    ("Qcache_hits", "statements that the query cache answered"),
    ("ibuf_merges", "merges of buffered index changes (not in MariaDB from 11.0)"),
];

/// Quotients that say more than their parts.
#[rustfmt::skip]
pub(crate) const DERIVED: [(&str, &str); 4] = [
    ("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests"),
    ("Innodb_buffer_pool_read_ahead_evicted", "Innodb_buffer_pool_read_ahead"),
    ("Created_tmp_disk_tables", "Created_tmp_tables"),
    ("Key_reads", "Key_read_requests"),
];

/// Whether a counter does not count work: times and uptimes, gauges (amounts at a moment, whose difference is
/// no count), and the traffic of sessions. A counter with a meaning always counts.
pub(crate) fn is_beside_the_point(counter: &str) -> bool {
    let name = counter.to_ascii_lowercase();
    let beside = || {
        BESIDE_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
            || BESIDE_PARTS.iter().any(|part| name.contains(part))
    };
    meaning(counter).is_none() && beside()
}

const BESIDE_PREFIXES: [&str; 26] = [
    "aborted_",
    "acl",
    "bytes_",
    "com_",
    "compression",
    "connection",
    "delayed_",
    "flush_commands",
    "innodb_buffer_pool_bytes",
    "innodb_buffer_pool_pages_",
    "innodb_history_list_length",
    "innodb_mem_",
    "innodb_page_size",
    "last_query_",
    "max_used_",
    "memory_used",
    "mysqlx_",
    "open_",
    "opened_",
    "performance_schema_",
    "queries",
    "questions",
    "rsa_",
    "ssl_",
    "table_open_cache_",
    "threads_",
];

const BESIDE_PARTS: [&str; 9] = [
    "time",
    "usec",
    "_age",
    "_lsn",
    "uptime",
    "checkpoint_",
    "heartbeat",
    "_size",
    "free_space",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_counter_has_one_meaning() {
        let names: BTreeSet<String> = MEANINGS
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        assert_eq!(names.len(), MEANINGS.len());
    }

    #[test]
    fn every_derived_value_has_a_meaning() {
        for (over, under) in DERIVED {
            assert!(
                meaning(&format!("{over} / {under}")).is_some(),
                "{over} / {under}"
            );
        }
    }

    #[test]
    fn a_counter_with_a_meaning_counts_even_where_its_name_looks_like_a_time_or_a_gauge() {
        assert!(!is_beside_the_point("lock_timeouts"));
        assert!(!is_beside_the_point("Innodb_buffer_pool_pages_made_young"));
    }

    #[test]
    fn times_gauges_and_traffic_are_beside_the_point() {
        for name in [
            "Uptime",
            "Innodb_row_lock_time",
            "Bytes_sent",
            "Innodb_buffer_pool_pages_data",
            "Com_select",
            "Cpu_time",
            "log_free_space",
        ] {
            assert!(is_beside_the_point(name), "{name}");
        }
    }
}
