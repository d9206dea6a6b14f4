//! The machine that prony runs on: its home folder, leases on what must not outlive prony, the page cache, disks, control
//! groups, volumes, processes and /proc.
//!
//! It knows nothing of servers or of the measurement protocol.

mod attached;
mod clock;
pub mod clone;
pub mod cold;
mod device;
pub mod disk;
mod exposed;
pub mod extents;
pub mod facts;
pub mod guard;
mod home;
pub mod interrupt;
mod journal;
mod kind;
mod leases;
mod leftovers;
mod limits;
pub mod machine;
pub mod network;
mod own;
mod pace;
mod pause;
mod proc;
pub mod process;
mod random;
pub mod stacks;
pub mod storage;
pub mod supervisor;
pub mod volume;

pub use clock::{at_ns, clock_step_s, clock_stepped, local_now, now_ns};
pub use device::{DeviceCounts, Mount, below as mount_below};
pub use exposed::Exposed;
pub use home::{Home, HomeError};
pub use interrupt::asked as interrupted;
pub use leases::{Lease, LeaseError, Leases};
pub use leftovers::Swept;
pub use limits::{
    Entered, Group, LimitError, Limits, Verified, figure as limit_figure, gauge, join, verify,
};
pub use pace::{Pace, nice};
pub use pause::Paused;
pub use proc::{
    Carried, Interface, Io, Process, Processors, Turns, network_bytes, network_bytes_of,
    process_cpu, retransmitted_segments, thread_cpu,
};
pub use random::hex as random_hex;
