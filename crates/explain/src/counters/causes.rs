//! Causes of a smaller counter: server features with the counters, plans and settings that show them.
//!
//! Purpose: published explanations as data. A cause is named only if its sign is in the record of one side and not of the
//! other. Boundary: not every feature of every server. Sources: the manuals of MySQL 5.6 to 9.x and of MariaDB,
//! chapters on optimization (index condition pushdown, multi-range read, batched key access, hash join) and on InnoDB's
//! buffer pool, flushing and adaptive hash index.

use crate::side::{Side, VERSION};
use std::collections::BTreeSet;

/// Evidence for a cause: present on the side with the smaller counter and absent on the other.
pub(crate) enum Sign {
    /// A counter by any of these names; 0 on the other side. Where that side has none of them, its recorded plans must not hold
    /// these words either; without words it is then unknown.
    Counts(&'static [&'static str], &'static [&'static str]),
    /// A counter of a feature; 0 on the other side, or its server has no such feature and no such counter.
    Hits(&'static [&'static str]),
    /// A plan with any of these words; the other side has plans, and none with them.
    Plan(&'static [&'static str]),
    /// More of a counter, beyond noise.
    More(&'static [&'static str]),
    /// More of a counter, by at least half of the difference to explain.
    Instead(&'static [&'static str]),
    /// A setting with another value. Both sides must have the same server, because servers differ in many defaults. At least one
    /// of the counters in `beside` must have moved, if the servers have them.
    Setting(&'static str),
    /// A numeric setting at least 1.5 times as large, with the same server on both sides.
    Larger(&'static str),
    /// A larger cache that both sides use; the names are those of its request counter.
    Cache(&'static str, &'static [&'static str]),
}

pub(crate) struct Cause {
    /// The counters that it makes smaller, the most significant first.
    pub(crate) fewer: &'static [&'static str],
    /// Any of these.
    pub(crate) signs: &'static [Sign],
    /// Further counters that are listed as evidence if they moved, each by any of its names.
    pub(crate) beside: &'static [&'static [&'static str]],
    /// If any of these is present, another cause fits better.
    pub(crate) unless: &'static [Sign],
    pub(crate) because: &'static str,
}

const ON_DEMAND: [&str; 3] = [
    "Innodb_buffer_pool_reads",
    "buffer_pool_reads",
    "Innodb_pages_read",
];
pub(crate) const POOL_REQUESTS: [&str; 2] = [
    "Innodb_buffer_pool_read_requests",
    "buffer_pool_read_requests",
];
pub(crate) const KEY_REQUESTS: [&str; 1] = ["Key_read_requests"];
const BATCHED: [&str; 6] = [
    "Innodb_buffer_pool_reads",
    "buffer_pool_reads",
    "Innodb_pages_read",
    "Key_reads",
    "device reads",
    "server read bytes",
];
/// MariaDB has both, and its metric lags behind.
const HASHED: [&str; 2] = [
    "Innodb_adaptive_hash_hash_searches",
    "adaptive_hash_searches",
];
const FSYNCS: [&str; 3] = [
    "Innodb_os_log_fsyncs",
    "Innodb_data_fsyncs",
    "device flushes",
];
const ICP_ATTEMPTS: [&str; 2] = ["Handler_icp_attempts", "icp_attempts"];
const ICP_MATCH: [&str; 2] = ["Handler_icp_match", "icp_match"];
const READ_AHEAD: [&str; 1] = ["Innodb_buffer_pool_read_ahead"];
const REFILLS: [&str; 1] = ["Handler_mrr_rowid_refills"];
const MRR_INIT: [&str; 1] = ["Handler_mrr_init"];

const BKA: Sign = Sign::Plan(&["Batched Key Access", "BKA join", "BKAH join"]);
const MRR: Sign = Sign::Plan(&["Using MRR", "Rowid-ordered scan"]);
const MRR_BEGUN: Sign = Sign::Counts(&MRR_INIT, &["Using MRR", "Rowid-ordered scan"]);
const LARGER_POOL: Sign = Sign::Cache("innodb_buffer_pool_size", &POOL_REQUESTS);
const HASH_JOIN: Sign = Sign::Plan(&["hash join", "BNLH join"]);

pub(crate) const CAUSES: &[Cause] = &[
    Cause {
        fewer: &[
            "Innodb_buffer_pool_reads",
            "buffer_pool_reads",
            "Handler_read_next",
            "Innodb_buffer_pool_read_requests",
            "Innodb_pages_read",
            "device reads",
        ],
        signs: &[Sign::Counts(&ICP_ATTEMPTS, &["Using index condition"])],
        beside: &[&ICP_MATCH],
        unless: &[],
        because: "index condition pushdown checks the condition before it reads the row",
    },
    Cause {
        fewer: &BATCHED,
        signs: &[BKA],
        beside: &[&MRR_INIT, &REFILLS, &READ_AHEAD],
        unless: &[],
        because: "batched key access collects keys in the join buffer and reads their rows in batches",
    },
    Cause {
        fewer: &BATCHED,
        signs: &[MRR_BEGUN, MRR],
        beside: &[&REFILLS, &READ_AHEAD],
        unless: &[BKA],
        because: "multi-range read sorts row positions before it reads the rows",
    },
    Cause {
        fewer: &[
            "Innodb_buffer_pool_reads",
            "buffer_pool_reads",
            "Handler_read_key",
            "Handler_read_rnd_next",
            "Innodb_buffer_pool_read_requests",
        ],
        signs: &[HASH_JOIN],
        beside: &[],
        unless: &[],
        because: "a hash join looks rows up in memory instead of an index or another scan",
    },
    Cause {
        fewer: &["Handler_read_rnd_next", "Innodb_buffer_pool_read_requests"],
        signs: &[Sign::Plan(&["Block Nested Loop", "BNL join"])],
        beside: &[],
        unless: &[HASH_JOIN],
        because: "block nested loop scans the inner table once per full join buffer",
    },
    Cause {
        fewer: &["Handler_read_rnd_next"],
        signs: &[Sign::Larger("join_buffer_size")],
        beside: &[],
        unless: &[HASH_JOIN],
        because: "a larger join buffer needs fewer scans of the inner table",
    },
    Cause {
        fewer: &ON_DEMAND,
        signs: &[LARGER_POOL],
        beside: &[],
        unless: &[],
        because: "more of the data fits in the buffer pool",
    },
    Cause {
        fewer: &["Key_reads"],
        signs: &[Sign::Cache("key_buffer_size", &KEY_REQUESTS)],
        beside: &[],
        unless: &[],
        because: "more index blocks fit in the key buffer",
    },
    Cause {
        fewer: &ON_DEMAND,
        signs: &[
            Sign::Setting("innodb_old_blocks_time"),
            Sign::Setting("innodb_old_blocks_pct"),
        ],
        beside: &[&["Innodb_buffer_pool_pages_made_young"]],
        unless: &[],
        because: "pages move to the young sublist of the buffer pool by another rule",
    },
    Cause {
        fewer: &["Innodb_buffer_pool_reads", "buffer_pool_reads"],
        signs: &[Sign::Instead(&READ_AHEAD)],
        beside: &[],
        unless: &[BKA, MRR, MRR_BEGUN, LARGER_POOL],
        because: "read-ahead fetched the pages instead",
    },
    Cause {
        fewer: &[
            "adaptive_hash_searches_btree",
            "Innodb_adaptive_hash_non_hash_searches",
            "Innodb_buffer_pool_read_requests",
        ],
        signs: &[Sign::Counts(&HASHED, &[]), Sign::More(&HASHED)],
        beside: &[],
        unless: &[],
        because: "the adaptive hash index answers lookups without a B-tree search",
    },
    Cause {
        fewer: &["Created_tmp_disk_tables"],
        signs: &[
            Sign::Larger("tmp_table_size"),
            Sign::Larger("max_heap_table_size"),
            Sign::Larger("temptable_max_ram"),
        ],
        beside: &[&["Created_tmp_tables"]],
        unless: &[],
        because: "temporary tables stay in memory",
    },
    Cause {
        fewer: &["Sort_merge_passes"],
        signs: &[Sign::Larger("sort_buffer_size")],
        beside: &[&["Sort_rows"]],
        unless: &[],
        because: "more of a sort fits in the sort buffer",
    },
    Cause {
        fewer: &[
            "buffer_flush_sync_total_pages",
            "buffer_flush_adaptive_total_pages",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_pages_written",
            "Innodb_dblwr_pages_written",
            "Innodb_data_fsyncs",
            "Innodb_buffer_pool_wait_free",
        ],
        signs: &[
            Sign::Larger("innodb_log_file_size"),
            Sign::Larger("innodb_log_files_in_group"),
            Sign::Larger("innodb_redo_log_capacity"),
        ],
        beside: &[],
        unless: &[],
        because: "a larger redo log lets changed pages stay in memory for longer",
    },
    Cause {
        fewer: &["Innodb_buffer_pool_wait_free", "buffer_LRU_get_free_loops"],
        signs: &[
            LARGER_POOL,
            Sign::Larger("innodb_io_capacity"),
            Sign::Larger("innodb_lru_scan_depth"),
        ],
        beside: &[&[
            "buffer_LRU_batch_flush_total_pages",
            "buffer_LRU_batch_total_pages",
        ]],
        unless: &[],
        because: "free pages are available before a query needs one",
    },
    Cause {
        fewer: &["buffer_flush_neighbor_total_pages", "Innodb_pages_written"],
        signs: &[Sign::Setting("innodb_flush_neighbors")],
        beside: &[],
        unless: &[],
        because: "a page is flushed with fewer of its neighbours",
    },
    Cause {
        fewer: &FSYNCS,
        signs: &[Sign::Setting("innodb_flush_log_at_trx_commit")],
        beside: &[],
        unless: &[],
        because: "the redo log is flushed to disk at another point than each commit",
    },
    Cause {
        fewer: &FSYNCS,
        signs: &[Sign::Setting("sync_binlog")],
        beside: &[],
        unless: &[],
        because: "the binary log is flushed to disk at another point than each commit",
    },
    Cause {
        fewer: &[
            "Innodb_dblwr_pages_written",
            "Innodb_os_log_fsyncs",
            "Innodb_data_fsyncs",
            "device flushes",
        ],
        signs: &[Sign::Setting("innodb_doublewrite")],
        beside: &[&["Innodb_dblwr_pages_written"]],
        unless: &[],
        because: "pages are not written to the doublewrite buffer first",
    },
    Cause {
        fewer: &FSYNCS,
        signs: &[Sign::Setting("innodb_flush_method")],
        beside: &[],
        unless: &[],
        because: "files are written by another method",
    },
    Cause {
        fewer: &[
            "Innodb_buffer_pool_reads",
            "server read bytes",
            "device reads",
        ],
        signs: &[Sign::Setting("innodb_flush_method")],
        beside: &[],
        unless: &[],
        because: "reads are served by the page cache of the operating system, which O_DIRECT bypasses",
    },
    Cause {
        fewer: &ON_DEMAND,
        signs: &[
            Sign::Setting("innodb_change_buffering"),
            Sign::Larger("innodb_change_buffer_max_size"),
        ],
        beside: &[&["ibuf_merges"]],
        unless: &[],
        because: "changes of secondary index pages that are not in memory are buffered instead of read",
    },
    Cause {
        fewer: &[
            "Handler_read_key",
            "Handler_read_next",
            "Handler_read_rnd_next",
            "Innodb_rows_read",
            "Rows_read",
            "Innodb_buffer_pool_read_requests",
        ],
        signs: &[Sign::Hits(&["Qcache_hits"])],
        beside: &[],
        unless: &[],
        because: "the query cache answers repeated statements",
    },
    Cause {
        fewer: &["Innodb_log_waits"],
        signs: &[Sign::Larger("innodb_log_buffer_size")],
        beside: &[],
        unless: &[],
        because: "a larger log buffer fills up less often",
    },
    Cause {
        fewer: &[
            "Innodb_row_lock_waits",
            "lock_deadlocks",
            "Innodb_deadlocks",
        ],
        signs: &[
            Sign::Setting("tx_isolation"),
            Sign::Setting("transaction_isolation"),
            Sign::Setting("innodb_autoinc_lock_mode"),
            Sign::Setting("innodb_locks_unsafe_for_binlog"),
        ],
        beside: &[],
        unless: &[],
        because: "statements lock fewer rows, or for a shorter time",
    },
];

/// A feature that decides whether counters move at all. Where it differs, they say nothing about the work.
pub(crate) struct Feature {
    pub(crate) setting: &'static str,
    /// The values that turn it on.
    pub(crate) on: &'static [&'static str],
    pub(crate) counters: &'static [&'static str],
    pub(crate) rule: Rule,
}

pub(crate) enum Rule {
    /// They move only while it is on, which these counters show where the setting is not recorded.
    Needed(&'static [&'static str]),
    /// Like the former, but on by default.
    NeededByDefault,
    /// They do not move for what it does.
    NotFor,
}

