//! Whether a server takes as many connections as the clients of a trial open.
//!
//! Goal: the largest trial is found too large before anything is loaded, not after hours of the smaller ones. Non-goal: what a
//! server that was changed meanwhile answers (it refuses the clients, and the trial says so).

use super::RunError;
use super::servers::Provided;
use super::settings::plain;
use spec::plan::PlannedTrial;

/// Of prony's own beside the load: queries, counters, the sampler, the one that stops statements; and as many once more, for a
/// server counts one that was closed for a moment longer.
const OWN: u32 = 8;
/// An event works on one connection and is stopped by another.
const EACH_EVENT: u32 = 2;

/// Clients, and what prony opens beside them.
pub fn wanted(planned: &PlannedTrial) -> u32 {
    let events = EACH_EVENT.saturating_mul(planned.events.len() as u32);
    let clients = planned.load.clients();
    clients.saturating_add(OWN).saturating_add(events)
}

/// What is wrong where a server takes no more than `most`; none where they are enough.
pub fn too_few(planned: &PlannedTrial, most: u32, is_external: bool) -> Option<String> {
    let wanted = wanted(planned);
    let clients = planned.load.clients();
    let way_out = match is_external {
        true => format!("let its owner SET GLOBAL max_connections = {wanted}"),
        false => format!("set max_connections = {wanted} in [settings]"),
    };
    (wanted > most).then(|| {
        format!(
            "{clients} clients and prony's own {} connections are more than the server's max_connections = {most}; {way_out}, or take fewer",
            wanted - clients
        )
    })
}

/// Every trial that is planned on the server, with the setting as it will be started.
///
/// # Errors
/// The first trial for which the connections are too few.
pub fn check(trials: &[PlannedTrial], server: &Provided) -> Result<(), RunError> {
    let usual = server.provider.max_connections()?;
    let own = trials
        .iter()
        .filter(|planned| planned.server_name() == server.spec.name);
    for planned in own {
        let Some(most) = set(planned).filter(|_| server.is_managed()).or(usual) else {
            continue;
        };
        if let Some(why) = too_few(planned, most, server.spec.build.is_external()) {
            return Err(RunError::Asked(format!("{}: {why}", planned.key)));
        }
    }
    Ok(())
}

/// What the trial itself sets.
fn set(planned: &PlannedTrial) -> Option<u32> {
    let named = |(name, _): &&(String, _)| plain(name) == "max_connections";
    let (_, setting) = planned.settings.iter().find(named)?;
    setting.resolve(0).parse().ok()
}
