//! Tests of the crates with real servers, on data folders that are initialised once per build.

mod begun;
mod driven;
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
mod tpcc_loads;
mod tpch;
mod wire;
