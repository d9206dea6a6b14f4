//! The protocol state of one connection to the null server: maps requests to answers. It does no I/O itself.

use super::Behaviour;
use crate::authenticate::UTF8MB4_GENERAL_CI;
use crate::authenticate::plugin::Plugin;
use crate::capability::Capabilities;
use crate::field_type;
use crate::packet::{self, Fields, HEADER};

const VERSION: &str = "8.0.0-prony-null";

/// The greeting's nonce is sent in two parts, of which the second ends with a zero byte.
const NONCE_START: &[u8; 8] = b"01234567";
const NONCE_END: &[u8; 13] = b"0123456789ab\0";

/// The state that every reply reports: autocommit.
const AUTOCOMMIT: u16 = 2;

const QUIT: u8 = 0x01;
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const PING: u8 = 0x0e;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE_STATEMENT: u8 = 0x19;
const RESET_CONNECTION: u8 = 0x1f;

const UNKNOWN_COMMAND: u16 = 1047;
const UNKNOWN_STATEMENT: u16 = 1243;

/// Length of column `c` of workload `oltp`.
const ROW_BYTES: usize = 119;

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_PASSWORD)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::DEPRECATE_EOF);

/// The state of one connection.
pub(super) struct Conversation {
    is_logged_in: bool,
    ends_by_ok: bool,
    /// Whether a prepared statement returns a row, by statement id (from 1).
    selects: Vec<bool>,
    statements: u64,
    binary_row: Vec<u8>,
    text_row: Vec<u8>,
}

/// What happens to the connection after a request. After several requests the greatest value applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum After {
    /// The answer is sent at once.
    Answer,
    /// The answer to a statement, which may be delayed.
    AnswerStatement,
    Close,
    /// No request is answered any more.
    Silence,
}

impl Conversation {
    /// Starts a conversation and appends the greeting.
    pub(super) fn new(out: &mut Vec<u8>) -> Conversation {
        append(out, 0, write_greeting);
        Conversation {
            is_logged_in: false,
            ends_by_ok: false,
            selects: Vec::new(),
            statements: 0,
            binary_row: Vec::new(),
            text_row: Vec::new(),
        }
    }

    /// Answers one request, passed without its header.
    pub(super) fn answer(
        &mut self,
        request: &[u8],
        behaviour: &Behaviour,
        out: &mut Vec<u8>,
    ) -> After {
        if !self.is_logged_in {
            return self.log_in(request, behaviour, out);
        }
        let (Some(&command), argument) = (request.first(), request.get(1..).unwrap_or_default())
        else {
            return After::Close;
        };
        match command {
            QUERY => {
                let is_select = is_select(argument);
                self.statement(behaviour, out, |own, out| {
                    if is_select {
                        out.extend_from_slice(&own.text_row)
                    } else {
                        append_ok(out, 1)
                    }
                })
            }
            EXECUTE => {
                let id = Fields(argument).u32().unwrap_or(0) as usize;
                let is_select = self.selects.get(id.wrapping_sub(1)).copied();
                self.statement(behaviour, out, |own, out| match is_select {
                    Some(true) => out.extend_from_slice(&own.binary_row),
                    Some(false) => append_ok(out, 1),
                    None => append_error(out, 1, UNKNOWN_STATEMENT),
                })
            }
            PREPARE => {
                self.prepare(argument, out);
                After::Answer
            }
            CLOSE_STATEMENT => After::Answer,
            PING | INIT_DB | RESET_CONNECTION => {
                append_ok(out, 1);
                After::Answer
            }
            QUIT => After::Close,
            _ => {
                append_error(out, 1, UNKNOWN_COMMAND);
                After::Answer
            }
        }
    }

    fn log_in(&mut self, response: &[u8], behaviour: &Behaviour, out: &mut Vec<u8>) -> After {
        let Some(capabilities) = Fields(response).u32() else {
            return After::Close;
        };
        let requested = Capabilities::from_bits_truncate(capabilities) & CAPABILITIES;
        self.ends_by_ok = requested.contains(Capabilities::DEPRECATE_EOF);
        self.binary_row = row_reply(true, self.ends_by_ok);
        self.text_row = row_reply(false, self.ends_by_ok);
        self.is_logged_in = true;
        match behaviour.refuse {
            Some(code) => append_error(out, 2, code),
            None => append_ok(out, 2),
        }
        After::Answer
    }

