//! Begins the events of an experiment file on a real server, as a load does.

use prony::run::Power;
use prony::run::event::kinds::KINDS;
use prony::run::event::{Events, Means, PreparedEvents, Reopen};
use prony::run::watch::stopper;
use server::{Managed, Node, Server, ServerError};
use std::sync::Arc;
use std::time::Instant;

/// `events` is the part of the file with `[[event]]`.
pub(crate) fn begin<E: std::fmt::Debug>(
    events: &str,
    means: impl Fn() -> Result<Means, E>,
) -> Events {
    let source = format!(
        "title = 't'\nquestion = 'q'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n\
         [protocol]\ntime = '600s'\n{events}\n"
    );
    let target = |_: &str, _: &spec::Section| Some(spec::TargetKind::Server);
    let experiment = spec::parse("t", "t.toml", &source, &target).unwrap();
    let actions = spec::events::read(&experiment, &KINDS).unwrap();
    let prepared = PreparedEvents::open(&experiment.events, &actions, means).unwrap();
    prepared.begin(Instant::now())
}

/// What an event on this server works with.
pub(crate) fn means(server: &Arc<Managed>, power: Option<&Power>) -> Result<Means, ServerError> {
    let node = server.clone();
    let reopen: Reopen = Box::new(move || {
        let session = node.connect()?;
        let stopper = stopper(&session, node.as_ref())?;
        Ok((session, stopper))
    });
    let (session, stopper) = reopen()?;
    Ok(Means {
        session: Some(session),
        stopper,
        reopen,
        server: Some(Server::shared(server.clone())),
        changes: Arc::default(),
        power: power.cloned(),
    })
}
