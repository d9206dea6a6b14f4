//! End-to-end tests of the binary on real servers. One test binary, so that the tests of all files run in parallel.

mod support;

mod abrupt_end;
mod cache;
mod cloud;
mod cluster;
mod compare;
mod crash;
mod engines;
mod external;
mod faults;
mod fileio;
mod fileio_volumes;
mod first_hour;
mod hardening;
mod hostile;
mod launchers;
mod limits;
mod load;
mod load_faults;
mod own_sql;
mod passwords;
mod plans;
mod power_cut;
mod query_timeout;
mod quickstart;
mod restart;
mod same_figures;
mod shards;
mod shell;
mod switches;
mod tpcc_audit;
mod tpcc_reload;
mod vanish;
mod volumes;
