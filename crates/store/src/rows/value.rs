//! The record's types as values of a row.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Nodes count from 1.
pub(super) const FIRST_NODE: u32 = 1;

/// JSON of the record's own types, which cannot fail: every map has string keys.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("the record's types are JSON")
}

/// The word by which serde calls a variant without fields: `done`, `ok`.
pub(super) fn word<T: Serialize>(value: T) -> String {
    json(&value).trim_matches('"').to_string()
}

/// The bytes, compressed.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflated
        .write_all(bytes)
        .expect("memory takes what it is given");
    deflated.finish().expect("memory takes what it is given")
}

/// A value of each node; the first node has the number 1.
pub(super) fn nodes<'n, T>(
    first: &'n T,
    further: &'n BTreeMap<u32, T>,
) -> impl Iterator<Item = (u32, &'n T)> {
    let further = further.iter().map(|(node, of)| (*node, of));
    std::iter::once((FIRST_NODE, first)).chain(further)
}
