//! Counts of the whole machine: `/proc/stat` and `/proc/net/dev` (proc(5)).

use super::interface::is_stacked;
use super::seconds;
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::fs;

/// CPU time since boot of the CPUs that this process may use, together, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processors {
    /// Busy: neither idle nor waiting for I/O.
    pub busy_s: f64,
    /// Idle while a process waited for I/O (iowait).
    pub waiting_s: f64,
    /// Taken by the hypervisor (steal).
    pub stolen_s: f64,
    pub idle_s: f64,
}

impl Processors {
    /// Reads the current values.
    pub fn read() -> Option<Processors> {
        // The thread that asks may be bound to one of them.
        let process = Some(rustix::process::getpid());
        let allowed = rustix::thread::sched_getaffinity(process).ok();
        let is_allowed = |cpu: usize| {
            let has = |allowed: &CpuSet| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu);
            allowed.as_ref().is_none_or(has)
        };
        parse(&fs::read_to_string("/proc/stat").ok()?, is_allowed)
    }
}

/// Adds up `cpu0 user nice system idle iowait irq softirq steal guest guest_nice` of the allowed CPUs; user and nice include the guests. Of all
/// that are listed where an allowed one is not: a container may number its CPUs anew (lxcfs), and the affinity has the machine's numbers.
fn parse(stat: &str, is_allowed: impl Fn(usize) -> bool) -> Option<Processors> {
    let lines = stat.lines().filter_map(|line| {
        // The line of all CPUs has no number.
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        Some((cpu.parse().ok()?, fields))
    });
    let listed: BTreeMap<usize, &str> = lines.collect();
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| is_allowed(*cpu));
    let are_listed = allowed.all(|cpu| listed.contains_key(&cpu));
    let own = listed
        .iter()
        .filter(|(cpu, _)| !are_listed || is_allowed(**cpu));
    let ticks = own.map(|(_, fields)| -> Option<[u64; 8]> {
        let fields = fields.split_whitespace().map(|field| field.parse().ok());
        let ticks: Vec<u64> = fields.collect::<Option<_>>()?;
        ticks.first_chunk().copied()
    });
    let sums = ticks.reduce(|sum, one| {
        let (sum, one) = (sum?, one?);
        let added = |field: usize| sum[field].saturating_add(one[field]);
        Some(std::array::from_fn(added))
    });
    let [user, nice, system, idle, waiting, irq, softirq, stolen] = sums??;
    Some(Processors {
        busy_s: [user, nice, system, irq, softirq].map(seconds).iter().sum(),
        waiting_s: seconds(waiting),
        stolen_s: seconds(stolen),
        idle_s: seconds(idle),
    })
}

impl Processors {
    /// The share of all CPU time since an earlier reading that the hypervisor took, from 0 to 1.
    pub(crate) fn stolen_share_since(&self, earlier: &Processors) -> f64 {
        let all = |one: &Processors| one.busy_s + one.waiting_s + one.stolen_s + one.idle_s;
        let passed = all(self) - all(earlier);
        if passed > 0.0 {
            (self.stolen_s - earlier.stolen_s) / passed
        } else {
            0.0
        }
    }
}

/// Bytes received and sent over all interfaces since boot. A byte over loopback counts once, though the kernel counts it as
/// both received and sent, and so does one over a bond, a bridge or a VLAN, whose lower interfaces count it too.
pub fn network_bytes() -> Option<u64> {
    network(&fs::read_to_string("/proc/net/dev").ok()?, is_stacked)
}

/// Bytes of the network namespace that a process has for itself; None if it shares that of prony.
pub fn network_bytes_of(pid: u32) -> Option<u64> {
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
    let own = namespace(&pid.to_string())?;
    if Some(own) == namespace("self") {
        return None;
    }
    let dev = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?;
    // What lies above what is not visible from here.
    network(&dev, |_| false)
}

/// Parses, after two header lines, `name: bytes packets errs drop fifo frame compressed multicast bytes ...`: received, then
/// sent.
fn network(dev: &str, is_stacked: impl Fn(&str) -> bool) -> Option<u64> {
    let interface = |line: &str| {
        let (name, fields) = line.split_once(':')?;
        let number = |n: usize| fields.split_whitespace().nth(n)?.parse::<u64>().ok();
        match name.trim() {
            "lo" => number(8),
            name if is_stacked(name) => Some(0),
            _ => number(0)?.checked_add(number(8)?),
        }
    };
    dev.lines()
        .skip(2)
        .map(interface)
        .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn busy_time_excludes_idle_and_iowait_and_other_cpus() {
        let text = "cpu  99999 2 3 4 5 6 7 8 9 10\ncpu0 82785 66260 10618 74074 703 5 122 212 9 9\n\
                    cpu1 1 2 3 4 5 6 7 8 9 10\nintr 1 2\n";
        let expected = Processors {
            busy_s: [82785, 66260, 10618, 5, 122].map(seconds).iter().sum(),
            waiting_s: seconds(703),
            stolen_s: seconds(212),
            idle_s: seconds(74074),
        };
        assert_eq!(parse(text, |cpu| cpu == 0), Some(expected));
        let both = parse(text, |_| true).unwrap();
        assert_eq!(both.idle_s, seconds(74074 + 4));
        assert_eq!(parse(text, |_| false), None);
        assert_eq!(parse(text, |cpu| cpu == 5), Some(both), "numbered anew");
        assert!(Processors::read().unwrap().busy_s > 0.0);
    }

    const DEV: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0\n  \
        ifb0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
        eth0: 1388730640   35932    0    0    0     0          0         0  1816175   22103    0    0    0     0       0          0\n";

    #[test]
    fn a_byte_over_loopback_counts_once() {
        let whole = 3193 + 1_388_730_640 + 1_816_175;
        assert_eq!(network(DEV, |_| false), Some(whole));
    }

    #[test]
    fn a_byte_over_a_bond_counts_once() {
        let bond = "bond0: 1388730640 35932 0 0 0 0 0 0 1816175 22103 0 0 0 0 0 0\n";
        let whole = 3193 + 1_388_730_640 + 1_816_175;
        let dev = format!("{DEV}{bond}");
        assert_eq!(network(&dev, |name| name == "bond0"), Some(whole));
    }

    #[test]
    fn a_process_in_the_same_namespace_has_no_network_of_its_own() {
        assert_eq!(network_bytes_of(std::process::id()), None);
    }

    #[test]
    fn bytes_sent_over_loopback_are_counted() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        let before = network_bytes().unwrap();
        sender.write_all(&[7; 100_000]).unwrap();
        receiver.read_exact(&mut [0; 100_000]).unwrap();
        assert!(network_bytes().unwrap() - before >= 100_000);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(cpu |lo:|[0-9 :\n]){0,40}", cut in 0..DEV.len()) {
            let _ = (parse(&text, |_| true), network(&text, |_| true));
            let _ = network(&DEV[..cut], |_| false);
        }
    }
}
