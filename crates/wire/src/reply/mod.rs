//! What a server answers to a statement, walked packet by packet in the buffer in which it arrived.
//!
//! Goals: a reply that nobody reads costs a header's look at each packet, and no memory however large it is; what was
//! walked is never walked again when the rest arrives later. Non-goal: what is in the rows (`row`).
//!
//! Source: "Text Resultset", "OK_Packet" and "EOF_Packet" in the server's protocol documentation.

mod whole;

pub use whole::whole;

use crate::error::WireError;
use crate::packet::{self, CHUNK_MAX, CONTROL_MAX, Fields, HEADER};

const MORE_RESULTS: u16 = 0x0008;

/// Before CLIENT_DEPRECATE_EOF a packet that begins with 0xfe and is shorter than this ends rows.
const EOF_BYTES: usize = 9;

/// As many as the answer to a prepare can tell of. No server gives more than 4,096.
const COLUMNS_MAX: u64 = 65_535;

/// What a statement did; of a call with several results their sums, and the last status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub affected: u64,
    /// The last one that is not 0.
    pub insert_id: u64,
    /// Rows of the result sets.
    pub rows: u64,
    /// The server's status flags.
    pub status: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Columns,
    ColumnsEnd,
    Rows,
}

/// How far a reply was walked.
pub struct Walk {
    phase: Phase,
    /// Of the packet that comes next.
    number: u8,
    /// CLIENT_DEPRECATE_EOF: columns end by their number, rows by an OK packet.
    ends_by_ok: bool,
    /// The packet before was full, so that the next one continues it.
    is_continued: bool,
    /// Bytes of the last packet that have not arrived and are dropped.
    dropping: usize,
    columns: u64,
    columns_left: u64,
    pub done: Done,
}

/// What comes next in the buffer; the length is its payload's.
enum Look {
    Wait,
    Column(usize),
    Row(usize),
    Continuation(usize),
    Control(usize),
}

/// What [`Walk::step`] came to.
pub enum Step<'a> {
    Wait,
    /// A column's definition, and its place in the row.
    Column(&'a [u8], u64),
    Row(&'a [u8]),
    /// A row of several packets, in the vector that was given.
    Joined,
    Over,
}

impl Walk {
    /// `number`: of the first packet of the reply.
    pub fn new(number: u8, ends_by_ok: bool) -> Walk {
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

    /// Walks on, drops columns and rows; true at the reply's end. `at` is moved behind what was walked, after an error too.
    pub fn walk(&mut self, bytes: &[u8], at: &mut usize) -> Result<bool, WireError> {
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

    /// Walks one packet on, for those who read what is in it. A row of several packets is put together in `joined`.
    ///
    /// # Errors
    /// [`WireError::ReplyTooLarge`] where a row has more than `limit` bytes.
    pub fn step<'a>(
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
                Look::Column(_) if self.is_continued => {
                    return Err(WireError::malformed("a column's definition does not end"));
                }
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
            Phase::Columns => return Ok(Look::Column(length)),
            Phase::Rows => match rest.get(HEADER) {
                Some(&first) if !self.ends_rows(first, length) => return Ok(Look::Row(length)),
                Some(_) => {}
                None if length > 0 => return Ok(Look::Wait),
                None => return Err(WireError::malformed("a row without bytes came")),
            },
            Phase::Head | Phase::ColumnsEnd => {}
        }
        if length > CONTROL_MAX {
            return Err(too_long(length));
        }
        Ok(Look::Control(length))
    }

    fn ends_rows(&self, first: u8, length: usize) -> bool {
        let end_bytes = match self.ends_by_ok {
            true => CHUNK_MAX,
            false => EOF_BYTES,
        };
        first == packet::ERROR || first == packet::EOF && length < end_bytes
    }

    fn pass_column(&mut self) {
        self.columns_left -= 1;
        if self.columns_left == 0 {
            self.phase = match self.ends_by_ok {
                true => Phase::Rows,
                false => Phase::ColumnsEnd,
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

    /// A packet that is neither a column nor a row; true at the reply's end.
    fn control(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let Some(&first) = payload.first() else {
            return Err(WireError::malformed("a packet without bytes came"));
        };
        match (self.phase, first) {
            (_, packet::ERROR) => Err(packet::error(payload)),
            (Phase::Head, packet::OK) => self.ok(payload),
            (Phase::Head, packet::LOCAL_INFILE) => Err(WireError::malformed(
                "it asks for a local file, which is never sent",
            )),
            (Phase::Head, _) => self.begin_columns(payload),
            (Phase::ColumnsEnd, packet::EOF) => {
                self.phase = Phase::Rows;
                Ok(false)
            }
            (Phase::Rows, packet::EOF) if self.ends_by_ok => self.ok(payload),
            (Phase::Rows, packet::EOF) => self.eof(payload),
            _ => Err(WireError::malformed("columns do not end where they should")),
        }
    }

    fn ok(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let mut fields = Fields(&payload[1..]);
        let (Some(affected), Some(insert_id), Some(status)) =
            (fields.integer(), fields.integer(), fields.u16())
        else {
            return Err(WireError::malformed("an OK packet ends too early"));
        };
        self.done.affected = self.done.affected.wrapping_add(affected);
        if insert_id != 0 {
            self.done.insert_id = insert_id;
        }
        Ok(self.result_ends(status))
    }

    fn eof(&mut self, payload: &[u8]) -> Result<bool, WireError> {
        let mut fields = Fields(&payload[1..]);
        let (Some(_warnings), Some(status)) = (fields.u16(), fields.u16()) else {
            return Err(WireError::malformed("an EOF packet ends too early"));
        };
        Ok(self.result_ends(status))
    }

    fn result_ends(&mut self, status: u16) -> bool {
        self.done.status = status;
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
            _ => Err(WireError::malformed("a reply has no number of columns")),
        }
    }

    /// The last words of a server that closes the connection were said before anything was asked, so they have a number of
    /// their own.
    #[cold]
    fn unexpected(&self, rest: &[u8], length: usize, number: u8) -> Result<Look, WireError> {
        let error = packet::out_of_order(self.number, number);
        if self.phase != Phase::Head || length > CONTROL_MAX {
            return Err(error);
        }
        match rest.get(HEADER..HEADER + length) {
            None if rest.get(HEADER).is_none_or(|first| *first == packet::ERROR) => Ok(Look::Wait),
            Some(payload @ [packet::ERROR, ..]) => match packet::error(payload) {
                last_words if last_words.is_lost() => Err(last_words),
                _ => Err(error),
            },
            _ => Err(error),
        }
    }
}

#[cold]
fn too_long(length: usize) -> WireError {
    WireError::Protocol(format!(
        "a packet of {length} bytes came where none has more than {CONTROL_MAX}"
    ))
}

#[cfg(test)]
mod tests;
