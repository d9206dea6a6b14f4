//! The programs and engines that are compared, and one turn of each: prony runs in a child process of its own, like its peers.

use crate::measured::{Figure, run};
use crate::{Settings, bare_loop, fio, prony, sysbench};
use std::path::Path;
use std::process::Command;

/// Threads beyond this are not a sensible way to keep operations in flight.
const THREADS_MAX: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Prony,
    Fio,
    Sysbench,
    BareLoop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    IoUring,
    Libaio,
    /// A thread for each operation in flight.
    Sync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contestant {
    pub program: Program,
    pub engine: Engine,
}

/// One turn of one program.
pub(crate) struct Turn {
    pub contestant: Contestant,
    /// Its clients are the operations in flight.
    pub figure: Figure,
    pub latency: Latency,
}

/// The p50, p95 and p99 of the response time, in microseconds.
pub(crate) type Latency = [f64; 3];

/// What a program printed.
pub(crate) struct Output {
    pub operations: f64,
    pub latency: Latency,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::IoUring => "io_uring",
            Engine::Libaio => "libaio",
            Engine::Sync => "sync",
        }
    }

    /// Threads, and operations in flight on each.
    pub(crate) fn threads(self, depth: u32) -> (u32, u32) {
        match self {
            Engine::IoUring | Engine::Libaio => (1, depth),
            Engine::Sync => (depth, 1),
        }
    }
}

impl Contestant {
    /// Those that can keep so many operations in flight.
    pub(crate) fn at(settings: &Settings, depth: u32) -> Vec<Contestant> {
        let asynchronous = [
            (Program::Prony, Engine::IoUring),
            (Program::Fio, Engine::IoUring),
            (Program::Prony, Engine::Libaio),
            (Program::Fio, Engine::Libaio),
            (Program::Sysbench, Engine::Libaio),
        ];
        let blocking = [Program::Prony, Program::Fio, Program::Sysbench]
            .map(|program| (program, Engine::Sync));
        let has_threads = depth <= THREADS_MAX;
        let blocking = blocking.into_iter().filter(|_| has_threads);
        let has_bare_loop = settings.bare_loop.is_some() && settings.pattern.reads;
        let bare_loop = has_bare_loop.then_some((Program::BareLoop, Engine::IoUring));
        let all = asynchronous.into_iter().chain(bare_loop).chain(blocking);
        all.map(|(program, engine)| Contestant { program, engine })
            .collect()
    }

    pub(crate) fn name(self) -> String {
        let program = match self.program {
            Program::Prony => "prony",
            Program::Fio => "fio",
            Program::Sysbench => "sysbench",
            Program::BareLoop => "bare loop",
        };
        format!("{program}, {}", self.engine.name())
    }

    pub(crate) fn turn(self, settings: &Settings, folder: &Path, bytes: u64, depth: u32) -> Turn {
        let mut command: Command = match self.program {
            Program::Prony => prony::command(settings, folder, self.engine, depth),
            Program::Fio => fio::command(settings, folder, bytes, self.engine, depth),
            Program::Sysbench => sysbench::command(settings, folder, bytes, self.engine, depth),
            Program::BareLoop => {
                let program = settings.bare_loop.as_ref().expect("it takes part");
                bare_loop::command(settings, program, folder, depth)
            }
        };
        let measured = run(&mut command);
        let output = match self.program {
            Program::Prony => prony::read(&measured.output),
            Program::Fio => fio::read(&measured.output),
            Program::Sysbench => sysbench::read(&measured.output),
            Program::BareLoop => bare_loop::read(&measured.output, settings.time_s),
        };
        let time_s = f64::from(settings.time_s);
        Turn {
            contestant: self,
            figure: Figure::of(&measured, depth, output.operations, time_s),
            latency: output.latency,
        }
    }
}
