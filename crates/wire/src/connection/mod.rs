//! A connection to the server after login: queries, prepared statements, rows.

mod infile;
mod pending;
pub(crate) mod request;
pub(crate) mod sent;
mod text;

pub use infile::WriteFile;
pub(crate) use infile::now;
pub use pending::PendingReply;
pub use text::Sink;

use crate::authenticate::{self, LoggedIn};
use crate::capability::Capabilities;
use crate::channel::link::Link;
use crate::error::WireError;
use crate::login::{self, Login};
use crate::packet::{self, Fields};
use crate::reply::row::{self, Column, Value};
use crate::reply::{Done, Step, Walk};
use load::Io;
use request::{Bound, Param};
use sent::Sent;
use std::borrow::Borrow;
use std::io;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const CLOSE_STATEMENT: u8 = 0x19;

/// Maximum size of a row whose values are read, in bytes.
const ROW_BYTES_MAX: usize = 64 << 20;

/// The smallest default of any server's max_allowed_packet.
const SURELY_ALLOWED_BYTES: usize = 1 << 20;

/// A logged-in connection. It runs one request at a time.
pub struct Connection {
    link: Link,
    version: String,
    id: u32,
    ends_by_ok: bool,
    /// True from the first byte of a request to the last byte of its reply. If it stays true, the connection is unusable.
    is_under_way: bool,
    /// Size of the last request.
    request_bytes: usize,
    sent: Sent,
    /// Indexed by [`Statement::place`].
    statements: Vec<Option<Bound>>,
    columns: Vec<Column>,
    values: Vec<Value<'static>>,
    /// Buffer for a row of several packets.
    joined: Vec<u8>,
    row_bytes_max: usize,
}

/// A prepared statement of one connection.
#[derive(Clone, Debug)]
pub struct Statement {
    pub id: u32,
    pub params: u16,
    pub columns: u16,
    place: usize,
}

/// The format of rows in a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Binary,
}

