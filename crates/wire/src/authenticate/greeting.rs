//! The server's greeting: version 10 of the initial handshake packet.

use crate::capability::Capabilities;
use crate::error::WireError;
use crate::packet::{self, Fields};

/// Maximum length of the version. Servers send at most about 60 bytes.
const VERSION_BYTES_MAX: usize = 256;

/// The oldest server that prony supports.
const OLDEST: (u16, u16, u16) = (5, 1, 0);

/// The fields of a greeting that a login needs.
pub(crate) struct Greeting {
    /// Such as `8.0.33` or `10.11.14-MariaDB-0+deb12u2`.
    pub version: String,
    /// The connection's id, for KILL.
    pub connection: u32,
    pub capabilities: Capabilities,
    /// The scramble from which the password's hash is computed.
    pub nonce: Vec<u8>,
    /// The server's default authentication plugin. Empty before 5.5.7.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Parses a packet's payload.
    ///
    /// # Errors
    /// The server's refusal (too many connections, host not allowed), that it is too old, or that the packet is not a greeting.
    pub(crate) fn read(payload: &[u8]) -> Result<Greeting, WireError> {
        match payload.split_first() {
            Some((10, fields)) => read(Fields(fields))?.if_supported(),
            Some((&packet::ERROR, _)) => Err(packet::error(payload)),
            Some((old @ 1..=9, _)) => Err(WireError::too_old(&format!(
                "protocol version {old}, from before MySQL 4.1"
            ))),
            _ => Err(WireError::malformed(
                "its first packet is not the greeting of a MySQL server",
            )),
        }
    }

    fn if_supported(self) -> Result<Greeting, WireError> {
        if self.numbers() < OLDEST {
            Err(WireError::too_old(&self.version))
        } else {
            Ok(self)
        }
    }

    /// Major, minor and patch version; zero where there is no number.
    pub(crate) fn numbers(&self) -> (u16, u16, u16) {
        let mut numbers = self
            .version
            .split(|c: char| !c.is_ascii_digit())
            .map(|digits| digits.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next())
    }
}

fn read(mut fields: Fields) -> Result<Greeting, WireError> {
    let version = fields.until_zero();
    if version.len() > VERSION_BYTES_MAX {
        return Err(WireError::Protocol(format!(
            "its version has {} bytes, the maximum is {VERSION_BYTES_MAX}",
            version.len()
        )));
    }
    after_version(version, fields).ok_or_else(|| WireError::malformed("its greeting is truncated"))
}

fn after_version(version: &[u8], mut fields: Fields) -> Option<Greeting> {
    let version = String::from_utf8_lossy(version);
    let connection = fields.u32()?;
    let mut nonce = fields.bytes(8)?.to_vec();
    let _zero = fields.u8()?;
    let low = fields.u16()?;
    let (_collation, _status) = (fields.u8()?, fields.u16()?);
    let high = fields.u16()?;
    let capabilities = Capabilities::from_bits_truncate(u32::from(low) | u32::from(high) << 16);
    let nonce_bytes = usize::from(fields.u8()?);
    let _reserved = fields.bytes(10)?;
    if capabilities.contains(Capabilities::SECURE_CONNECTION) {
        let rest = fields.bytes(nonce_bytes.saturating_sub(8).max(13))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    }
    Some(Greeting {
        version: own_version(&version).into(),
        connection,
        capabilities,
        nonce,
        plugin: fields.until_zero().to_vec(),
    })
}

/// Strips the `5.5.5-` that MariaDB prepends to its version for replicas that reject a two-digit major version.
fn own_version(greeted: &str) -> &str {
    match greeted.strip_prefix("5.5.5-") {
        Some(own) if own.contains("MariaDB") => own,
        _ => greeted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARIADB: &[u8] = b"\x0a5.5.5-10.11.14-MariaDB-0+deb12u2\0\x1f\0\0\x0012345678\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0abcdefghijkl\0mysql_native_password\0";

    #[test]
    fn a_greeting_is_parsed_into_version_nonce_and_plugin() {
        let greeting = Greeting::read(MARIADB).unwrap();
        assert_eq!(greeting.version, "10.11.14-MariaDB-0+deb12u2");
        assert_eq!(greeting.numbers(), (10, 11, 14));
        assert_eq!(greeting.connection, 31);
        assert_eq!(greeting.nonce, b"12345678abcdefghijkl");
        assert_eq!(greeting.plugin, b"mysql_native_password");
        assert!(greeting.capabilities.contains(Capabilities::DEPRECATE_EOF));
    }

    #[test]
    fn a_greeting_truncated_before_the_plugin_is_an_error() {
        let plugin_at = MARIADB.len() - b"mysql_native_password\0".len();
        for end in 1..plugin_at {
            assert!(Greeting::read(&MARIADB[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn packets_that_are_not_greetings_are_explained() {
        let message = |payload| Greeting::read(payload).err().unwrap().to_string();
        assert!(message(b"").contains("not the greeting"));
        assert!(message(b"\x093.23.58\0").contains("before MySQL 4.1"));
        assert!(message(b"\xff\x10\x04Too many connections").contains("1040"));
    }

    /// The greeting above with another version.
    fn greeting_of(version: &str) -> Result<Greeting, WireError> {
        let rest = MARIADB.splitn(2, |byte| *byte == 0).nth(1).unwrap();
        Greeting::read(&[b"\x0a", version.as_bytes(), b"\0", rest].concat())
    }

    #[test]
    fn a_version_of_more_than_256_bytes_is_refused() {
        let error = |digits: usize| greeting_of(&"9".repeat(digits)).err().unwrap().to_string();
        assert!(greeting_of(&format!("8.0.{}", "1".repeat(252))).is_ok());
        assert!(error(257).contains("its version has 257 bytes"));
        assert!(error(100_000).contains("its version has 100000 bytes"));
    }

    #[test]
    fn a_server_before_5_1_is_too_old() {
        assert!(greeting_of("5.1.73").is_ok());
        let message = greeting_of("5.0.96-log").err().unwrap().to_string();
        assert_eq!(
            message,
            "the server is too old (5.0.96-log); use MySQL 5.1 or MariaDB 5.1, or later"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic_the_greeting_parser(mut bytes: Vec<u8>) {
            bytes.insert(0, 10);
            let _ = Greeting::read(&bytes);
        }
    }
}
