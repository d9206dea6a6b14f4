//! Names of counters, series and numbers that prony makes itself, besides those of the server.
//!
//! Purpose: what measures them, what analyses them and what reads claims use the same words. Boundary: the server's own names are
//! opaque here.

/// The fact about files that names their file system and its device.
pub const LIES_ON: &str = "data lies on";

/// CPU time of the server process (µs), and its kernel part.
pub const SERVER_CPU: &str = "server cpu us";
pub const SERVER_CPU_SYSTEM: &str = "server cpu system us";
/// Bytes that the server process read from disk.
pub const SERVER_READ: &str = "server read bytes";
/// Reads of the disk with the data folder, by all processes, and their bytes.
pub const DEVICE_READS: &str = "device reads";
pub const DEVICE_READ: &str = "device read bytes";
/// The time that these reads took (µs); flushes of this disk's cache by all processes, and their time (µs).
pub const DEVICE_READ_US: &str = "device read us";
pub const DEVICE_FLUSHES: &str = "device flushes";
pub const DEVICE_FLUSH_US: &str = "device flush us";

/// The counters that prony reads from the operating system, in addition to those of the server.
pub const SYSTEM_COUNTERS: [&str; 8] = [
    SERVER_CPU,
    SERVER_CPU_SYSTEM,
    SERVER_READ,
    DEVICE_READS,
    DEVICE_READ,
    DEVICE_READ_US,
    DEVICE_FLUSHES,
    DEVICE_FLUSH_US,
];

/// Series: bytes per second that came to the clients' interface, and that it sent, with the headers of each packet.
pub const LINK_RECEIVED: &str = "link received bytes";
pub const LINK_SENT: &str = "link sent bytes";
/// Series: packets per second.
pub const LINK_RECEIVED_PACKETS: &str = "link received packets";
pub const LINK_SENT_PACKETS: &str = "link sent packets";

/// A series of each node: the largest age (ms) of a read in each second, 0 where each returned the newest acknowledged value.
pub const READ_AGE: &str = "read age ms";
/// A series of each node: reads per second that returned less than the same reader had seen before on any node.
pub const READS_BACK: &str = "reads back in time";

/// The numbers of a recovery that claims can compare. Those in seconds count from the moment of the event, those of a phase in the
/// server's log are its duration.
pub const RECOVERY_NUMBERS: [&str; 10] = [
    "recovered_s",
    "commit_s",
    "accept_s",
    "start_s",
    "stop_s",
    "redo_s",
    "redo_bytes",
    "undo_s",
    "undo_rows",
    "doublewrite_pages",
];