    fn statement(
        &mut self,
        behaviour: &Behaviour,
        out: &mut Vec<u8>,
        answer: impl FnOnce(&Self, &mut Vec<u8>),
    ) -> After {
        self.statements += 1;
        let number = self.statements;
        let is_past = |limit: Option<u64>| limit.is_some_and(|limit| number > limit);
        if is_past(behaviour.stall_after) {
            return After::Silence;
        }
        if is_past(behaviour.reset_after) {
            return After::Close;
        }
        match behaviour.error_every {
            Some((every, code)) if number.is_multiple_of(every) => append_error(out, 1, code),
            _ if is_past(behaviour.malformed_after) => out.extend_from_slice(b"\x01\0\0\x01\xfd"),
            _ => answer(self, out),
        }
        After::AnswerStatement
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.selects.push(is_select(sql));
        let id = self.selects.len() as u32;
        let columns = u16::from(is_select(sql));
        let params = placeholders(sql);
        append(out, 1, |out| {
            out.push(packet::OK);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&columns.to_le_bytes());
            out.extend_from_slice(&params.to_le_bytes());
            out.extend_from_slice(&[0; 3]);
        });
        let mut number = 2;
        for definitions in [params, columns] {
            for _ in 0..definitions {
                number = append(out, number, define_column);
            }
            if definitions > 0 && !self.ends_by_ok {
                number = append(out, number, |out| out.extend_from_slice(b"\xfe\0\0\x02\0"));
            }
        }
    }
}

/// Writes version 10 of the initial handshake packet.
fn write_greeting(out: &mut Vec<u8>) {
    let [low, high] = [
        CAPABILITIES.bits() as u16,
        (CAPABILITIES.bits() >> 16) as u16,
    ];
    out.push(10);
    packet::write_terminated(out, VERSION);
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.extend_from_slice(NONCE_START);
    out.push(0);
    out.extend_from_slice(&low.to_le_bytes());
    out.push(UTF8MB4_GENERAL_CI);
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    out.extend_from_slice(&high.to_le_bytes());
    out.push((NONCE_START.len() + NONCE_END.len()) as u8);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(NONCE_END);
    packet::write_terminated(out, Plugin::NativePassword.name());
}

fn append(out: &mut Vec<u8>, number: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = packet::begin(out);
    write(out);
    packet::finish(out, start, number)
}

fn append_ok(out: &mut Vec<u8>, number: u8) {
    append(out, number, |out| {
        out.extend_from_slice(b"\0\x01\0\x02\0\0\0")
    });
}

fn append_error(out: &mut Vec<u8>, number: u8, code: u16) {
    append(out, number, |out| {
        out.push(packet::ERROR);
        out.extend_from_slice(&code.to_le_bytes());
        out.extend_from_slice(b"#HY000error that the null server was configured to return");
    });
}

/// Appends the definition of a character column.
fn define_column(out: &mut Vec<u8>) {
    for name in ["def", "sbtest", "sbtest1", "sbtest1", "c", "c"] {
        packet::write_string(out, name.as_bytes());
    }
    out.push(0x0c);
    out.extend_from_slice(&u16::from(UTF8MB4_GENERAL_CI).to_le_bytes());
    out.extend_from_slice(&480_u32.to_le_bytes());
    out.push(field_type::STRING);
    out.extend_from_slice(&[0; 5]);
}

/// A reply of one column and one row.
fn row_reply(is_binary: bool, ends_by_ok: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = append(&mut out, 1, |out| out.push(1));
    number = append(&mut out, number, define_column);
    if !ends_by_ok {
        number = append(&mut out, number, |out| {
            out.extend_from_slice(b"\xfe\0\0\x02\0")
        });
    }
    number = append(&mut out, number, |out| {
        if is_binary {
            out.extend_from_slice(&[0, 0]);
        }
        packet::write_string(out, &[b'0'; ROW_BYTES]);
    });
    let end: &[u8] = if ends_by_ok {
        b"\xfe\0\0\x02\0\0\0"
    } else {
        b"\xfe\0\0\x02\0"
    };
    append(&mut out, number, |out| out.extend_from_slice(end));
    out
}

fn is_select(sql: &[u8]) -> bool {
    let sql = sql.trim_ascii_start();
    sql.get(..6)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT"))
}

/// Counts question marks outside quotes.
fn placeholders(sql: &[u8]) -> u16 {
    let mut quote = None;
    let mut count = 0;
    for &byte in sql {
        match (quote, byte) {
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'?') => count += 1,
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    count
}

/// The length of the first request including its header. None while it has not completely arrived.
pub(super) fn request_bytes(arrived: &[u8]) -> Option<usize> {
    let (bytes, _) = packet::header(arrived)?;
    let whole = HEADER + bytes;
    (arrived.len() >= whole).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_in_quotes_are_not_parameters() {
        assert_eq!(placeholders(b"SELECT c FROM t WHERE id = ?"), 1);
        assert_eq!(placeholders(b"INSERT INTO t VALUES (?, '?', \"?\", ?)"), 2);
    }

    #[test]
    fn a_select_is_recognised_by_its_first_word() {
        assert!(is_select(b" select 1") && is_select(b"SELECT c"));
        assert!(!is_select(b"SELEC") && !is_select(b"UPDATE t SET c = 'SELECT'"));
    }
}
