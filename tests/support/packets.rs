//! Packets of the MySQL protocol, for tests that play a server.

/// The OK packet of a server.
pub(crate) const OK: &[u8] = b"\0\0\0\x02\0\0\0";
/// The end of a result, after its rows.
pub(crate) const END: &[u8] = b"\xfe\0\0\x02\0\0\0";
pub(crate) const END_WITH_MORE: &[u8] = b"\xfe\0\0\x0a\0\0\0";

/// Packets with consecutive sequence numbers.
pub(crate) fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, payload) in payloads.iter().enumerate() {
        let number = first.wrapping_add(n as u8);
        bytes.extend((payload.len() as u32 | u32::from(number) << 24).to_le_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes
}

/// The definition of a column of this type, by its number in the protocol.
pub(crate) fn column(name: &str, kind: u8) -> Vec<u8> {
    let mut definition = b"\x03def\0\0\0".to_vec();
    definition.push(name.len() as u8);
    definition.extend_from_slice(name.as_bytes());
    definition.extend_from_slice(b"\0\x0c\x21\0\0\0\0\0");
    definition.extend_from_slice(&[kind, 0, 0, 0, 0, 0]);
    definition
}
