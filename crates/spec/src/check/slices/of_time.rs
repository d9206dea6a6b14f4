//! Settings whose effect depends on time that goes on while their server is paused.
//!
//! Purpose: one table of them, with the evidence. The appendix of the methodology shows it (A12) and names what is not in it, and why.
//! Boundaries: `slices` refuses them at their place in the file.

use crate::text::setting::Setting;

/// Settings that a pause changes in the same way.
pub(super) struct OfTime {
    pub settings: &'static [&'static str],
    pub why: &'static str,
    /// Which servers have them, and where that and the reason were read.
    pub read_in: &'static str,
}

/// Where cells of a group differ in one of these, a pause may change the answer.
pub(super) const DIFFERING: &[OfTime] = &[
    OfTime {
        settings: &[
            "innodb_flush_log_at_trx_commit",
            "innodb_flush_log_at_timeout",
        ],
        why: "the log is flushed once a second or at this timeout, which is overdue after each pause",
        read_in: "all servers, the timeout from MySQL 5.6 and MariaDB 10.0 on: manuals, InnoDB system variables; srv0srv.cc, `srv_master_main_loop`",
    },
    OfTime {
        settings: &["innodb_old_blocks_time"],
        why: "its milliseconds run on during a pause, so that more pages are old enough to become young",
        read_in: "all servers: manuals, InnoDB system variables; buf0buf.ic, `buf_page_peek_if_too_old`",
    },
    OfTime {
        settings: &[
            "innodb_io_capacity",
            "innodb_io_capacity_max",
            "innodb_lru_scan_depth",
            "innodb_adaptive_flushing",
            "innodb_adaptive_flushing_lwm",
            "innodb_adaptive_flushing_method",
            "innodb_flush_sync",
            "innodb_max_dirty_pages_pct",
            "innodb_max_dirty_pages_pct_lwm",
        ],
        why: "the page cleaner works once a second, and its second is over at once after a pause",
        read_in: "all servers (depth, lwm and max from MySQL 5.6 and MariaDB 10.0 on, flush_sync from MySQL 5.7 and MariaDB 10.2 on, method: XtraDB 5.5): \
                  MySQL manual, Configuring Buffer Pool Flushing; MariaDB manual, InnoDB Page Flushing; buf0flu.cc, `buf_flush_page_coordinator_thread`",
    },
    OfTime {
        settings: &["innodb_flushing_avg_loops"],
        why: "it averages over the last seconds, pauses among them",
        read_in: "MySQL from 5.6 and MariaDB from 10.0 on: manuals, InnoDB system variables; buf0flu.cc, `page_cleaner_flush_pages_recommendation`",
    },
    OfTime {
        settings: &["innodb_idle_flush_pct"],
        why: "it is for a second without operations, and one that began before a pause is over after it",
        read_in: "MySQL from 8.0.18 on, MariaDB 10.1 (without effect from 10.2.2 on): MySQL worklog 13115; MariaDB manual, InnoDB System Variables; buf0flu.cc",
    },
    OfTime {
        settings: &[
            "innodb_change_buffering",
            "innodb_change_buffer_max_size",
            "innodb_ibuf_accel_rate",
        ],
        why: "the change buffer is merged in the background once a second, and its second is over at once after a pause",
        read_in: "MySQL, and MariaDB to 10.4 (from 10.5 on nothing is merged in the background; rate: XtraDB 5.5): MariaDB manual, InnoDB Change Buffering; \
                  srv0srv.cc, `ibuf_merge_in_background`",
    },
    OfTime {
        settings: &["innodb_log_spin_cpu_abs_lwm", "innodb_log_spin_cpu_pct_hwm"],
        why: "the server measures its CPU use with pauses, so that waits for the redo log spin less after them",
        read_in: "MySQL from 8.0 on: srv0srv.cc, `srv_update_cpu_usage`; log0write.cc, `log_max_spins_when_waiting_in_user_thread`",
    },
    OfTime {
        settings: &["innodb_stats_auto_recalc", "innodb_stats_persistent"],
        why: "statistics of a table are computed in the background, at most every 10 s, pauses among them",
        read_in: "MySQL from 5.6 and MariaDB from 10.0 on: manuals, InnoDB persistent statistics; dict0stats_bg.cc, `MIN_RECALC_INTERVAL`",
    },
    OfTime {
        settings: &["innodb_status_output", "innodb_status_output_locks"],
        why: "it is written every 15 s, which may be over during a pause",
        read_in: "MySQL from 5.6.16 and MariaDB from 10.0 on: manuals, InnoDB monitors",
    },
    OfTime {
        settings: &[
            "innodb_encryption_threads",
            "innodb_encryption_rotation_iops",
            "innodb_background_scrub_data_check_interval",
            "innodb_background_scrub_data_interval",
            "innodb_scrub_log_speed",
        ],
        why: "pages are encrypted or scrubbed in the background, by the second, and pauses count",
        read_in: "MariaDB from 10.1 on, scrubbing to 10.4: manual, InnoDB Background Encryption Threads, InnoDB System Variables",
    },
    OfTime {
        settings: &["flush_time"],
        why: "all tables are closed at this interval, whose seconds run on during a pause",
        read_in: "all servers: manuals, server system variables",
    },
    OfTime {
        settings: &["delayed_insert_timeout"],
        why: "the thread of INSERT DELAYED is idle during a pause, and ends",
        read_in: "MySQL to 5.6, MariaDB: manuals, server system variables",
    },
    OfTime {
        settings: &["information_schema_stats_expiry"],
        why: "cached statistics grow older during a pause, and are read again",
        read_in: "MySQL from 8.0 on: manual, server system variables",
    },
    OfTime {
        settings: &["aria_checkpoint_interval"],
        why: "its seconds run on during a pause",
        read_in: "MariaDB: manual, Aria System Variables",
    },
    OfTime {
        settings: &["aria_group_commit", "aria_group_commit_interval"],
        why: "in soft mode the log is synced at an interval, which is over after each pause",
        read_in: "MariaDB: manual, Aria Group Commit",
    },
    OfTime {
        settings: &["thread_pool_stall_limit"],
        why: "its timer is overdue after a pause, so that the pool looks for stalls, and starts threads, more often",
        read_in: "MariaDB (ms) and the thread pool of MySQL Enterprise (10 ms): MariaDB manual, Thread Pool System and Status Variables; \
                  threadpool_generic.cc, `check_stall`",
    },
    OfTime {
        settings: &["thread_pool_idle_timeout"],
        why: "threads are idle during a pause, and the pool ends them",
        read_in: "MariaDB: manual, Thread Pool System and Status Variables",
    },
    OfTime {
        settings: &["rocksdb_flush_log_at_trx_commit", "rocksdb_background_sync"],
        why: "the log is synced by a timer, which is overdue after each pause",
        read_in: "MyRocks: MariaDB manual, MyRocks System Variables",
    },
    OfTime {
        settings: &["rocksdb_rate_limiter_bytes_per_sec"],
        why: "the bytes of its next 0.1 s are due at once after a pause",
        read_in: "MyRocks: rate_limiter.cc, `RefillBytesAndGrantRequests`",
    },
    OfTime {
        settings: &["rocksdb_delayed_write_rate"],
        why: "the bytes of a pause are made up for after it",
        read_in: "MyRocks: write_controller.cc, `GetDelay`",
    },
    OfTime {
        settings: &[
            "rocksdb_seconds_between_stat_computes",
            "rocksdb_stats_dump_period_sec",
        ],
        why: "its seconds run on during a pause",
        read_in: "MyRocks: MariaDB manual, MyRocks System Variables",
    },
];

