//! The tasks of one reactor, by the numbers that they are woken by.

use crate::io::Io;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;

/// What one client does, from beginning to end.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Gives tasks to a reactor, from its own thread. They are polled from its next turn on.
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

/// A place whose task has ended is given to the next one. A wake-up that was meant for the task before then finds the wrong
/// one, which does no harm: every future of an [`Io`] looks again whether it is its time.
#[derive(Default)]
pub struct Tasks<'a> {
    places: Vec<Option<Task<'a>>>,
    free: Vec<u32>,
}

impl<'a> Tasks<'a> {
    #[inline]
    pub fn are_left(&self) -> bool {
        self.free.len() < self.places.len()
    }

    /// Takes in what was spawned, and wakes it.
    #[inline]
    pub fn take_in(&mut self, spawner: &Spawner<'a>, io: &Io) {
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

    /// A task that has ended can have been woken by a wait that it gave up.
    #[inline]
    pub fn poll(&mut self, place: u32, context: &mut Context<'_>) {
        let Some(Some(task)) = self.places.get_mut(place as usize) else {
            return;
        };
        if task.as_mut().poll(context).is_ready() {
            self.places[place as usize] = None;
            self.free.push(place);
        }
    }
}