impl Connection {
    /// Connects and logs in. Client n starts with endpoint n modulo their number and tries the others after a transient error:
    /// unreachable, connection closed, too many connections.
    ///
    /// # Errors
    /// The error of the last endpoint. It names the endpoint, the cause and the fix, and never contains the password.
    pub async fn open(io: &Io, login: &Login, client: u32) -> Result<Connection, WireError> {
        let mut last = WireError::Misuse("the login has no endpoint: give at least one".into());
        for endpoint in login.endpoints_for(client) {
            let place = login::name(endpoint);
            let more = Capabilities::empty();
            match authenticate::open(io, endpoint, login, &place, more).await {
                Ok(logged_in) => return Ok(Connection::from_login(logged_in)),
                Err(error) if error.is_transient() => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub(crate) fn from_login(logged_in: LoggedIn) -> Connection {
        Connection {
            link: logged_in.link,
            version: logged_in.version,
            id: logged_in.connection,
            ends_by_ok: logged_in.capabilities.contains(Capabilities::DEPRECATE_EOF),
            is_under_way: false,
            request_bytes: 0,
            sent: Sent::new(),
            statements: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            joined: Vec::new(),
            row_bytes_max: ROW_BYTES_MAX,
        }
    }

    /// The server's version, such as `8.0.33` or `10.11.14-MariaDB-0+deb12u2`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The connection's id on the server, for KILL.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Runs a statement in the text protocol and counts its rows without reading them. The request is serialised immediately, so the
    /// future does not borrow the text. Dropping the future before it is ready makes the connection unusable.
    ///
    /// # Errors
    /// An error of the server, after which the connection stays usable, or one that ended it: [`WireError::is_lost`].
    #[inline]
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> PendingReply<'_> {
        let written = self.write_text(QUERY, sql.as_ref());
        PendingReply::new(self, written)
    }

    /// Runs a statement in the text protocol and passes each row to `row`. All values are `Bytes` or `Null`.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn query_rows(
        &mut self,
        sql: &str,
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<Done, WireError> {
        let number = self.write_text(QUERY, sql.as_bytes())?;
        self.request_rows(number, Format::Text, row).await
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        self.link.number = self.write_text(PREPARE, sql.as_bytes())?;
        if let Err(cause) = self.link.channel.exchange().await {
            return Err(self.broken(cause));
        }
        let prepared = self.read_prepared().await;
        self.end(prepared)
    }

    /// Executes a prepared statement and counts its rows without reading them: the hot path. The request is serialised immediately,
    /// as with [`Connection::query`]. `params` is iterated while it is written, so the caller needs no list.
    ///
    /// # Errors
    /// As [`Connection::query`].
    #[inline]
    pub fn execute<'c, 'p, P>(&'c mut self, statement: &Statement, params: P) -> PendingReply<'c>
    where
        P: IntoIterator<Item: Borrow<Param<'p>>, IntoIter: ExactSizeIterator + Clone>,
    {
        let written = self.write_execute(statement, params.into_iter());
        PendingReply::new(self, written)
    }

    /// Executes a prepared statement and passes each row to `row`.
    ///
    /// # Errors
    /// As [`Connection::query`]; [`WireError::ReplyTooLarge`] for a row of more than 64 MiB.
    pub async fn execute_rows(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<Done, WireError> {
        let number = self.write_execute(statement, params.iter())?;
        self.request_rows(number, Format::Binary, row).await
    }

    /// Closes a prepared statement, which frees its resources on the server.
    ///
    /// # Errors
    /// I/O errors of the connection; a statement of another connection.
    pub async fn close_statement(&mut self, statement: Statement) -> Result<(), WireError> {
        bound(&mut self.statements, &statement)?;
        self.statements[statement.place] = None;
        self.link.number = 0;
        self.link
            .send(|out| {
                out.push(CLOSE_STATEMENT);
                out.extend_from_slice(&statement.id.to_le_bytes());
            })
            .await?;
        Ok(())
    }

    /// Sends COM_QUIT where possible and closes the connection.
    pub async fn close(mut self) {
        self.quit().await;
    }

    /// Sends COM_QUIT unless a request is under way.
    pub(crate) async fn quit(&mut self) {
        if !self.is_under_way {
            self.link.number = 0;
            // If the server is gone, the connection is closed anyway.
            let _ = self.link.send(|out| out.push(QUIT)).await;
        }
    }

    /// Writes a request and returns the sequence number of the reply's first packet.
    fn write_text(&mut self, command: u8, sql: &[u8]) -> Result<u8, WireError> {
        if self.is_under_way {
            return Err(WireError::Ended);
        }
        let out = self.link.channel.outgoing();
        let start = packet::begin(out);
        out.push(command);
        out.extend_from_slice(sql);
        let number = packet::finish(out, start, 0);
        self.request_bytes = out.len();
        self.is_under_way = true;
        if command == QUERY {
            self.sent.count();
        }
        Ok(number)
    }

    #[inline]
    fn write_execute<'p>(
        &mut self,
        statement: &Statement,
        params: impl ExactSizeIterator<Item: Borrow<Param<'p>>> + Clone,
    ) -> Result<u8, WireError> {
        let bound = bound(&mut self.statements, statement)?;
        if self.is_under_way {
            return Err(WireError::Ended);
        }
        let out = self.link.channel.outgoing();
        let number = bound.write(out, params)?;
        self.request_bytes = out.len();
        self.is_under_way = true;
        self.sent.count();
        Ok(number)
    }

    async fn request_rows(
        &mut self,
        number: u8,
        format: Format,
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<Done, WireError> {
        let read = |own: &mut Connection, walk: &mut Walk, at: &mut usize| {
            own.read_rows(walk, at, format, row)
        };
        self.reply(number, read).await
    }

    /// Sends the request and lets `read` take what has arrived, from a place that it moves on, until it returns true at the end of the
    /// reply.
    async fn reply(
        &mut self,
        number: u8,
        read: impl FnMut(&mut Connection, &mut Walk, &mut usize) -> Result<bool, WireError>,
    ) -> Result<Done, WireError> {
        let exchanged = self.link.channel.exchange().await;
        self.after_exchange(exchanged, number, read).await
    }

    async fn after_exchange(
        &mut self,
        exchanged: io::Result<()>,
        number: u8,
        mut read: impl FnMut(&mut Connection, &mut Walk, &mut usize) -> Result<bool, WireError>,
    ) -> Result<Done, WireError> {
        if let Err(cause) = exchanged {
            return Err(self.broken(cause));
        }
        let mut walk = Walk::new(number, self.ends_by_ok);
        loop {
            let mut at = 0;
            let read = read(self, &mut walk, &mut at);
            self.link.channel.consume(at);
            match read {
                Ok(true) => return self.end(Ok(walk.done)),
                Ok(false) => self.link.channel.receive().await?,
                Err(error) => return self.end(Err(error)),
            }
        }
    }

    /// Reads the rows that have arrived. True at the end of the reply.
    fn read_rows(
        &mut self,
        walk: &mut Walk,
        at: &mut usize,
        format: Format,
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<bool, WireError> {
        let incoming = self.link.channel.incoming();
        let mut values = row::recycled(std::mem::take(&mut self.values));
        let is_over = loop {
            match walk.step(incoming, at, &mut self.joined, self.row_bytes_max)? {
                Step::Wait => break false,
                Step::Over => break true,
                Step::Column(definition, place) => {
                    if place == 0 {
                        self.columns.clear();
                    }
                    self.columns.push(Column::read(definition)?);
                }
                Step::Row(payload) => {
                    values.clear();
                    format.read(payload, &self.columns, &mut values)?;
                    row(&values);
                }
                Step::Joined => {
                    let payload = std::mem::take(&mut self.joined);
                    let mut values = Vec::with_capacity(self.columns.len());
                    format.read(&payload, &self.columns, &mut values)?;
                    row(&values);
                }
            }
        };
        self.values = row::recycled(values);
        Ok(is_over)
    }

    async fn read_prepared(&mut self) -> Result<Statement, WireError> {
        let bytes = self.link.receive_packet().await?;
        let head = prepared(self.link.payload(bytes));
        self.link.discard(bytes);
        let (id, columns, params) = head?;
        for definitions in [params, columns] {
            let end = u16::from(definitions > 0 && !self.ends_by_ok);
            for _ in 0..definitions.saturating_add(end) {
                let bytes = self.link.receive_packet().await?;
                self.link.discard(bytes);
            }
        }
        let place = self.place();
        self.statements[place] = Some(Bound::new(id, params));
        Ok(Statement {
            id,
            params,
            columns,
            place,
        })
    }

    /// The first free place in `statements`.
    fn place(&mut self) -> usize {
        let free = self.statements.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.statements.push(None);
            self.statements.len() - 1
        })
    }

    /// Ends a request: the connection is free again, unless it was lost or has excess bytes.
    fn end<T>(&mut self, result: Result<T, WireError>) -> Result<T, WireError> {
        match result {
            Ok(value) if self.link.channel.incoming().is_empty() => {
                self.is_under_way = false;
                Ok(value)
            }
            other => Err(self.failed(other.err())),
        }
    }

    /// `error` is None if the reply was correct but excess bytes follow it.
    #[cold]
    fn failed(&mut self, error: Option<WireError>) -> WireError {
        match error {
            Some(error) if error.is_lost() => error,
            _ if !self.link.channel.incoming().is_empty() => {
                WireError::malformed("it sent data after the end of the reply")
            }
            Some(error) => {
                self.is_under_way = false;
                error
            }
            None => WireError::Ended,
        }
    }

    /// The error of a failed send. A server closes the connection when a request is too large, often before all of it is sent.
    #[cold]
    fn broken(&self, cause: io::Error) -> WireError {
        match cause.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                if self.request_bytes > SURELY_ALLOWED_BYTES =>
            {
                WireError::RequestTooLarge {
                    bytes: self.request_bytes,
                    cause: cause.to_string(),
                }
            }
            _ => WireError::Io(cause),
        }
    }
}

impl Format {
    fn read<'a>(
        self,
        payload: &'a [u8],
        columns: &[Column],
        values: &mut Vec<Value<'a>>,
    ) -> Result<(), WireError> {
        match self {
            Format::Text => row::read_text(payload, columns.len(), values),
            Format::Binary => row::read_binary(payload, columns, values),
        }
    }
}

/// Parses the reply to COM_STMT_PREPARE: statement id, columns, parameters.
fn prepared(payload: &[u8]) -> Result<(u32, u16, u16), WireError> {
    let mut fields = Fields(payload);
    match fields.u8() {
        Some(packet::OK) => {}
        Some(packet::ERROR) => return Err(packet::error(payload)),
        _ => {
            return Err(WireError::malformed(
                "it did not answer a request to prepare a statement",
            ));
        }
    }
    match (fields.u32(), fields.u16(), fields.u16()) {
        (Some(id), Some(columns), Some(params)) => Ok((id, columns, params)),
        _ => Err(WireError::malformed(
            "its answer to a request to prepare a statement is truncated",
        )),
    }
}

#[inline]
fn bound<'b>(
    statements: &'b mut [Option<Bound>],
    statement: &Statement,
) -> Result<&'b mut Bound, WireError> {
    match statements.get_mut(statement.place) {
        Some(Some(bound)) if bound.statement == statement.id => Ok(bound),
        _ => Err(statement_not_open()),
    }
}

#[cold]
fn statement_not_open() -> WireError {
    WireError::Misuse(
        "the statement belongs to another connection or is closed: prepare it on this one".into(),
    )
}
