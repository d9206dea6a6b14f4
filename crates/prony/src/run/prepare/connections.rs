//! Checks that a server allows as many connections as a trial opens.
//!
//! Purpose: refuse a trial with too many clients before any data is loaded, not after hours of smaller trials. Outside this module: a
//! server whose limit changes meanwhile. It refuses the clients, and the trial reports that.

use super::servers::Provided;
use crate::run::RunError;
use spec::plan::PlannedTrial;
use spec::setting_of;

/// prony's own connections: for queries, counters, the sampler and KILL QUERY. Doubled, because a server counts a closed connection
/// for a moment longer.
const OWN: u32 = 8;
/// Connections per event: one executes it, another stops it.
const EACH_EVENT: u32 = 2;

/// The connections of a trial: its clients and prony's own.
pub(crate) fn wanted(planned: &PlannedTrial) -> u32 {
    let events = EACH_EVENT.saturating_mul(planned.events.len() as u32);
    let clients = planned.load.clients();
    clients.saturating_add(OWN).saturating_add(events)
}

/// An error message if `max` connections are not enough for the trial.
pub(crate) fn too_few(planned: &PlannedTrial, max: u32, is_external: bool) -> Option<String> {
    let wanted = wanted(planned);
    let clients = planned.load.clients();
    let fix = if is_external {
        format!("ask its owner to SET GLOBAL max_connections = {wanted}")
    } else {
        format!("set max_connections = {wanted} in [settings]")
    };
    (wanted > max).then(|| {
        format!(
            "{clients} clients and prony's own {} connections exceed the server's max_connections = {max}; {fix}, or use fewer clients",
            wanted - clients
        )
    })
}

/// Checks every trial on the server, with the max_connections that the server will have.
///
/// # Errors
/// A trial needs more connections.
pub(crate) fn check(trials: &[PlannedTrial], server: &Provided) -> Result<(), RunError> {
    let usual = server.provider.max_connections()?;
    let own = trials
        .iter()
        .filter(|planned| planned.server_name() == server.spec.name);
    for planned in own {
        let Some(max) = set(planned).filter(|_| server.is_managed()).or(usual) else {
            continue;
        };
        if let Some(why) = too_few(planned, max, server.spec.build.is_external()) {
            return Err(RunError::Usage(format!("{}: {why}", planned.key)));
        }
    }
    Ok(())
}

/// The trial's own max_connections.
fn set(planned: &PlannedTrial) -> Option<u32> {
    let setting = setting_of(&planned.settings, "max_connections")?;
    setting.resolve(0).parse().ok()
}
