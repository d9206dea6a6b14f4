//! Whether the load generator, the link to it, or too short slices decided a figure instead of the server.
//!
//! Purpose: no figure of the generator is shown as the server's. Boundaries: the machine's own figures come with the record.

pub(crate) mod bottleneck;
pub(crate) mod client_link;
pub(crate) mod own_stalls;
pub(crate) mod short_slices;
