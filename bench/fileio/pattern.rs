//! The patterns of the comparison, and what each program calls them.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    RandomRead,
    RandomWrite,
    SequentialRead,
    SequentialWrite,
}

impl Pattern {
    const ALL: [Pattern; 4] = [
        Pattern::RandomRead,
        Pattern::RandomWrite,
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
    ];

    pub(crate) fn named(name: &str) -> Pattern {
        let known = Pattern::ALL.map(Pattern::name);
        let place = known.iter().position(|known| *known == name);
        Pattern::ALL
            [place.unwrap_or_else(|| panic!("unknown pattern {name}: give one of {known:?}"))]
    }

    /// As in an experiment file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pattern::RandomRead => "random-read",
            Pattern::RandomWrite => "random-write",
            Pattern::SequentialRead => "sequential-read",
            Pattern::SequentialWrite => "sequential-write",
        }
    }

    pub(crate) fn of_fio(self) -> &'static str {
        match self {
            Pattern::RandomRead => "--rw=randread",
            Pattern::RandomWrite => "--rw=randwrite",
            Pattern::SequentialRead => "--rw=read",
            Pattern::SequentialWrite => "--rw=write",
        }
    }

    /// Its `seqwr` makes the file anew; `seqrewr` writes to the one that is there, as the others do.
    pub(crate) fn of_sysbench(self) -> &'static str {
        match self {
            Pattern::RandomRead => "--file-test-mode=rndrd",
            Pattern::RandomWrite => "--file-test-mode=rndwr",
            Pattern::SequentialRead => "--file-test-mode=seqrd",
            Pattern::SequentialWrite => "--file-test-mode=seqrewr",
        }
    }

    pub(crate) fn reads(self) -> bool {
        matches!(self, Pattern::RandomRead | Pattern::SequentialRead)
    }
}
