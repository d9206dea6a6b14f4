//! The session of one client: its connection, its statements and the values of an operation.

use super::commits;
use super::cursor::Cursor;
use super::effects::{Counted, Noticed, Purpose, Total};
use super::failure::failure;
use super::generator::Drawn;
use super::{Operation, Script, Statement, Step};
use crate::schema::witness::Witness;
use load::{Failure, Io, Outcome};
use wire::{Connection, Done, Login, PendingReply, WireError};

/// Error code: the statement is not supported as a prepared statement.
const NOT_PREPARED: u16 = 1295;
/// Own error code: after the operation, its changes are not committed.
const NOT_COMMITTED: u16 = 64_902;

pub(super) struct Session {
    connection: Connection,
    prepared: Vec<Prepared>,
    /// By parameter.
    drawn: Vec<Drawn>,
    text: Vec<u8>,
    /// Whether replies show autocommit.
    shows_autocommit: bool,
    counted: Counted,
}

enum Prepared {
    Binary(wire::Statement),
    Text(String),
}

impl Session {
    /// Connects, runs the initial statements (session variables), turns autocommit on and prepares every statement.
    pub(super) async fn open(
        script: &Script,
        io: &Io,
        login: &Login,
        client: u32,
        first: &[String],
        total: &Total,
    ) -> Result<Session, Failure> {
        let mut connection = Connection::open(io, login, client)
            .await
            .map_err(|error| failure("cannot connect", error))?;
        let shows_autocommit = commits::begin(&mut connection, first, true).await?;
        let mut session = Session {
            shows_autocommit,
            counted: Counted::from_total(total),
            connection,
            prepared: Vec::with_capacity(script.places()),
            drawn: vec![Drawn::Int(0); script.parameters.len()],
            text: vec![0; script.text_bytes()],
        };
        for statement in &script.statements {
            for sql in statement.texts(script.tables) {
                let prepared = session.prepare(sql, statement.control).await?;
                session.prepared.push(prepared);
            }
        }
        Ok(session)
    }

    async fn prepare(&mut self, sql: String, control: bool) -> Result<Prepared, Failure> {
        if control {
            return Ok(Prepared::Text(sql));
        }
        match self.connection.prepare(&sql).await {
            Ok(statement) => Ok(Prepared::Binary(statement)),
            Err(error) if error.code() == NOT_PREPARED && !error.is_lost() => {
                Ok(Prepared::Text(sql))
            }
            Err(error) => Err(failure(&sql, error)),
        }
    }

    /// Sends the next statement of an operation and returns its purpose; None at its end. This makes every operation one loop around
    /// one await.
    #[inline]
    pub(super) fn ask_next(
        &mut self,
        script: &Script,
        operation: &Operation,
        cursor: &mut Cursor,
    ) -> Option<(Purpose, PendingReply<'_>)> {
        let step = cursor.step(operation)?;
        if cursor.is_at_draw(script.tables) {
            self.draw(script, step, cursor);
        }
        let statement = &script.statements[cursor.take(step)];
        Some((
            statement.purpose,
            self.ask(script, statement, cursor.table()),
        ))
    }

    /// The outcome of an operation whose statements were all answered; `last` is the last answer. It is not done if the server does not
    /// keep it: a statement, perhaps in a procedure, has turned autocommit off or begun a transaction.
    #[inline]
    pub(super) fn ended(&mut self, operation: u16, noticed: Noticed, last: &Done) -> Outcome {
        if last.in_transaction() || (self.shows_autocommit && !last.autocommits()) {
            return Outcome::Failed(NOT_COMMITTED);
        }
        self.counted.add(operation, noticed);
        Outcome::Done
    }

    #[inline]
    fn draw(&mut self, script: &Script, step: &Step, cursor: &mut Cursor) {
        for &place in &step.draws {
            let parameter = &script.parameters[usize::from(place)];
            let (number, random) = cursor.source();
            let value = parameter.draw(number, random, &self.drawn, &mut self.text);
            self.drawn[usize::from(place)] = value;
        }
    }

    #[inline]
    fn ask(&mut self, script: &Script, statement: &Statement, table: u32) -> PendingReply<'_> {
        let table = if statement.per_table { table } else { 0 };
        match &self.prepared[(statement.place + table) as usize] {
            Prepared::Text(sql) => self.connection.query(sql),
            Prepared::Binary(prepared) => {
                let (drawn, text) = (&self.drawn, &self.text);
                let params = statement.parameters.iter().map(|&place| {
                    let place = usize::from(place);
                    script.parameters[place].param(drawn[place], text)
                });
                self.connection.execute(prepared, params)
            }
        }
    }

    /// `autocommit`: the operation may have turned it off.
    pub(super) async fn rollback(&mut self, autocommit: bool) -> Result<(), WireError> {
        self.connection.query("ROLLBACK").await?;
        if autocommit {
            self.connection.query("SET autocommit = 1").await?;
        }
        Ok(())
    }

    pub(super) async fn close(mut self, witness: Option<&Witness>) {
        if let Some(witness) = witness {
            witness.write(&mut self.connection).await;
        }
        self.connection.close().await;
    }
}
