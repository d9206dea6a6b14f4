//! Whether the clients' link was the limit of a load.
//!
//! Purpose: one rule for links of any speed, from the bytes of each second. Boundaries: `observe` counts the bytes, the caller knows the
//! speed.

/// The share of its speed from which a link counts as full. TCP fills a link of its own to 95 to 99 %: what is missing are gaps between the
/// packets, which the interface does not count, and the seconds' scatter.
const FULL_FROM: f64 = 0.9;

/// The share of all processors of this machine that was used (0 to 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CpuUse {
    /// By the nodes of the server together, which prony started.
    Nodes(f64),
    /// By everything that runs on this machine.
    Machine(f64),
}

impl CpuUse {
    fn text(self) -> String {
        match self {
            CpuUse::Nodes(share) => format!(", nodes at {:.0} % CPU", share * 100.0),
            CpuUse::Machine(share) => format!(
                ", with the processors of this machine at {:.0} %",
                share * 100.0
            ),
        }
    }
}

/// What a link carried in the measured seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// The median second's share of the speed, in the busier direction.
    pub share: f64,
    pub bits_per_s: u64,
}

impl LinkUse {
    /// From the bytes of each measured second in both directions; None without any.
    pub fn of(received: &[Option<f64>], sent: &[Option<f64>], bits_per_s: u64) -> Option<LinkUse> {
        let median = |bytes: &[Option<f64>]| {
            let mut known: Vec<f64> = bytes.iter().flatten().copied().collect();
            known.sort_by(f64::total_cmp);
            known.get(known.len() / 2).copied()
        };
        let busier = median(received)?.max(median(sent)?);
        Some(LinkUse {
            share: busier * 8.0 / bits_per_s as f64,
            bits_per_s,
        })
    }

    /// The sentence of a flag, if the link was full.
    pub fn is_the_limit(&self, cpu: Option<CpuUse>) -> Option<String> {
        if self.share < FULL_FROM {
            return None;
        }
        let cpu = cpu.map(CpuUse::text).unwrap_or_default();
        Some(format!(
            "the clients' link is the limit: {:.0} % of {:.0} Mbit/s{cpu}",
            self.share * 100.0,
            self.bits_per_s as f64 / 1e6
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_the_limit_when_it_is_full_in_one_direction() {
        let seconds = |bytes: f64| vec![Some(bytes), None, Some(bytes), Some(bytes / 2.0)];
        let full = LinkUse::of(&seconds(12.1e6), &seconds(1e6), 100_000_000).unwrap();
        let limit = "the clients' link is the limit: 97 % of 100 Mbit/s";
        for (cpu, says) in [
            (CpuUse::Nodes(0.4), ", nodes at 40 % CPU"),
            (
                CpuUse::Machine(0.4),
                ", with the processors of this machine at 40 %",
            ),
        ] {
            assert_eq!(
                full.is_the_limit(Some(cpu)).unwrap(),
                format!("{limit}{says}")
            );
        }
        let free = LinkUse::of(&seconds(8e6), &seconds(1e6), 100_000_000).unwrap();
        assert_eq!(free.is_the_limit(None), None);
    }

    #[test]
    fn a_link_without_a_sample_is_unknown() {
        assert_eq!(LinkUse::of(&[None], &[None], 1), None);
    }
}
