//! The factors that `[load]` brings: one row for each.

/// Writes the enum, its list and what is known of each from the same rows.
macro_rules! load_factors {
    ($($variant:ident: $name:literal in $unit:literal, count $is_count:literal;)+) => {
        /// A factor whose levels are a list in `[load]`. The trials of a series differ only in these, so they share a server start.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LoadFactor {
            $($variant),+
        }

        impl LoadFactor {
            pub const ALL: [LoadFactor; [$($name),+].len()] = [$(LoadFactor::$variant),+];

            /// The name in the file and in the record.
            pub const fn name(self) -> &'static str {
                match self { $(LoadFactor::$variant => $name),+ }
            }

            /// The unit of its levels in reports.
            pub const fn unit(self) -> &'static str {
                match self { $(LoadFactor::$variant => $unit),+ }
            }

            /// Whether its levels are counts of clients or workers, so that one of 1 shows what a single one achieves.
            pub const fn is_count(self) -> bool {
                match self { $(LoadFactor::$variant => $is_count),+ }
            }
        }
    };
}

load_factors! {
    Clients: "clients" in "clients", count true;
    Workers: "workers" in "workers", count true;
    Rate: "rate" in "requests/s", count false;
}

impl LoadFactor {
    /// The factor of this name; None if the file defines it under `[factor]`.
    pub fn named(name: &str) -> Option<LoadFactor> {
        LoadFactor::ALL.into_iter().find(|one| one.name() == name)
    }
}
