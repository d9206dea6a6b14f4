//! The patterns of the comparison, and what each program calls them.

#[derive(Clone, Copy)]
pub(crate) struct Pattern {
    /// As in an experiment file.
    pub name: &'static str,
    pub of_fio: &'static str,
    /// Its `seqwr` makes the file anew; `seqrewr` writes to the one that is there, as the others do.
    pub of_sysbench: &'static str,
    pub is_random: bool,
    pub reads: bool,
}

#[rustfmt::skip]
const PATTERNS: [Pattern; 4] = [
    Pattern { name: "random-read", of_fio: "--rw=randread", of_sysbench: "--file-test-mode=rndrd", is_random: true, reads: true },
    Pattern { name: "random-write", of_fio: "--rw=randwrite", of_sysbench: "--file-test-mode=rndwr", is_random: true, reads: false },
    Pattern { name: "sequential-read", of_fio: "--rw=read", of_sysbench: "--file-test-mode=seqrd", is_random: false, reads: true },
    Pattern { name: "sequential-write", of_fio: "--rw=write", of_sysbench: "--file-test-mode=seqrewr", is_random: false, reads: false },
];

impl Pattern {
    pub(crate) fn named(name: &str) -> Pattern {
        let found = PATTERNS.into_iter().find(|known| known.name == name);
        found.unwrap_or_else(|| {
            let known = PATTERNS.map(|known| known.name);
            panic!("unknown pattern {name}: give one of {known:?}")
        })
    }
}
