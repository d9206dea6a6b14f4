//! Generates the values of parameters.
//!
//! Purpose: values without allocation: numbers are plain, texts are written into a buffer of the session.

use datagen::oltp::{Keys, write_digits, write_groups};
use datagen::random::{Random, below};
use wire::Param;

#[derive(Clone, Debug)]
pub enum Generator {
    Keys(Keys),
    /// The number of the operation, counted from `first` and wrapping after `count`.
    Sequence {
        first: i64,
        count: u64,
    },
    /// A random number of digits in this inclusive range.
    Digits {
        bytes_min: u32,
        bytes_max: u32,
    },
    /// Groups of eleven digits separated by dashes, of this many bytes.
    Groups {
        bytes: u32,
    },
    OneOf(Vec<Literal>),
    /// The sum of another parameter and this number.
    Plus {
        parameter: u16,
        add: i64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Int(i64),
    Double(f64),
    Text(String),
}

/// A parameter: its generator, and the range of its text in the session's buffer.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: String,
    pub generator: Generator,
    pub text_from: usize,
}

/// The value that was drawn last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Drawn {
    Int(i64),
    /// Bytes of the parameter's place in the buffer.
    Text(u32),
    /// An index into the list.
    Choice(u32),
}

impl Generator {
    /// Bytes that a text of it may take.
    pub(crate) fn text_bytes_max(&self) -> usize {
        match self {
            Generator::Digits { bytes_max, .. } => *bytes_max as usize,
            Generator::Groups { bytes } => *bytes as usize,
            _ => 0,
        }
    }
}

impl Parameter {
    /// Draws a value. `number` is the operation's; `drawn` holds the values of the parameters that this one depends on.
    #[inline]
    pub(super) fn draw(
        &self,
        number: u64,
        random: &mut Random,
        drawn: &[Drawn],
        text: &mut [u8],
    ) -> Drawn {
        match &self.generator {
            Generator::Keys(keys) => Drawn::Int(keys.draw(random)),
            Generator::Sequence { first, count } => {
                Drawn::Int(first.wrapping_add((number % count) as i64))
            }
            Generator::Digits {
                bytes_min,
                bytes_max,
            } => {
                let more = below(random, u64::from(bytes_max - bytes_min) + 1);
                let bytes = bytes_min + more as u32;
                write_digits(random, self.place(text, bytes));
                Drawn::Text(bytes)
            }
            Generator::Groups { bytes } => {
                write_groups(random, self.place(text, *bytes));
                Drawn::Text(*bytes)
            }
            Generator::OneOf(list) => Drawn::Choice(below(random, list.len() as u64) as u32),
            Generator::Plus { parameter, add } => match drawn[usize::from(*parameter)] {
                Drawn::Int(number) => Drawn::Int(number.wrapping_add(*add)),
                other => other,
            },
        }
    }

    fn place<'t>(&self, text: &'t mut [u8], bytes: u32) -> &'t mut [u8] {
        &mut text[self.text_from..][..bytes as usize]
    }

    /// The value in the form for the server.
    #[inline]
    pub(super) fn param<'v>(&'v self, drawn: Drawn, text: &'v [u8]) -> Param<'v> {
        match drawn {
            Drawn::Int(number) => Param::Int(number),
            Drawn::Text(bytes) => Param::Bytes(&text[self.text_from..][..bytes as usize]),
            Drawn::Choice(which) => match &self.generator {
                Generator::OneOf(list) => list[which as usize].param(),
                _ => Param::Null,
            },
        }
    }
}

impl Literal {
    fn param(&self) -> Param<'_> {
        match self {
            Literal::Int(number) => Param::Int(*number),
            Literal::Double(number) => Param::Double(*number),
            Literal::Text(text) => Param::Bytes(text.as_bytes()),
        }
    }
}
