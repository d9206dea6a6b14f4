//! The position within an operation.
//!
//! Purpose: find the next statement in constant time. Boundaries: `generator` draws values, `session` sends statements.

use super::{Operation, Step};
use datagen::random::{Random, below};

/// A statement of an operation, and the seed of its values.
pub(super) struct Cursor {
    /// The operation's.
    number: u64,
    random: Random,
    step: usize,
    time: u16,
    statement: usize,
    table: u32,
}

impl Cursor {
    pub(super) fn new(number: u64, random: Random) -> Cursor {
        Cursor {
            number,
            random,
            step: 0,
            time: 0,
            statement: 0,
            table: 0,
        }
    }

    /// None: all statements have run.
    #[inline]
    pub(super) fn step<'o>(&self, operation: &'o Operation) -> Option<&'o Step> {
        operation.steps.get(self.step)
    }

    /// Whether values must be drawn first; draws the table once for all repetitions of a step.
    #[inline]
    pub(super) fn is_at_draw(&mut self, tables: u32) -> bool {
        if self.statement == 0 && self.time == 0 && tables > 1 {
            self.table = below(&mut self.random, u64::from(tables)) as u32;
        }
        self.statement == 0
    }

    /// Returns the index of the statement in the script and advances.
    #[inline]
    pub(super) fn take(&mut self, step: &Step) -> usize {
        let statement = usize::from(step.statements[self.statement]);
        self.statement += 1;
        if self.statement == step.statements.len() {
            self.statement = 0;
            self.time += 1;
            if self.time == step.times {
                self.time = 0;
                self.step += 1;
            }
        }
        statement
    }

    /// Whether the last returned statement commits changes.
    #[cold]
    pub(super) fn commits(&self, operation: &Operation) -> bool {
        let (step, statement) = match (self.statement, self.time) {
            (0, 0) => (self.step.checked_sub(1), None),
            (0, _) => (Some(self.step), None),
            (next, _) => (Some(self.step), Some(next - 1)),
        };
        let commits = step.map_or(&[][..], |step| &operation.steps[step].commits);
        let taken = match statement {
            Some(place) => commits.get(place),
            None => commits.last(),
        };
        taken.copied().unwrap_or(false)
    }

    /// From 0.
    #[inline]
    pub(super) fn table(&self) -> u32 {
        self.table
    }

    /// The seed of values: the number of the operation, and its stream.
    #[inline]
    pub(super) fn source(&mut self) -> (u64, &mut Random) {
        (self.number, &mut self.random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datagen::random::stream;

    fn step(times: u16, statements: &[u16]) -> Step {
        Step {
            times,
            draws: Vec::new(),
            statements: statements.to_vec(),
            commits: statements.iter().map(|place| place % 2 == 1).collect(),
        }
    }

    /// Statements, whether they were drawn for, and their tables.
    fn walked(steps: Vec<Step>, tables: u32) -> Vec<(usize, bool, u32)> {
        let operation = Operation {
            name: "o".into(),
            steps,
            transaction: false,
            turns_autocommit_off: false,
            reads_only: true,
        };
        let mut cursor = Cursor::new(1, stream(1, 1));
        let mut walked = Vec::new();
        while let Some(step) = cursor.step(&operation) {
            let is_drawn = cursor.is_at_draw(tables);
            walked.push((cursor.take(step), is_drawn, cursor.table()));
        }
        walked
    }

    #[test]
    fn each_step_comes_so_many_times_with_a_draw_before_each() {
        let walked = walked(vec![step(1, &[7]), step(2, &[3, 4])], 1);
        let expected = [(7, true), (3, true), (4, false), (3, true), (4, false)];
        assert_eq!(walked, expected.map(|(place, drawn)| (place, drawn, 0)));
    }

    #[test]
    fn a_step_stays_with_its_table() {
        let walked = walked(vec![step(50, &[1]), step(50, &[2])], 1 << 20);
        assert!(walked[..50].iter().all(|one| one.2 == walked[0].2));
        assert!(walked[50..].iter().all(|one| one.2 == walked[50].2));
        assert_ne!(walked[0].2, walked[50].2);
    }

    #[test]
    fn whether_the_last_statement_commits_follows_the_cursor() {
        let operation = Operation {
            name: "o".into(),
            steps: vec![step(2, &[1, 2]), step(1, &[5]), step(2, &[4])],
            transaction: false,
            turns_autocommit_off: false,
            reads_only: true,
        };
        let mut cursor = Cursor::new(1, stream(1, 1));
        assert!(!cursor.commits(&operation), "nothing is taken yet");
        while let Some(step) = cursor.step(&operation) {
            let place = cursor.take(step);
            assert_eq!(cursor.commits(&operation), place % 2 == 1, "{place}");
        }
    }

    #[test]
    fn an_operation_without_steps_has_no_statement() {
        assert_eq!(walked(Vec::new(), 1), []);
    }
}
