//! A workload whose operations end at once: what a drive of it costs is the engine's own.

use crate::drive::Drivable;
use crate::io::Io;
use crate::seam::{Failure, Outcome, Request, Workload};

struct Null;

/// The null workload. It is compiled here, so that its drive is optimised as the engine is, whoever calls it.
pub fn null() -> &'static dyn Drivable {
    &Null
}

impl Workload for Null {
    type Session = ();

    fn operations(&self) -> Vec<String> {
        vec!["nothing".into()]
    }

    fn pick(&self, _number: u64) -> u16 {
        0
    }

    async fn open(&self, _io: &Io, _client: u32) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, _session: &mut (), _request: &Request) -> Outcome {
        Outcome::Done
    }

    async fn close(&self, _session: ()) {}
}