const ON: [&str; 4] = ["ON", "on", "1", "YES"];

pub(crate) const FEATURES: [Feature; 7] = [
    // MariaDB counts B-tree searches in the code of the adaptive hash index, which is off by default.
    Feature {
        setting: "innodb_adaptive_hash_index",
        on: &ON,
        counters: &[
            "adaptive_hash_searches_btree",
            "Innodb_adaptive_hash_non_hash_searches",
        ],
        rule: Rule::Needed(&HASHED),
    },
    Feature {
        setting: "innodb_adaptive_flushing",
        on: &ON,
        counters: &["buffer_flush_adaptive_total_pages"],
        rule: Rule::NeededByDefault,
    },
    // Without detection, a deadlock ends by a timeout.
    Feature {
        setting: "innodb_deadlock_detect",
        on: &ON,
        counters: &["lock_deadlocks", "Innodb_deadlocks"],
        rule: Rule::NeededByDefault,
    },
    // Temporary tables of TempTable in memory-mapped files are not counted as tables on disk.
    Feature {
        setting: "internal_tmp_mem_storage_engine",
        on: &["TempTable"],
        counters: &["Created_tmp_disk_tables"],
        rule: Rule::NotFor,
    },
    // Files whose writes are synchronous need no fsync.
    Feature {
        setting: "innodb_flush_method",
        on: &["O_DSYNC"],
        counters: &FSYNCS,
        rule: Rule::NotFor,
    },
    Feature {
        setting: "innodb_log_file_write_through",
        on: &ON,
        counters: &FSYNCS,
        rule: Rule::NotFor,
    },
    Feature {
        setting: "innodb_data_file_write_through",
        on: &ON,
        counters: &FSYNCS,
        rule: Rule::NotFor,
    },
];

