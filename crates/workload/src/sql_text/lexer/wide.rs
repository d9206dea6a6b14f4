//! Character sets in which the second byte of a character may be a quote's escape or another sign of ASCII.
//!
//! Sources: the tables of characters in MySQL's `strings/ctype-gbk.cc`, `ctype-sjis.cc`, `ctype-big5.cc`, `ctype-gb18030.cc`.

/// How long characters are. In all other character sets of a client, bytes below 0x80 are ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    No,
    /// gbk, and the characters of two bytes of gb18030. Those of four bytes have no sign among their bytes.
    Gbk,
    /// sjis and cp932.
    Sjis,
    Big5,
}

impl Wide {
    /// By the name of the character set.
    pub(crate) fn from_charset(charset: &str) -> Wide {
        match charset.to_ascii_lowercase().as_str() {
            "gbk" | "gb18030" => Wide::Gbk,
            "sjis" | "cp932" => Wide::Sjis,
            "big5" => Wide::Big5,
            _ => Wide::No,
        }
    }

    /// The bytes of the character at the start: 1 or 2, and 0 at the end of the text.
    pub(crate) fn length(self, rest: &[u8]) -> usize {
        match *rest {
            [] => 0,
            [first, second, ..] if self.is_pair(first, second) => 2,
            _ => 1,
        }
    }

    fn is_pair(self, first: u8, second: u8) -> bool {
        match self {
            Wide::No => false,
            Wide::Gbk => {
                matches!(first, 0x81..=0xfe) && matches!(second, 0x40..=0x7e | 0x80..=0xfe)
            }
            Wide::Sjis => {
                matches!(first, 0x81..=0x9f | 0xe0..=0xfc)
                    && matches!(second, 0x40..=0x7e | 0x80..=0xfc)
            }
            Wide::Big5 => {
                matches!(first, 0xa1..=0xf9) && matches!(second, 0x40..=0x7e | 0xa1..=0xfe)
            }
        }
    }
}
