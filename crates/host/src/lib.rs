//! The machine that prony runs on: its home folder, leases on what must not outlive prony, the page cache, disks, control
//! groups, volumes, processes and /proc.
//!
//! It knows nothing of servers or of the measurement protocol.

mod exposed;
mod home;
mod leases;
mod limits;
pub mod machine;
pub mod network;
mod proc;
pub mod process;
mod random;
pub mod storage;
pub mod volume;

pub use exposed::Exposed;
pub use facts::file_system;
pub use home::{Home, HomeError};
pub use leases::{Lease, LeaseError, Leases, Swept, guard};
pub use limits::{
    Entered, Group, LimitError, Limits, Verified, figure as limit_figure, gauge, join, verify,
};
pub use machine::clock::{at_ns, clock_step_s, clock_stepped, local_now, now_ns};
pub use machine::pace::{Pace, nice};
pub use proc::{
    Carried, Interface, Io, Process, Processors, Turns, network_bytes, network_bytes_of,
    process_cpu, retransmitted_segments, thread_cpu,
};
pub use process::interrupt::{self, asked as interrupted};
pub use process::pause::Paused;
pub use process::{stacks, supervisor};
pub use random::hex as random_hex;
pub use storage::device::{DeviceCounts, Mount, below as mount_below};
pub use storage::{clone, cold, disk, extents, facts};
