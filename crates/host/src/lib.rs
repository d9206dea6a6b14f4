//! The machine below: where prony keeps its things, what must not outlive it, cold files, disks.
//!
//! Goal: facts and means of this machine, each checked on the machine itself. Non-goals: what a server is, what a
//! round is.

pub mod clock;
pub mod clone;
pub mod cold;
pub mod device;
pub mod disk;
pub mod guard;
pub mod home;
pub mod interrupt;
pub mod journal;
mod kind;
pub mod leases;
pub mod leftovers;
pub mod limits;
pub mod machine;
pub mod pause;
pub mod proc;
pub mod process;
pub mod random;

pub use clock::now_ns;
pub use device::{Mount, below as mount_below};
pub use home::{Home, HomeError};
pub use interrupt::asked as interrupted;
pub use leases::{Lease, LeaseError, Leases};
pub use limits::{Group, LimitError, Limits, Verified, join, verify};
pub use pause::Paused;
pub use proc::{Process, Processors, Turns, network_bytes, process_cpu, thread_cpu};
pub use process::wait_within;
pub use random::hex as random_hex;
