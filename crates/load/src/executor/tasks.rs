//! The tasks of one reactor, indexed by the number with which they are woken.

use crate::io::Io;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;

/// The future of one client, from start to end.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Spawns tasks on a reactor, from its own thread. They are polled from its next turn on.
#[derive(Clone, Default)]
pub struct Spawner<'a>(Rc<RefCell<Vec<Task<'a>>>>);

impl<'a> Spawner<'a> {
    pub fn spawn(&self, task: impl Future<Output = ()> + 'a) {
        self.0.borrow_mut().push(Box::pin(task));
    }

    pub(super) fn extend(&self, tasks: Vec<Task<'a>>) {
        self.0.borrow_mut().extend(tasks);
    }
}

/// All tasks. The index of a task that has ended is reused. A late wake-up of the old task then polls the new one, which does no
/// harm: every future of an [`Io`] checks again whether it is ready.
#[derive(Default)]
pub(super) struct Tasks<'a> {
    places: Vec<Option<Task<'a>>>,
    free: Vec<u32>,
}

impl<'a> Tasks<'a> {
    #[inline]
    pub(super) fn any_left(&self) -> bool {
        self.free.len() < self.places.len()
    }

    /// Adds the spawned tasks and wakes them.
    #[inline]
    pub(super) fn add_spawned(&mut self, spawner: &Spawner<'a>, io: &Io) {
        if !spawner.0.borrow().is_empty() {
            for task in spawner.0.take() {
                io.schedule().wake(self.place(task));
            }
        }
    }

    fn place(&mut self, task: Task<'a>) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(task);
                place
            }
            None => {
                self.places.push(Some(task));
                self.places.len() as u32 - 1
            }
        }
    }

    /// Polls a task. It may have ended already, with a wake-up from a wait that it cancelled.
    #[inline]
    pub(super) fn poll(&mut self, place: u32, context: &mut Context<'_>) {
        let Some(Some(task)) = self.places.get_mut(place as usize) else {
            return;
        };
        if task.as_mut().poll(context).is_ready() {
            self.places[place as usize] = None;
            self.free.push(place);
        }
    }
}
