//! Parses the reply to a statement packet by packet, in the receive buffer.
//!
//! Goals: skipping a reply only reads the header of each packet and needs no memory, however large the reply is; what was parsed
//! is not parsed again when the rest arrives. Non-goal: the contents of rows (`row`).
//!
//! Source: "Text Resultset", "OK_Packet" and "EOF_Packet" in the server's protocol documentation.

pub(crate) mod row;
mod whole;

pub(crate) use whole::whole;

use crate::error::WireError;
use crate::packet::{self, CHUNK_MAX, CONTROL_MAX, Fields, HEADER};

const IN_TRANSACTION: u16 = 0x0001;
const AUTOCOMMIT: u16 = 0x0002;
const MORE_RESULTS: u16 = 0x0008;

/// Without CLIENT_DEPRECATE_EOF, a packet that begins with 0xfe and is shorter than this ends the rows.
const EOF_BYTES: usize = 9;

/// The maximum of every server.
const COLUMNS_MAX: u64 = 4_096;

/// The result of a statement. For several results: the sums, and the last status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub affected: u64,
    /// The last insert id that is not 0.
    pub insert_id: u64,
    /// Number of rows in the result sets.
    pub rows: u64,
    /// Number of warnings, at most 65,535.
    pub warnings: u16,
    /// The server's status flags.
    pub status: u16,
}

impl Done {
    /// Whether the session commits each statement that is outside of a transaction.
    #[inline]
    pub fn autocommits(&self) -> bool {
        self.status & AUTOCOMMIT != 0
    }

    /// Whether the session is in a transaction.
    #[inline]
    pub fn in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Columns,
    ColumnsEnd,
    Rows,
}

/// The state of parsing one reply.
pub(crate) struct Walk {
    phase: Phase,
    /// Sequence number of the next packet.
    number: u8,
    /// CLIENT_DEPRECATE_EOF: columns end after their number, rows with an OK packet.
    ends_by_ok: bool,
    /// The last packet was full, so the next one continues it.
    is_continued: bool,
    /// Bytes of the last packet that have not arrived and are to be skipped.
    dropping: usize,
    columns: u64,
    columns_left: u64,
    pub done: Done,
}

/// The type of the next packet in the buffer, with the length of its payload.
enum Look {
    Wait,
    Column(usize),
    Row(usize),
    Continuation(usize),
    Control(usize),
}

