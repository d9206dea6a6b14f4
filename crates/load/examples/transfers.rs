//! Measures the engine's maximum rate of file operations: no-ops of io_uring through the same path as reads and writes, in closed loop.
//!
//!     cargo run --release -p load --example transfers -- clients=2 depth=64 time=5
//!
//! With `path=FILE` it reads blocks of `bytes` at random from that file instead, past the page cache. `engine=aio` or `engine=blocking`
//! (with `depth=1`) reads on another engine.

mod arguments;

use arguments::{number, value};
use load::{
    Aligned, Backend, Drive, Failure, Io, Load, Outcome, Placement, Request, Transfer, Watch,
    Workload, drive,
};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

struct Transfers {
    files: Arc<[File]>,
    placement: Placement,
    depth: u32,
    bytes: u64,
    /// In the file. 0: no-ops.
    blocks: u64,
}

impl Workload for Transfers {
    type Session = Transfer;

    fn placement(&self) -> Placement {
        self.placement
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn operations(&self) -> Vec<String> {
        vec!["transfer".into()]
    }

    fn pick(&self, _: u64) -> u16 {
        0
    }

    async fn open(&self, io: &Io, _: u32) -> Result<Transfer, Failure> {
        let buffer = Aligned::new(self.bytes as usize);
        Ok(io
            .transfer(&self.files, buffer)
            .expect("the engine has files"))
    }

    async fn operate(&self, transfer: &mut Transfer, request: &Request) -> Outcome {
        let is_done = match self.blocks {
            0 => transfer.nothing().await.is_ok(),
            blocks => {
                let spread = request.number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let block = (u128::from(spread) * u128::from(blocks)) >> 64;
                transfer.read(0, block as u64 * self.bytes).await.is_ok()
            }
        };
        if is_done {
            Outcome::Done
        } else {
            Outcome::Failed(0)
        }
    }

    async fn close(&self, _: Transfer) {}
}

fn main() {
    let path = value("path", "");
    let files: Vec<File> = (!path.is_empty())
        .then(|| {
            let mut options = File::options();
            let options = options.read(true).custom_flags(libc::O_DIRECT);
            options.open(&path).expect("the file supports direct I/O")
        })
        .into_iter()
        .collect();
    let bytes = number("bytes", "4096");
    let workload = Transfers {
        blocks: files
            .first()
            .map_or(0, |file| file.metadata().expect("its size").len() / bytes),
        files: files.into(),
        placement: match value("engine", "uring").as_str() {
            "uring" => Placement::On(Backend::Uring),
            "aio" => Placement::On(Backend::Aio),
            "blocking" => Placement::Threads,
            other => panic!("unknown engine {other}: see the top of the example"),
        },
        depth: number("depth", "64") as u32,
        bytes,
    };
    let settings = Drive::new(
        Load::closed(number("clients", "2") as u32),
        Duration::from_secs(number("time", "5")),
    );
    let driven = drive(
        &workload,
        &settings,
        &AtomicBool::new(false),
        Watch::default(),
    )
    .expect("it starts");
    let cpu_s = driven.cpu_user_s + driven.cpu_system_s;
    let done = driven.tallies[0].done() as f64;
    println!(
        "{} clients at depth {} on {:?}: {:.0} ops/s, {:.0} ns of CPU each ({:.0} user), {} failed",
        settings.load.clients(),
        workload.depth,
        driven.backend,
        done / driven.until.as_secs_f64(),
        cpu_s / done * 1e9,
        driven.cpu_user_s / done * 1e9,
        driven.tallies[0].not_done(),
    );
}
