//! End-to-end tests of the binary, and tests of the crates with real servers. One program, so that the tests of all files run in
//! parallel. docs/ARCHITECTURE.md describes the tiers.

// In a lower tier, some helpers have no user.
#![cfg_attr(not(tier_long), allow(dead_code, unused_imports))]

mod support;

mod abrupt_end;
mod architecture;
mod believed;
mod cache;
mod causes_known;
mod clone;
mod cloud;
mod cluster;
mod compare;
mod crash;
mod decides;
mod engines;
mod external;
mod faults;
mod field;
mod fileio;
mod fileio_volumes;
mod first_hour;
mod guard;
mod hardening;
mod hostile;
mod launchers;
mod limits;
mod load;
mod load_faults;
mod load_truth;
mod own_sql;
mod pack;
mod passwords;
mod plans;
mod power_cut;
mod query_timeout;
mod quickstart;
mod real;
mod replication;
mod rounds_truth;
mod same_figures;
mod servers;
mod shards;
mod shared_server;
mod shell;
mod slices;
mod slices_by_query;
mod switches;
mod tidy;
mod tpcc_audit;
mod tpcc_reload;
mod vanish;
mod volume;
mod volumes;