/// Counters, and the names under which some servers count a part of the same events.
const ELSEWHERE: [(&[&str], &[&str]); 3] = [
    // MariaDB counts rows of temporary tables apart, MySQL among the others.
    (&["Handler_write"], &["Handler_tmp_write"]),
    // Temporary tables on disk are MyISAM in older servers, and Aria in MariaDB.
    (&["Key_read_requests"], &["Aria_pagecache_read_requests"]),
    (&["Key_reads"], &["Aria_pagecache_reads"]),
];

/// Whether the side with fewer events of a counter would count those that the other side has more.
pub(crate) fn is_comparable(counter: &str, more: &Side, fewer: &Side) -> bool {
    let features = FEATURES.iter();
    let mut features = features.filter(|feature| feature.counters.contains(&counter));
    let elsewhere = ELSEWHERE.iter();
    let mut elsewhere = elsewhere.filter(|(counters, _)| counters.contains(&counter));
    features.all(|feature| feature.is_comparable(more, fewer))
        && elsewhere.all(|(_, names)| more.counter(names).is_some() || !moves(fewer, names))
}

fn moves(side: &Side, names: &[&'static str]) -> bool {
    let known = side.counter(names);
    known.is_some_and(|(_, values)| values.iter().any(|value| *value > 0.0))
}

impl Feature {
    fn is_comparable(&self, more: &Side, fewer: &Side) -> bool {
        let has = |side: &Side| {
            side.setting(self.setting)
                .map(|value| self.on.contains(&value))
        };
        match self.rule {
            Rule::Needed(shown_by) => has(fewer).unwrap_or_else(|| moves(fewer, shown_by)),
            Rule::NeededByDefault => has(fewer).unwrap_or(true),
            Rule::NotFor => has(more) == Some(true) || has(fewer) != Some(true),
        }
    }
}

/// The settings that explanations use, each once.
pub fn telling_settings() -> Vec<&'static str> {
    let signs = CAUSES
        .iter()
        .flat_map(|cause| cause.signs.iter().chain(cause.unless));
    let settings = signs.filter_map(|sign| match sign {
        Sign::Setting(name) | Sign::Larger(name) | Sign::Cache(name, _) => Some(*name),
        _ => None,
    });
    let features = FEATURES.iter().map(|feature| feature.setting);
    let settings = settings.chain(features);
    let names: BTreeSet<&str> = settings.chain([VERSION]).collect();
    names.into_iter().collect()
}

