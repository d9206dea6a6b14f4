//! Measures the CPU time and memory of a client program, as accounted by the kernel for a child process.

use std::io::Read;
use std::process::{Command, Stdio};

pub(crate) struct Measured {
    pub output: String,
    pub cpu_s: f64,
    pub memory_kb: f64,
}

/// Runs the program until it exits.
pub(crate) fn run(command: &mut Command) -> Measured {
    // False positive: wait4 below waits for the child.
    #[allow(clippy::zombie_processes)]
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", command.get_program()));
    let mut output = String::new();
    let mut stdout = child.stdout.take().expect("it is piped");
    stdout
        .read_to_string(&mut output)
        .expect("its output is text");
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid; wait4 fills it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that outlive the call; the child was started here and not waited for.
    let ended = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert!(ended > 0 && status == 0, "the client failed:\n{output}");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Measured {
        output,
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        memory_kb: usage.ru_maxrss as f64,
    }
}

/// One measurement of one client program.
pub(crate) struct Figure {
    pub clients: u32,
    pub operations_per_s: f64,
    pub cpu_us_per_operation: f64,
    pub memory_kb: f64,
}

impl Figure {
    pub(crate) fn of(measured: &Measured, clients: u32, operations: f64, time_s: f64) -> Figure {
        Figure {
            clients,
            operations_per_s: operations / time_s,
            cpu_us_per_operation: measured.cpu_s * 1e6 / operations,
            memory_kb: measured.memory_kb,
        }
    }
}
