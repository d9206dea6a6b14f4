//! LOAD DATA LOCAL INFILE, on blocking streams.
//!
//! Goal: as fast as the server's own client. Only bytes that the caller writes are ever sent: no file is opened here, and a server
//! that requests another name than that of the statement is refused.

use super::{Connection, QUERY};
use crate::channel::link::Link;
use crate::error::WireError;
use crate::packet::{self, Fields, HEADER};
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Payload of a packet of the file. The buffer of a server has this size by default, and the server's own client sends no more.
const PACKET_BYTES: usize = 16 * 1024 - HEADER;

/// How much is sent in one system call.
const SEND_BYTES: usize = 64 * 1024;

/// Bytes of a requested name that an error shows.
const SHOWN_BYTES_MAX: usize = 100;

/// Writes the contents of a file.
pub type WriteFile<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// Runs a future of a blocking stream. It is ready when it is polled first.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking stream is never pending"),
    }
}

/// The result of a load.
pub(crate) struct Loaded {
    pub(crate) rows: u64,
    /// `Records: 3  Deleted: 0  Skipped: 1  Warnings: 0`, possibly after a length byte.
    pub(crate) info: String,
    pub(crate) warnings: u16,
}

impl Connection {
    /// Runs a LOAD DATA LOCAL INFILE of a file `name`, whose contents `file` writes.
    ///
    /// # Errors
    /// As [`Connection::query`]. An error of `file` is returned as [`WireError::Io`] and makes the connection unusable, because
    /// what was sent cannot be taken back.
    pub(crate) fn load(
        &mut self,
        sql: &str,
        name: &str,
        file: &mut WriteFile<'_>,
    ) -> Result<Loaded, WireError> {
        self.link.number = self.write_text(QUERY, sql.as_bytes())?;
        if let Err(cause) = now(self.link.channel.exchange()) {
            return Err(self.broken(cause));
        }
        let loaded = self.transfer(name, file);
        self.end(loaded)
    }

    fn transfer(&mut self, name: &str, file: &mut WriteFile<'_>) -> Result<Loaded, WireError> {
        self.next_packet(|payload| is_request_for(name, payload))?;
        let mut packets = Packets {
            link: &mut self.link,
            open: None,
        };
        file(&mut packets)?;
        packets.finish()?;
        self.next_packet(loaded)
    }

    fn next_packet<T>(
        &mut self,
        parse: impl FnOnce(&[u8]) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let bytes = now(self.link.receive_packet())?;
        let parsed = parse(self.link.payload(bytes));
        self.link.discard(bytes);
        parsed
    }
}

/// # Errors
/// The server's error, or that it requests another file or none.
fn is_request_for(name: &str, payload: &[u8]) -> Result<(), WireError> {
    match payload.split_first() {
        Some((&packet::LOCAL_INFILE, requested)) if requested == name.as_bytes() => Ok(()),
        Some((&packet::LOCAL_INFILE, other)) => {
            let shown = other.get(..SHOWN_BYTES_MAX).unwrap_or(other);
            Err(WireError::Protocol(format!(
                "it requests the local file `{}`, but prony only sends `{name}`",
                shown.escape_ascii()
            )))
        }
        Some((&packet::ERROR, _)) => Err(packet::error(payload)),
        _ => Err(WireError::malformed(
            "it does not request the file of LOAD DATA LOCAL INFILE",
        )),
    }
}

/// Parses the reply after the file.
fn loaded(payload: &[u8]) -> Result<Loaded, WireError> {
    match payload.split_first() {
        Some((&packet::OK, counts)) => of_ok(Fields(counts))
            .ok_or_else(|| WireError::malformed("the OK packet of a load is truncated")),
        Some((&packet::ERROR, _)) => Err(packet::error(payload)),
        _ => Err(WireError::malformed("it did not answer a load")),
    }
}

fn of_ok(mut fields: Fields) -> Option<Loaded> {
    let (rows, _insert_id) = (fields.integer()?, fields.integer()?);
    let (_status, warnings) = (fields.u16()?, fields.u16()?);
    Some(Loaded {
        rows,
        warnings,
        info: String::from_utf8_lossy(fields.0).into_owned(),
    })
}

/// Writes a file as packets.
struct Packets<'a> {
    link: &'a mut Link,
    /// Start of the packet that is being written. None between packets.
    open: Option<usize>,
}

impl Packets<'_> {
    fn close_packet(&mut self) {
        if let Some(start) = self.open.take() {
            let out = self.link.channel.outgoing();
            self.link.number = packet::finish(out, start, self.link.number);
        }
    }

    /// Ends the file with an empty packet.
    fn finish(mut self) -> io::Result<()> {
        self.close_packet();
        now(self.link.send(|_| ()))
    }
}

/// `write_all` tries again after [`ErrorKind::Interrupted`], for which an interrupted wait must not be taken.
fn ended(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::Interrupted => io::Error::new(ErrorKind::ConnectionAborted, error),
        _ => error,
    }
}

impl Write for Packets<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An empty packet would end the file.
        if bytes.is_empty() {
            return Ok(0);
        }
        let out = self.link.channel.outgoing();
        let start = *self.open.get_or_insert_with(|| packet::begin(out));
        let space = PACKET_BYTES - (out.len() - start - HEADER);
        let taken = space.min(bytes.len());
        out.extend_from_slice(&bytes[..taken]);
        if taken == space {
            let is_full = out.len() >= SEND_BYTES;
            self.close_packet();
            if is_full {
                now(self.link.channel.send()).map_err(ended)?;
            }
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_of_the_statement_is_sent() {
        assert!(is_request_for("rows", b"\xfbrows").is_ok());
        for payload in [&b"\xfb/etc/passwd"[..], b"\xfb", b"\xfbrows2", b"\xfbrow"] {
            let error = is_request_for("rows", payload).unwrap_err();
            assert!(error.is_lost(), "{error}");
            assert!(
                error.to_string().contains("prony only sends `rows`"),
                "{error}"
            );
        }
        assert!(is_request_for("rows", b"\0\0\0\x02\0\0\0").is_err());
        assert!(is_request_for("rows", b"").is_err());
    }

    #[test]
    fn the_summary_of_a_load_is_read() {
        let loaded = loaded(b"\0\x03\0\x02\0\x01\0\x08Records:").unwrap();
        assert_eq!((loaded.rows, loaded.info.as_str()), (3, "\u{8}Records:"));
        assert_eq!(loaded.warnings, 1);
        assert!(super::loaded(b"\0\x03\0\x02").is_err());
    }
}
