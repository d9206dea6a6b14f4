//! The machine that prony runs on: its home folder, leases on what must not outlive prony, the page cache, disks, control
//! groups, processes and /proc.
//!
//! It knows nothing of servers or of the measurement protocol.

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
