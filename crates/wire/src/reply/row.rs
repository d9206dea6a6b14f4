//! Parses rows in the text and binary formats.
//!
//! Non-goal: parsing dates and decimals, which are returned as bytes (a binary date is packed: year in two bytes, month, day, hour,
//! minute, second, microseconds in four, without trailing zeros).

use crate::error::WireError;
use crate::field_type;
use crate::packet::Fields;

/// The flag of an unsigned column.
const UNSIGNED: u16 = 1 << 5;

/// A value of a row, for the types that workloads read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    /// An unsigned number above `i64::MAX` is returned as the negative number with the same bits.
    Int(i64),
    Double(f64),
    /// Text, blobs, decimals and everything else, unchanged.
    Bytes(&'a [u8]),
}

/// The layout of a column's values in a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Signed(u8),
    Unsigned(u8),
    Float,
    Double,
    /// A date or a time, preceded by one length byte.
    Packed,
    String,
}

/// A column of a result set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column(Layout);

impl Column {
    /// Parses a column definition.
    pub(crate) fn read(definition: &[u8]) -> Result<Column, WireError> {
        let mut fields = Fields(definition);
        let (kind, flags) = kind_and_flags(&mut fields)
            .ok_or_else(|| WireError::malformed("a column definition is truncated"))?;
        let layout = layout(kind, flags & UNSIGNED != 0);
        layout
            .map(Column)
            .ok_or_else(|| WireError::Protocol(format!("a column has the unknown type {kind}")))
    }
}

/// How the values of a column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number that is exact: an integer or a decimal.
    Exact,
    /// FLOAT or DOUBLE.
    Approximate,
    /// Text, bytes, dates and everything else.
    Other,
}

/// A column of a text reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Described<'a> {
    /// Its alias, or its name in the table.
    pub name: &'a [u8],
    pub kind: ColumnKind,
}

impl<'a> Described<'a> {
    /// Parses a column definition. A type that prony does not know is text, like most.
    pub(crate) fn read(definition: &'a [u8]) -> Result<Described<'a>, WireError> {
        let described = || {
            let mut fields = Fields(definition);
            // Catalog, schema, table alias, table.
            for _ in 0..4 {
                fields.string()?;
            }
            let name = fields.string()?;
            let (kind, _) = kind_and_flags(&mut Fields(definition))?;
            Some(Described {
                name,
                kind: column_kind(kind),
            })
        };
        described().ok_or_else(|| WireError::malformed("a column definition is truncated"))
    }
}

fn column_kind(kind: u8) -> ColumnKind {
    use field_type::*;
    match kind {
        FLOAT | DOUBLE => ColumnKind::Approximate,
        TINY | SHORT | INT24 | LONG | LONGLONG | YEAR | DECIMAL | NEWDECIMAL => ColumnKind::Exact,
        _ => ColumnKind::Other,
    }
}

fn kind_and_flags(fields: &mut Fields) -> Option<(u8, u16)> {
    // Catalog, schema, table alias, table, column alias, column.
    for _ in 0..6 {
        fields.string()?;
    }
    let _length_of_the_rest = fields.integer()?;
    let (_charset, _width) = (fields.u16()?, fields.u32()?);
    Some((fields.u8()?, fields.u16()?))
}

/// None for a type that is not known.
fn layout(kind: u8, is_unsigned: bool) -> Option<Layout> {
    use field_type::*;
    let integer = if is_unsigned {
        Layout::Unsigned
    } else {
        Layout::Signed
    };
    Some(match kind {
        TINY => integer(1),
        SHORT | YEAR => integer(2),
        LONG | INT24 => integer(4),
        LONGLONG => integer(8),
        FLOAT => Layout::Float,
        DOUBLE => Layout::Double,
        DATE | TIMESTAMP | DATETIME | TIME | NEWDATE => Layout::Packed,
        DECIMAL | NULL | VARCHAR..=TYPED_ARRAY | VECTOR | INVALID | JSON..=GEOMETRY => {
            Layout::String
        }
        _ => return None,
    })
}

/// Appends the values of a binary row to `values`.
pub(crate) fn read_binary<'a>(
    payload: &'a [u8],
    columns: &[Column],
    values: &mut Vec<Value<'a>>,
) -> Result<(), WireError> {
    let too_short = || WireError::malformed("a row is truncated");
    let mut fields = Fields(payload);
    let _header = fields.u8().ok_or_else(too_short)?;
    // The first two bits of the NULL bitmap are unused.
    let nulls = fields
        .bytes((columns.len() + 2).div_ceil(8))
        .ok_or_else(too_short)?;
    for (place, column) in columns.iter().enumerate() {
        let bit = place + 2;
        let value = match nulls[bit / 8] >> (bit % 8) & 1 {
            1 => Value::Null,
            _ => binary_value(&mut fields, column.0).ok_or_else(too_short)?,
        };
        values.push(value);
    }
    Ok(())
}

fn binary_value<'a>(fields: &mut Fields<'a>, layout: Layout) -> Option<Value<'a>> {
    Some(match layout {
        Layout::Signed(1) => Value::Int(i64::from(i8::from_le_bytes(fields.array()?))),
        Layout::Signed(2) => Value::Int(i64::from(i16::from_le_bytes(fields.array()?))),
        Layout::Signed(4) => Value::Int(i64::from(i32::from_le_bytes(fields.array()?))),
        Layout::Unsigned(1) => Value::Int(i64::from(fields.u8()?)),
        Layout::Unsigned(2) => Value::Int(i64::from(fields.u16()?)),
        Layout::Unsigned(4) => Value::Int(i64::from(fields.u32()?)),
        Layout::Signed(_) | Layout::Unsigned(_) => Value::Int(i64::from_le_bytes(fields.array()?)),
        Layout::Float => Value::Double(f64::from(f32::from_le_bytes(fields.array()?))),
        Layout::Double => Value::Double(f64::from_le_bytes(fields.array()?)),
        Layout::Packed => {
            let length = usize::from(fields.u8()?);
            Value::Bytes(fields.bytes(length)?)
        }
        Layout::String => Value::Bytes(fields.string()?),
    })
}

/// Appends the values of a text row to `values`.
pub(crate) fn read_text<'a>(
    payload: &'a [u8],
    columns: usize,
    values: &mut Vec<Value<'a>>,
) -> Result<(), WireError> {
    read_cells(payload, columns, |cell| {
        values.push(cell.map_or(Value::Null, Value::Bytes));
    })
}

/// Passes each cell of a text row to `take`. NULL is None.
pub(crate) fn read_cells<'a>(
    payload: &'a [u8],
    columns: usize,
    mut take: impl FnMut(Option<&'a [u8]>),
) -> Result<(), WireError> {
    let mut fields = Fields(payload);
    for _ in 0..columns {
        let cell = match fields.0.first() {
            Some(0xfb) => fields.u8().map(|_| None),
            _ => fields.string().map(Some),
        };
        take(cell.ok_or_else(|| WireError::malformed("a row is truncated"))?);
    }
    Ok(())
}

/// Empties a vector and reuses its memory for values of another lifetime.
pub(crate) fn recycled<'a>(mut values: Vec<Value<'_>>) -> Vec<Value<'a>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

/// [`recycled`] for the cells of text rows.
pub(crate) fn recycled_cells<'a>(mut cells: Vec<Option<&[u8]>>) -> Vec<Option<&'a [u8]>> {
    cells.clear();
    cells.into_iter().map(|_| None).collect()
}
