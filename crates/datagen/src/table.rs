//! The tables of a benchmark as an enum: one declaration gives the enum, its list and its names.

/// Declares the tables of a benchmark, each with its name in SQL and in file names, in the order of `Table::ALL`.
macro_rules! tables {
    ($($variant:ident = $name:literal,)+) => {
        /// A table of the benchmark.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Table {
            $($variant,)+
        }

        impl Table {
            pub const ALL: [Table; [$($name),+].len()] = [$(Table::$variant,)+];

            /// The name in SQL and in file names.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Table::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use tables;
