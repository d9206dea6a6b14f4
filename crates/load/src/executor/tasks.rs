//! The tasks of one reactor, indexed by the number with which they are woken.

use crate::io::Io;
use std::future::Future;
use std::pin::Pin;
use std::task::Context;

/// The future of one client, from start to end.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// All tasks. One that has ended leaves its place empty.
pub(super) struct Tasks<'a> {
    places: Vec<Option<Task<'a>>>,
    left: usize,
}

impl<'a> Tasks<'a> {
    /// Wakes each of the tasks, so that the first turn polls all.
    pub(super) fn woken(tasks: Vec<Task<'a>>, io: &Io) -> Tasks<'a> {
        (0..tasks.len() as u32).for_each(|place| io.schedule().wake(place));
        Tasks {
            left: tasks.len(),
            places: tasks.into_iter().map(Some).collect(),
        }
    }

    #[inline]
    pub(super) fn any_left(&self) -> bool {
        self.left > 0
    }

    /// Polls a task. It may have ended already, with a wake-up from a wait that it cancelled.
    #[inline]
    pub(super) fn poll(&mut self, place: u32, context: &mut Context<'_>) {
        let Some(Some(task)) = self.places.get_mut(place as usize) else {
            return;
        };
        if task.as_mut().poll(context).is_ready() {
            self.places[place as usize] = None;
            self.left -= 1;
        }
    }
}