/// The result of [`Walk::step`].
pub(crate) enum Step<'a> {
    Wait,
    /// A column definition and its index in the row.
    Column(&'a [u8], u64),
    Row(&'a [u8]),
    /// A row of several packets, in the vector that was passed.
    Joined,
    Over,
}

impl Walk {
    /// `number` is the sequence number of the reply's first packet.
    pub(crate) fn new(number: u8, ends_by_ok: bool) -> Walk {
        Walk {
            phase: Phase::Head,
            number,
            ends_by_ok,
            is_continued: false,
            dropping: 0,
            columns: 0,
            columns_left: 0,
            done: Done::default(),
        }
    }

    /// Skips columns and counts rows. True at the end of the reply. `at` is moved past what was parsed, also after an error.
    pub(crate) fn walk(&mut self, bytes: &[u8], at: &mut usize) -> Result<bool, WireError> {
        if self.dropping > 0 {
            self.drop_payload(bytes, at, self.dropping);
        }
        loop {
            let rest = bytes.get(*at..).unwrap_or_default();
            match self.look(rest)? {
                Look::Wait => return Ok(false),
                Look::Column(length) => {
                    self.pass_column();
                    self.drop_packet(bytes, at, length);
                }
                Look::Row(length) => {
                    self.done.rows += 1;
                    self.drop_packet(bytes, at, length);
                }
                Look::Continuation(length) => self.drop_packet(bytes, at, length),
                Look::Control(length) => {
                    let Some(payload) = rest.get(HEADER..HEADER + length) else {
                        return Ok(false);
                    };
                    *at += HEADER + length;
                    self.number = self.number.wrapping_add(1);
                    if self.control(payload)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Parses the next packet and returns its contents. A row of several packets is assembled in `joined`.
    ///
    /// # Errors
    /// [`WireError::ReplyTooLarge`] if a row exceeds `limit` bytes.
    pub(crate) fn step<'a>(
        &mut self,
        bytes: &'a [u8],
        at: &mut usize,
        joined: &mut Vec<u8>,
        limit: usize,
    ) -> Result<Step<'a>, WireError> {
        loop {
            let rest = bytes.get(*at..).unwrap_or_default();
            let look = self.look(rest)?;
            let (Look::Column(length)
            | Look::Row(length)
            | Look::Continuation(length)
            | Look::Control(length)) = look
            else {
                return Ok(Step::Wait);
            };
            if joined.len() + length > limit {
                return Err(WireError::ReplyTooLarge { limit });
            }
            let Some(payload) = rest.get(HEADER..HEADER + length) else {
                return Ok(Step::Wait);
            };
            *at += HEADER + length;
            self.number = self.number.wrapping_add(1);
            self.is_continued = length == CHUNK_MAX;
            match look {
                Look::Column(_) => {
                    let place = self.columns - self.columns_left;
                    self.pass_column();
                    return Ok(Step::Column(payload, place));
                }
                Look::Row(_) if self.is_continued => {
                    self.done.rows += 1;
                    joined.extend_from_slice(payload);
                }
                Look::Row(_) => {
                    self.done.rows += 1;
                    return Ok(Step::Row(payload));
                }
                Look::Continuation(_) => {
                    joined.extend_from_slice(payload);
                    if !self.is_continued {
                        return Ok(Step::Joined);
                    }
                }
                _ => {
                    if self.control(payload)? {
                        return Ok(Step::Over);
                    }
                }
            }
        }
    }

    fn look(&self, rest: &[u8]) -> Result<Look, WireError> {
        let Some((length, number)) = packet::header(rest) else {
            return Ok(Look::Wait);
        };
        if number != self.number {
            return self.unexpected(rest, length, number);
        }
        if self.is_continued {
            return Ok(Look::Continuation(length));
        }
        match self.phase {
            Phase::Columns if length > CONTROL_MAX => return Err(packet::too_long(length)),
            Phase::Columns => return Ok(Look::Column(length)),
            Phase::Rows => match rest.get(HEADER) {
                Some(&first) if !self.ends_rows(first, length) => return Ok(Look::Row(length)),
                Some(_) => {}
                None if length > 0 => return Ok(Look::Wait),
                None => return Err(WireError::malformed("it sent an empty row")),
            },
            Phase::Head | Phase::ColumnsEnd => {}
        }
        if length > CONTROL_MAX {
            return Err(packet::too_long(length));
        }
        Ok(Look::Control(length))
    }

    fn ends_rows(&self, first: u8, length: usize) -> bool {
        let end_bytes = if self.ends_by_ok {
            CHUNK_MAX
        } else {
            EOF_BYTES
        };
        first == packet::ERROR || first == packet::EOF && length < end_bytes
    }

    fn pass_column(&mut self) {
        self.columns_left -= 1;
        if self.columns_left == 0 {
            self.phase = if self.ends_by_ok {
                Phase::Rows
            } else {
                Phase::ColumnsEnd
            };
        }
    }

    fn drop_packet(&mut self, bytes: &[u8], at: &mut usize, length: usize) {
        self.number = self.number.wrapping_add(1);
        self.is_continued = length == CHUNK_MAX;
        self.drop_payload(bytes, at, HEADER + length);
    }

    fn drop_payload(&mut self, bytes: &[u8], at: &mut usize, length: usize) {
        let arrived = length.min(bytes.len() - *at);
        *at += arrived;
        self.dropping = length - arrived;
    }

    /// Handles a packet that is neither a column nor a row. True at the end of the reply.
    fn control(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let Some(&first) = payload.first() else {
            return Err(WireError::malformed("it sent an empty packet"));
        };
        match (self.phase, first) {
            (_, packet::ERROR) => Err(packet::error(payload)),
            (Phase::Head, packet::OK) => self.ok(payload),
            (Phase::Head, packet::LOCAL_INFILE) => Err(WireError::malformed(
                "it requests a local file that prony did not offer",
            )),
            (Phase::Head, _) => self.begin_columns(payload),
            (Phase::ColumnsEnd, packet::EOF) => {
                self.phase = Phase::Rows;
                Ok(false)
            }
            (Phase::Rows, packet::EOF) if self.ends_by_ok => self.ok(payload),
            (Phase::Rows, packet::EOF) => self.eof(payload),
            _ => Err(WireError::malformed(
                "the end of the column definitions is missing",
            )),
        }
    }

    fn ok(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let mut fields = Fields(&payload[1..]);
        let (Some(affected), Some(insert_id), Some(status), Some(warnings)) = (
            fields.integer(),
            fields.integer(),
            fields.u16(),
            fields.u16(),
        ) else {
            return Err(WireError::malformed("an OK packet is truncated"));
        };
        self.done.affected = self.done.affected.wrapping_add(affected);
        if insert_id != 0 {
            self.done.insert_id = insert_id;
        }
        Ok(self.result_ends(status, warnings))
    }

    fn eof(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let mut fields = Fields(&payload[1..]);
        let (Some(warnings), Some(status)) = (fields.u16(), fields.u16()) else {
            return Err(WireError::malformed("an EOF packet is truncated"));
        };
        Ok(self.result_ends(status, warnings))
    }

    fn result_ends(&mut self, status: u16, warnings: u16) -> bool {
        self.done.status = status;
        self.done.warnings = self.done.warnings.saturating_add(warnings);
        self.phase = Phase::Head;
        status & MORE_RESULTS == 0
    }

    fn begin_columns(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        match Fields(payload).integer() {
            Some(columns @ 1..=COLUMNS_MAX) => {
                self.columns = columns;
                self.columns_left = columns;
                self.phase = Phase::Columns;
                Ok(false)
            }
            Some(columns) if columns > COLUMNS_MAX => Err(WireError::Protocol(format!(
                "a reply has {columns} columns, the maximum is {COLUMNS_MAX}"
            ))),
            _ => Err(WireError::malformed("a reply has no column count")),
        }
    }

    /// Handles a packet out of order. A server that closes an idle connection sends its error before the request arrives, so that
    /// error has another sequence number.
    #[cold]
    fn unexpected(&self, rest: &[u8], length: usize, number: u8) -> Result<Look, WireError> {
        let error = packet::out_of_order(self.number, number);
        if self.phase != Phase::Head || length > CONTROL_MAX {
            return Err(error);
        }
        match rest.get(HEADER..HEADER + length) {
            None if rest.get(HEADER).is_none_or(|first| *first == packet::ERROR) => Ok(Look::Wait),
            Some(payload @ [packet::ERROR, ..]) => match packet::error(payload) {
                closing if closing.is_lost() => Err(closing),
                _ => Err(error),
            },
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
