//! What a cell and its group say to each other.
//!
//! Each cell runs the steps of a trial in a thread of its own. It waits for its group before it prepares its server, hands over its
//! server when its clients are connected, and waits again before it looks at the server after the load. In rounds it waits for each of
//! its turns instead. So only one server does anything at any time. Outside this module: who is next (`slices`).

use crate::lock;
use crate::run::event::Uptime;
use crate::run::place::{Process, Shared};
use host::interrupt;
use load::Turns;
use observe::Edges;
use record::Slices;
use server::ServerError;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex};

/// A server whose clients are connected and wait.
pub(crate) struct Connected {
    pub turns: Arc<Turns>,
    pub server: Process,
    /// Ends the load.
    pub uptime: Arc<Uptime>,
    /// What reads the server at the edges of its slices.
    pub edges: Arc<Mutex<Edges>>,
}

impl Connected {
    /// Ends the load early.
    pub(super) fn end(&self) {
        self.uptime.stop().store(true, Relaxed);
    }
}

/// What a cell says.
pub(super) enum News {
    Connected(Box<Connected>),
    /// It waits for its next turn. None if it has not started its server.
    Waits(Option<Process>),
    /// Its trial has ended, measured or not.
    Ended,
}

/// The place of a cell in its group.
pub(crate) struct Seat {
    number: usize,
    news: Sender<(usize, News)>,
    go: Mutex<Receiver<Leave>>,
    /// Its server, which other cells may share.
    shared: Arc<Shared>,
}

/// What a group passes to a cell with its turn.
#[derive(Default)]
pub(crate) struct Leave {
    /// How its load was divided; None before the load, and without a measured slice.
    pub slices: Option<Slices>,
    /// Why its figures cannot be used.
    pub failed: Option<String>,
}

impl Leave {
    /// How the load was divided.
    ///
    /// # Errors
    /// Its figures cannot be used.
    pub(crate) fn slices(self) -> Result<Option<Slices>, ServerError> {
        match self.failed {
            Some(why) => Err(ServerError::Unusable(why)),
            None => Ok(self.slices),
        }
    }
}

/// Gives a cell its turn. When the group is gone, as after a panic, the cells end.
pub(super) type Go = Sender<Leave>;

impl Seat {
    pub(super) fn new(
        number: usize,
        news: Sender<(usize, News)>,
        shared: Arc<Shared>,
    ) -> (Seat, Go) {
        let (go, goes) = channel();
        let seat = Seat {
            number,
            news,
            go: Mutex::new(goes),
            shared,
        };
        (seat, go)
    }

    /// Its server, which other cells may share.
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Waits for the cell's turn.
    pub(crate) fn wait(&self) -> Leave {
        let go = lock(&self.go);
        go.recv().unwrap_or_else(|_| Leave {
            failed: Some("the servers that took turns were given up".into()),
            ..Leave::default()
        })
    }

    /// Hands on to the other cells and waits for the next turn. None if the server is not started.
    ///
    /// # Errors
    /// An interruption, or a server that could not be stopped meanwhile.
    pub(crate) fn turn(&self, server: Option<Process>) -> Result<(), ServerError> {
        let _ = self.news.send((self.number, News::Waits(server)));
        let leave = self.wait();
        match interrupt::asked() {
            true => Err(ServerError::Lost("interrupted".into())),
            false => leave.slices().map(|_| ()),
        }
    }

    /// Hands over the server.
    pub(crate) fn hand_over(&self, connected: Connected) {
        let news = News::Connected(Box::new(connected));
        // Nobody would ever give it a turn.
        if let Err(SendError((_, News::Connected(unheard)))) = self.news.send((self.number, news)) {
            unheard.end();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.news.send((self.number, News::Ended));
    }
}

#[cfg(test)]
mod tests {
    use super::super::slices::tests::connected;
    use super::*;

    #[test]
    fn a_cell_whose_group_has_gone_ends_instead_of_waiting_for_its_turn() {
        let (news, heard) = channel();
        let (seat, go) = Seat::new(0, news, Arc::default());
        drop((heard, go));
        let own = connected(0);
        let uptime = own.uptime.clone();
        seat.hand_over(own);
        assert!(uptime.stop().load(Relaxed));
        assert!(seat.wait().failed.unwrap().contains("given up"));
    }
}
