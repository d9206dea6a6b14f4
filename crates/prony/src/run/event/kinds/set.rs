//! `set = { limits = { write_iops = 200 }, settings = { innodb_io_capacity = 100 } }`: changes them until the end of the load.

use crate::run::event::Action;
use crate::run::event::happening::Happening;
use spec::event::SET;
use spec::{EventKind, Needs, SetSpec};
use std::sync::Arc;

pub(super) const KIND: EventKind<Action> = EventKind {
    name: SET,
    in_rounds: false,
    needs: Needs::Process,
    outage: None,
    // The reader of the file has read the value.
    read: |_| Some(Arc::new(act)),
};

fn act(happening: &mut Happening) {
    let Some(set) = happening.event.set.clone() else {
        return;
    };
    if set.settings.is_empty() {
        happening.disregard_earlier_outages();
    } else if !happening.is_connected() {
        return;
    }
    happening.note(SET, |own| {
        if let Some(limits) = set.limits {
            own.changes.limit(limits)?;
        }
        if !set.settings.is_empty() {
            let changes = own.changes.clone();
            let session = own.session()?;
            let adjusted = changes.set(session, &set.settings);
            let adjusted = adjusted.map_err(|error| error.to_string())?;
            own.happened.adjusted.extend(adjusted.iter().map(|one| {
                format!(
                    "a \"set\" event requested {} = {}, and the server uses {}",
                    one.name, one.requested, one.effective
                )
            }));
        }
        Ok(format!("{} in", shown(&set)))
    });
}

/// `write_iops = 200, innodb_io_capacity = 100`
fn shown(set: &SetSpec) -> String {
    let limits = set.limits.map(|limits| limits.to_string());
    let settings = set.settings.iter();
    let settings = settings.map(|(name, value)| format!("{name} = {value}"));
    limits
        .into_iter()
        .chain(settings)
        .collect::<Vec<_>>()
        .join(", ")
}
