//! End to end: the binary against real servers. One test binary, so that the tests of all files run side by side.

mod support;

mod cache;
mod engines;
mod external;
mod faults;
mod limits;
mod load;
mod load_faults;
mod plans;
mod query_timeout;
mod quickstart;
mod restart;
mod same_figures;
mod shell;
mod switches;