/// These are refused in any cell whose value a pause may reach.
pub(super) const NOWHERE: &[Ends] = &[
    Ends {
        of: OfTime {
            settings: &["event_scheduler"],
            why: "its events are due by the clock, so that they run more often in each measured second, and at once after a pause",
            read_in: "all servers: manuals, Event Scheduler",
        },
        harmless_from_s: u64::MAX,
        zero_is_off: true,
    },
    Ends {
        of: OfTime {
            settings: &["wait_timeout"],
            why: "connections are idle during a pause, and the server closes them",
            read_in: "all servers: manuals, server system variables",
        },
        // Its default.
        harmless_from_s: 28_800,
        zero_is_off: false,
    },
    Ends {
        of: OfTime {
            settings: &[
                "idle_transaction_timeout",
                "idle_readonly_transaction_timeout",
                "idle_write_transaction_timeout",
                "innodb_kill_idle_transaction",
                "kill_idle_transaction",
            ],
            why: "a transaction that is open between two operations is idle during a pause, and the server ends it",
            read_in: "MariaDB from 10.3 on, the last two: XtraDB and Percona Server; MariaDB manual, Transaction Timeouts",
        },
        harmless_from_s: 28_800,
        zero_is_off: true,
    },
    Ends {
        of: OfTime {
            settings: &["innodb_fatal_semaphore_wait_threshold"],
            why: "a thread may wait for a latch during a pause, and the server ends itself if that took too long",
            read_in: "MariaDB: manual, InnoDB System Variables",
        },
        // Its default, and no pause is as long: three others have slices of at most 45 s.
        harmless_from_s: 600,
        zero_is_off: false,
    },
];

/// Timeouts after which the server ends or does something.
pub(super) struct Ends {
    pub of: OfTime,
    /// Values from here on are longer than any pause (s).
    harmless_from_s: u64,
    zero_is_off: bool,
}

impl Ends {
    /// Whether a pause may be longer than this value.
    pub(super) fn may_end(&self, value: &Setting) -> bool {
        let is_off = self.zero_is_off && value.is_off();
        let is_longer = |seconds: u64| seconds >= self.harmless_from_s;
        !is_off && !value.bytes(0).is_some_and(is_longer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a table in the documentation.
    fn rows<'t>(table: impl Iterator<Item = &'t OfTime>) -> String {
        let row = |known: &OfTime| {
            let names: Vec<String> = known
                .settings
                .iter()
                .map(|name| format!("`{name}`"))
                .collect();
            format!(
                "| {} | {} | {} |\n",
                names.join(", "),
                known.why,
                known.read_in
            )
        };
        table.map(row).collect()
    }

    #[test]
    fn the_methodology_shows_both_tables() {
        let page = include_str!("../../../../../docs/METHODOLOGY-APPENDIX.md");
        for rows in [
            rows(DIFFERING.iter()),
            rows(NOWHERE.iter().map(|known| &known.of)),
        ] {
            assert!(
                page.contains(&rows),
                "docs/METHODOLOGY-APPENDIX.md, A12, lacks\n{rows}"
            );
        }
    }

    #[test]
    fn each_setting_is_in_one_row() {
        let all = DIFFERING
            .iter()
            .chain(NOWHERE.iter().map(|known| &known.of));
        let mut names: Vec<&str> = all.flat_map(|known| known.settings).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
