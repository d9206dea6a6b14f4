//! Types of columns and parameters, by their number in the protocol.
//!
//! Source: "enum_field_types" in the server's protocol documentation.

pub(crate) const DECIMAL: u8 = 0;
pub(crate) const TINY: u8 = 1;
pub(crate) const SHORT: u8 = 2;
pub(crate) const LONG: u8 = 3;
pub(crate) const FLOAT: u8 = 4;
pub(crate) const DOUBLE: u8 = 5;
pub(crate) const NULL: u8 = 6;
pub(crate) const TIMESTAMP: u8 = 7;
pub(crate) const LONGLONG: u8 = 8;
pub(crate) const INT24: u8 = 9;
pub(crate) const DATE: u8 = 10;
pub(crate) const TIME: u8 = 11;
pub(crate) const DATETIME: u8 = 12;
pub(crate) const YEAR: u8 = 13;
pub(crate) const NEWDATE: u8 = 14;
pub(crate) const VARCHAR: u8 = 15;
/// The last of the types that began with VARCHAR; it and some before it are used in replication alone.
pub(crate) const TYPED_ARRAY: u8 = 20;
pub(crate) const VECTOR: u8 = 242;
/// The type of an expression that the server does not know yet.
pub(crate) const INVALID: u8 = 243;
pub(crate) const JSON: u8 = 245;
pub(crate) const NEWDECIMAL: u8 = 246;
pub(crate) const VAR_STRING: u8 = 253;
pub(crate) const STRING: u8 = 254;
/// The last one. From JSON to here are NEWDECIMAL, ENUM, SET and the kinds of BLOB and string.
pub(crate) const GEOMETRY: u8 = 255;