/// The noun for a counter in a sentence: `buffer pool misses` for `Innodb_buffer_pool_reads`.
pub(crate) fn noun(counter: &str) -> Option<&'static str> {
    let known = NOUNS.iter().find(|(name, _)| *name == counter);
    known.map(|(_, noun)| *noun)
}

#[rustfmt::skip]
const NOUNS: [(&str, &str); 39] = [
    ("device reads", "disk reads"),
    ("server read bytes", "bytes read from disk"),
    ("Innodb_buffer_pool_reads", "buffer pool misses"),
    ("buffer_pool_reads", "buffer pool misses"),
    ("Innodb_pages_read", "pages read"),
    ("buffer_pages_read", "pages read"),
    ("Innodb_data_read", "bytes read by InnoDB"),
    ("Innodb_data_reads", "read calls of InnoDB"),
    ("Innodb_buffer_pool_read_requests", "page requests to the buffer pool"),
    ("Innodb_buffer_pool_wait_free", "waits for a free page"),
    ("buffer_LRU_get_free_loops", "failed searches for a free page"),
    ("buffer_flush_sync_total_pages", "pages flushed because the redo log was full"),
    ("buffer_flush_neighbor_total_pages", "pages flushed together with a neighbour"),
    ("Innodb_pages_written", "pages written"),
    ("Innodb_buffer_pool_pages_flushed", "pages flushed"),
    ("Innodb_dblwr_pages_written", "pages written to the doublewrite buffer"),
    ("buffer_flush_adaptive_total_pages", "pages flushed by adaptive flushing"),
    ("device flushes", "flushes of the disk's cache"),
    ("Handler_write", "rows written"),
    ("Handler_tmp_write", "rows written into temporary tables"),
    ("Sort_rows", "rows sorted"),
    ("Created_tmp_tables", "temporary tables"),
    ("Innodb_os_log_fsyncs", "fsync calls on the redo log"),
    ("Innodb_data_fsyncs", "fsync calls of InnoDB"),
    ("Innodb_log_waits", "waits for the log buffer"),
    ("Innodb_row_lock_waits", "waits for row locks"),
    ("lock_deadlocks", "deadlocks"),
    ("Innodb_deadlocks", "deadlocks"),
    ("Innodb_rows_read", "rows read"),
    ("Rows_read", "rows read"),
    ("Handler_read_key", "index lookups"),
    ("Handler_read_next", "rows read in index order"),
    ("Handler_read_rnd", "rows fetched by position"),
    ("Handler_read_rnd_next", "rows read by scanning tables"),
    ("Created_tmp_disk_tables", "temporary tables on disk"),
    ("Sort_merge_passes", "sort merge passes"),
    ("Key_reads", "MyISAM index blocks read from disk"),
    ("adaptive_hash_searches_btree", "B-tree lookups"),
    ("Innodb_adaptive_hash_non_hash_searches", "B-tree lookups"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning;

    #[test]
    fn every_counter_that_a_cause_makes_smaller_has_a_meaning() {
        for counter in CAUSES.iter().flat_map(|cause| cause.fewer) {
            assert!(meaning(counter).is_some(), "{counter}");
        }
    }

    #[test]
    fn every_counter_that_a_sentence_counts_has_a_meaning() {
        for (counter, _) in NOUNS {
            assert!(meaning(counter).is_some(), "{counter}");
        }
    }
}
