//! Lists the status values that are gauges (levels) instead of cumulative counters.
//!
//! It covers MySQL 5.5 to 9.7 and MariaDB 10.11 and 11.8. The servers do not mark gauges, so the list follows the manuals
//! ("Server Status Variables" of MySQL, "Server Status Variables" and "InnoDB Status Variables" of MariaDB): "the current
//! number of", "the number of ... currently open", a maximum, an average, an identifier. INNODB_METRICS marks gauges in its
//! column `type`, and [`super::super::Observer`] reads only counters; but 5.6 labels a few gauges `counter`. A value that is
//! not listed is treated as a counter, and is absent in a second in which it falls.

/// All names with these prefixes are levels.
const PREFIXES: [&str; 19] = [
    "Acl_",
    "Aria_pagecache_blocks_",
    "Innodb_buffer_pool_bytes_",
    "Innodb_buffer_pool_resize_status_",
    "Innodb_checkpoint_",
    "Innodb_data_pending_",
    "Innodb_encryption_rotation_estimated_",
    "Innodb_ibuf_free_",
    "Innodb_mem_",
    "Innodb_onlineddl_",
    "Innodb_os_log_pending_",
    "Innodb_undo_tablespaces_",
    "Key_blocks_",
    "Max_used_connections",
    "Memory_used",
    "Open_",
    "Qcache_free_",
    "Threadpool_",
    "os_log_pending_",
];

/// Further levels, sorted.
const NAMES: [&str; 94] = [
    "Delayed_insert_threads",
    "Error_log_buffered_bytes",
    "Error_log_buffered_events",
    "Error_log_latest_write",
    "Global_connection_memory",
    "Innodb_async_reads_pending",
    "Innodb_async_reads_queue_size",
    "Innodb_async_reads_tasks_running",
    "Innodb_async_writes_pending",
    "Innodb_async_writes_queue_size",
    "Innodb_async_writes_tasks_running",
    "Innodb_available_undo_logs",
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_latched",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_pages_old",
    "Innodb_buffer_pool_pages_total",
    "Innodb_current_row_locks",
    "Innodb_history_list_length",
    "Innodb_ibuf_segment_size",
    "Innodb_ibuf_size",
    "Innodb_num_open_files",
    "Innodb_page_size",
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_logical_size",
    "Innodb_redo_log_physical_size",
    "Innodb_redo_log_uuid",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_time_avg",
    "Innodb_row_lock_time_max",
    "Last_query_cost",
    "Last_query_partial_plans",
    "Max_memory_used",
    "Max_tmp_space_used",
    "Not_flushed_delayed_rows",
    "Ongoing_anonymous_transaction_count",
    "Prepared_stmt_count",
    "Qcache_queries_in_cache",
    "Qcache_total_blocks",
    "Replica_open_temp_tables",
    "Rpl_semi_sync_master_clients",
    "Rpl_semi_sync_master_net_avg_wait_time",
    "Rpl_semi_sync_master_tx_avg_wait_time",
    "Rpl_semi_sync_master_wait_sessions",
    "Rpl_semi_sync_source_clients",
    "Rpl_semi_sync_source_net_avg_wait_time",
    "Rpl_semi_sync_source_tx_avg_wait_time",
    "Rpl_semi_sync_source_wait_sessions",
    "Slave_heartbeat_period",
    "Slave_open_temp_tables",
    "Slaves_connected",
    "Slaves_running",
    "Ssl_session_cache_size",
    "Ssl_used_session_cache_entries",
    "Stack_usage",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Threads_cached",
    "Threads_connected",
    "Threads_running",
    "Tmp_space_used",
    "buffer_flush_avg_page_rate",
    "buffer_flush_lsn_avg_rate",
    "buffer_flush_n_to_flush_requested",
    "buffer_flush_pct_for_dirty",
    "buffer_flush_pct_for_lsn",
    "ddl_pending_alter_table",
    "lock_row_lock_current_waits",
    "log_concurrency_margin",
    "log_flush_max_time",
    "log_lsn_checkpoint_age",
    "log_pending_checkpoint_writes",
    "log_pending_log_writes",
    "trx_active_transactions",
    "wsrep_applier_thread_count",
    "wsrep_cert_index_size",
    "wsrep_cluster_conf_id",
    "wsrep_cluster_size",
    "wsrep_desync_count",
    "wsrep_local_cached_downto",
    "wsrep_local_index",
    "wsrep_local_recv_queue",
    "wsrep_local_recv_queue_max",
    "wsrep_local_recv_queue_min",
    "wsrep_local_send_queue",
    "wsrep_local_send_queue_max",
    "wsrep_local_send_queue_min",
    "wsrep_local_state",
    "wsrep_open_connections",
    "wsrep_open_transactions",
    "wsrep_rollbacker_thread_count",
    "wsrep_thread_count",
];

/// Whether the status value with this name is a level.
pub(super) fn is_level(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted_for_binary_search() {
        assert!(NAMES.is_sorted() && PREFIXES.is_sorted());
    }

    #[test]
    fn dirty_pages_are_a_level_and_flushed_pages_a_counter() {
        let pages = |kind: &str| is_level(&format!("Innodb_buffer_pool_pages_{kind}"));
        assert_eq!(["data", "dirty", "free"].map(pages), [true, true, true]);
        assert_eq!(
            ["flushed", "made_young", "lru_flushed"].map(pages),
            [false, false, false]
        );
    }

    #[test]
    fn running_threads_are_a_level_and_created_threads_a_counter() {
        let names = ["Threads_running", "Open_tables", "Innodb_checkpoint_age"];
        assert!(names.into_iter().all(is_level));
        let names = ["Threads_created", "Opened_tables", "Innodb_lsn_current"];
        assert!(!names.into_iter().any(is_level));
    }

    #[test]
    fn averages_of_semi_synchronous_commits_are_levels_by_the_old_and_the_new_names() {
        for role in ["master", "source"] {
            let is_level_of = |name: &str| is_level(&format!("Rpl_semi_sync_{role}_{name}"));
            let names = ["clients", "net_avg_wait_time", "wait_sessions"];
            assert!(names.into_iter().all(is_level_of));
            assert!(!["no_tx", "yes_tx"].into_iter().any(is_level_of));
        }
    }

    #[test]
    fn sizes_and_longest_queues_of_galera_are_levels_and_what_it_received_is_a_counter() {
        let names = ["cert_index_size", "local_recv_queue_max", "thread_count"];
        let is_level_of = |name: &str| is_level(&format!("wsrep_{name}"));
        assert!(names.into_iter().all(is_level_of));
        let names = ["received", "replicated_bytes", "local_cert_failures"];
        assert!(!names.into_iter().any(is_level_of));
    }
}
