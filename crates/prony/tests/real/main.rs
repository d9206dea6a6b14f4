//! Tests of the crates with real servers. One test binary, so that the tests of all files run in parallel, on data folders that are
//! initialised once per build.

mod begun;
mod driven;
mod fresh;
mod tpcc_loaded;
mod tpcc_planted;
mod wired;

mod counters;
mod crash;
mod doubled;
mod events;
mod managed;
mod oltp;
mod optimizer;
mod power_cut;
mod sampler;
mod states;
mod tpcc;
mod tpcc_data;
mod tpch;
mod wire;
