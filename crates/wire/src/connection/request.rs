//! Serialises COM_STMT_EXECUTE directly into the send buffer.

use crate::error::WireError;
use crate::field_type::{DOUBLE, LONGLONG, NULL, VAR_STRING};
use crate::packet::{self, HEADER};
use std::borrow::Borrow;

const EXECUTE: u8 = 0x17;

/// Offset of the NULL bitmap in the packet: after header, command, statement id, flags, iteration count.
const NULLS: usize = HEADER + 1 + 4 + 1 + 4;

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// A prepared statement with the parameter types that the server knows.
pub(crate) struct Bound {
    pub(crate) statement: u32,
    /// The request up to the values, if the server knows all types and no value is NULL.
    head: Box<[u8]>,
    types: Box<[u8]>,
    types_sent: bool,
}

impl Bound {
    pub(crate) fn new(statement: u32, params: u16) -> Bound {
        let params = usize::from(params);
        // The NULL bitmap and the flag that no types follow.
        let rest = params.div_ceil(8) + usize::from(params > 0);
        let mut head = vec![0; NULLS + rest];
        head[HEADER] = EXECUTE;
        head[HEADER + 1..HEADER + 5].copy_from_slice(&statement.to_le_bytes());
        head[HEADER + 6] = 1;
        Bound {
            statement,
            head: head.into(),
            types: vec![NULL; params].into(),
            types_sent: params == 0,
        }
    }

    /// Appends the request. Types are included only when the server does not know them: in the first execution and when one has
    /// changed (NULL fits any type). Returns the sequence number of the reply's first packet.
    ///
    /// # Errors
    /// [`WireError::Misuse`] if the number of parameters is wrong. Then nothing is appended.
    #[inline]
    pub(crate) fn write<'p>(
        &mut self,
        out: &mut Vec<u8>,
        params: impl ExactSizeIterator<Item: Borrow<Param<'p>>> + Clone,
    ) -> Result<u8, WireError> {
        if params.len() != self.types.len() {
            return Err(wrong_parameter_count(self.types.len(), params.len()));
        }
        let start = out.len();
        out.extend_from_slice(&self.head);
        if !self.types_sent || !self.write_values(out, start, params.clone()) {
            self.write_with_types(out, start, params);
        }
        Ok(packet::finish(out, start, 0))
    }

    /// Appends the values to the request at `start`. Stops and returns false at the first value whose type the server does not know.
    #[inline]
    fn write_values<'p>(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        params: impl Iterator<Item: Borrow<Param<'p>>>,
    ) -> bool {
        for (place, (param, known)) in params.zip(&self.types).enumerate() {
            match (*param.borrow(), *known) {
                (Param::Null, _) => out[start + NULLS + place / 8] |= 1 << (place % 8),
                (Param::Int(value), LONGLONG) => out.extend_from_slice(&value.to_le_bytes()),
                (Param::Double(value), DOUBLE) => out.extend_from_slice(&value.to_le_bytes()),
                (Param::Bytes(value), VAR_STRING) => packet::write_string(out, value),
                _ => return false,
            }
        }
        true
    }

    /// Rewrites the request at `start` with all types and values.
    #[cold]
    fn write_with_types<'p>(
        &mut self,
        out: &mut Vec<u8>,
        start: usize,
        params: impl Iterator<Item: Borrow<Param<'p>>> + Clone,
    ) {
        for (known, param) in self.types.iter_mut().zip(params.clone()) {
            match param.borrow() {
                Param::Null => {}
                Param::Int(_) => *known = LONGLONG,
                Param::Double(_) => *known = DOUBLE,
                Param::Bytes(_) => *known = VAR_STRING,
            }
        }
        self.types_sent = true;
        out.truncate(start + self.head.len() - 1);
        out.push(1);
        for kind in &self.types {
            out.extend_from_slice(&[*kind, 0]);
        }
        let is_known = self.write_values(out, start, params);
        debug_assert!(is_known);
    }
}

#[cold]
fn wrong_parameter_count(has: usize, given: usize) -> WireError {
    WireError::Misuse(format!(
        "the statement has {has} parameters, but {given} were given"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bound: &mut Bound, params: &[Param]) -> Vec<u8> {
        let mut out = Vec::new();
        bound.write(&mut out, params.iter()).unwrap();
        out
    }

    #[test]
    fn types_are_sent_first_and_when_they_change() {
        let mut bound = Bound::new(7, 1);
        let first = written(&mut bound, &[Param::Int(1)]);
        assert_eq!(
            first,
            b"\x16\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x08\0\x01\0\0\0\0\0\0\0"
        );
        let again = written(&mut bound, &[Param::Int(2)]);
        assert_eq!(
            again,
            b"\x14\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\0\x02\0\0\0\0\0\0\0"
        );
        let null = written(&mut bound, &[Param::Null]);
        assert_eq!(null, b"\x0c\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\x01\0");
        let other = written(&mut bound, &[Param::Bytes(b"x")]);
        assert_eq!(
            other,
            b"\x10\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x01x"
        );
    }

    #[test]
    fn null_number_nine_is_in_the_second_bitmap_byte() {
        let mut params = [Param::Int(0); 9];
        params[8] = Param::Null;
        let out = written(&mut Bound::new(1, 9), &params);
        assert_eq!(out[NULLS..NULLS + 3], [0, 1, 1]);
    }

    #[test]
    fn a_type_change_after_other_values_rewrites_the_request() {
        let mut bound = Bound::new(1, 3);
        written(&mut bound, &[Param::Int(1); 3]);
        let params = [Param::Null, Param::Int(2), Param::Double(0.5)];
        let changed = written(&mut bound, &params);
        let mut anew = Bound::new(1, 3);
        written(
            &mut anew,
            &[Param::Int(1), Param::Int(1), Param::Double(1.0)],
        );
        anew.types_sent = false;
        assert_eq!(changed, written(&mut anew, &params));
    }

    #[test]
    fn a_request_without_parameters_has_ten_bytes() {
        let out = written(&mut Bound::new(1, 0), &[]);
        assert_eq!(out, b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn a_wrong_number_of_parameters_is_an_error_and_writes_nothing() {
        let mut out = Vec::new();
        let error = Bound::new(1, 2)
            .write(&mut out, [Param::Null].iter())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statement has 2 parameters, but 1 were given"
        );
        assert!(!error.is_lost() && out.is_empty());
    }
}
