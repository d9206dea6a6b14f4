//! Flags of settings that a server does not have, or accepts and ignores.

use super::ServerPlace;
use crate::run::prepare::unapplied;
use record::{Flag, FlagKind};
use spec::{Pairs, Setting, switches};

impl ServerPlace<'_> {
    /// Flags the trial's switches that its server accepts but ignores.
    pub(super) fn ignored(&self) -> Vec<Flag> {
        let identity = self.server.identity();
        let pairs = self.planned.settings.iter().chain(&self.planned.session);
        let ignored = pairs.flat_map(|(name, setting)| {
            switches::ignored(name, setting, &identity.version, &identity.comment)
        });
        ignored
            .map(|text| Flag {
                kind: FlagKind::SwitchIgnored,
                text,
            })
            .collect()
    }

    /// Flags the settings that SQLite does not have.
    pub(super) fn not_available(&self) -> Vec<Flag> {
        if self.node().abilities().mysql {
            return Vec::new();
        }
        let names = |pairs: &Pairs<Setting>| {
            let names = pairs.iter().map(|(name, _)| name.clone());
            names.collect::<Vec<_>>().join(", ")
        };
        let sections = [
            ("settings", &self.planned.settings),
            ("session", &self.planned.session),
        ];
        let missing = sections.into_iter().filter(|(_, pairs)| !pairs.is_empty());
        missing
            .map(|(section, pairs)| Flag {
                kind: FlagKind::NotAvailable,
                text: format!("{section} {}: not available on this server", names(pairs)),
            })
            .collect()
    }

    /// Flags the settings that are not in force on a server that prony does not configure.
    pub(super) fn not_applied(&self) -> Vec<Flag> {
        let Some(in_force) = &self.in_force else {
            return Vec::new();
        };
        unapplied::flags(&self.planned, in_force, self.ready.note.data_bytes)
    }
}
