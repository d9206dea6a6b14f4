//! Flags of settings that a server does not have, or accepts and ignores.

use super::ServerPlace;
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

    /// Flags the requested settings that this kind of server does not support.
    pub(super) fn not_available(&self) -> Vec<Flag> {
        let abilities = self.node().abilities();
        let mut missing = Vec::new();
        let names = |pairs: &Pairs<Setting>| {
            pairs
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        if !abilities.settings && !self.planned.settings.is_empty() {
            missing.push(format!(
                "settings {}: not available, because prony does not configure this server",
                names(&self.planned.settings)
            ));
        }
        if !abilities.mysql && !self.planned.session.is_empty() {
            missing.push(format!(
                "session {}: not available on this server",
                names(&self.planned.session)
            ));
        }
        missing
            .into_iter()
            .map(|text| Flag {
                kind: FlagKind::NotAvailable,
                text,
            })
            .collect()
    }
}
