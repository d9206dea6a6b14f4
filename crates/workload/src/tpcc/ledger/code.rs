//! How an acknowledged transaction is kept: 20 bytes for a New-Order, 17 for a Payment, 48 for a Delivery.

use super::facts::{Delivery, NewOrder, Noted, Payment, Write};
use std::io::{self, Read};

const NEW_ORDER: u8 = 0;
const PAYMENT: u8 = 1;
const DELIVERY: u8 = 2;

impl Noted<Write> {
    #[inline]
    pub(super) fn encode(&self, to: &mut Vec<u8>) {
        let mut put = |bytes: &[u8]| to.extend_from_slice(bytes);
        put(&self.at.to_le_bytes());
        match self.what {
            Write::NewOrder(new) => {
                put(&[NEW_ORDER, new.d, new.lines, u8::from(new.all_local)]);
                put(&new.w.to_le_bytes());
                put(&new.c.to_le_bytes());
                put(&new.o.to_le_bytes());
                put(&new.cents.to_le_bytes());
            }
            Write::Payment(paid) => {
                put(&[PAYMENT, paid.d, paid.c_d]);
                put(&paid.w.to_le_bytes());
                put(&paid.c_w.to_le_bytes());
                put(&paid.c.to_le_bytes());
                put(&paid.cents.to_le_bytes());
            }
            Write::Delivery(Delivery { w, carrier, orders }) => {
                put(&[DELIVERY, carrier]);
                put(&w.to_le_bytes());
                orders.iter().for_each(|o| put(&o.to_le_bytes()));
            }
        }
    }

    /// # Errors
    /// Of the reader, or the bytes are not of `encode`.
    pub(super) fn decode(from: &mut impl Read) -> io::Result<Noted<Write>> {
        let at = u32(from)?;
        let [kind] = bytes(from)?;
        let what = match kind {
            NEW_ORDER => {
                let [d, lines, all_local] = bytes(from)?;
                Write::NewOrder(NewOrder {
                    d,
                    lines,
                    all_local: all_local != 0,
                    w: u16(from)?,
                    c: u16(from)?,
                    o: u32(from)?,
                    cents: u32(from)?,
                })
            }
            PAYMENT => {
                let [d, c_d] = bytes(from)?;
                Write::Payment(Payment {
                    d,
                    c_d,
                    w: u16(from)?,
                    c_w: u16(from)?,
                    c: u16(from)?,
                    cents: u32(from)?,
                })
            }
            DELIVERY => {
                let [carrier] = bytes(from)?;
                let w = u16(from)?;
                let mut orders = [0; 10];
                for o in &mut orders {
                    *o = u32(from)?;
                }
                Write::Delivery(Delivery { w, carrier, orders })
            }
            other => {
                return Err(io::Error::other(format!(
                    "{other} is no kind of transaction"
                )));
            }
        };
        Ok(Noted { what, at })
    }
}

fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16(from: &mut impl Read) -> io::Result<u16> {
    bytes(from).map(u16::from_le_bytes)
}

fn u32(from: &mut impl Read) -> io::Result<u32> {
    bytes(from).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn new_order() -> impl Strategy<Value = Write> {
        let keys = (any::<u16>(), any::<u8>(), any::<u32>(), any::<u16>());
        (keys, any::<u8>(), any::<bool>(), any::<u32>()).prop_map(
            |((w, d, o, c), lines, all_local, cents)| {
                Write::NewOrder(NewOrder {
                    w,
                    d,
                    o,
                    c,
                    lines,
                    all_local,
                    cents,
                })
            },
        )
    }

    fn payment() -> impl Strategy<Value = Write> {
        let place = (any::<u16>(), any::<u8>());
        let customer = (any::<u16>(), any::<u8>(), any::<u16>());
        (place, customer, any::<u32>()).prop_map(|((w, d), (c_w, c_d, c), cents)| {
            Write::Payment(Payment {
                w,
                d,
                c_w,
                c_d,
                c,
                cents,
            })
        })
    }

    fn delivery() -> impl Strategy<Value = Write> {
        (any::<u16>(), any::<u8>(), any::<[u32; 10]>())
            .prop_map(|(w, carrier, orders)| Write::Delivery(Delivery { w, carrier, orders }))
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(what in prop_oneof![new_order(), payment(), delivery()], at_ms in any::<u32>()) {
            let noted = Noted::new(what, u64::from(at_ms) * 1_000_000);
            let mut bytes = Vec::new();
            noted.encode(&mut bytes);
            let mut from = bytes.as_slice();
            prop_assert_eq!(Noted::decode(&mut from).unwrap(), noted);
            prop_assert!(from.is_empty());
            let size = match what {
                Write::NewOrder(_) => 20,
                Write::Payment(_) => 17,
                Write::Delivery(_) => 48,
            };
            prop_assert_eq!(bytes.len(), size);
        }
    }

    #[test]
    fn bytes_that_are_cut_off_or_of_no_kind_are_errors() {
        let noted = Noted::new(
            Write::Delivery(Delivery {
                w: 1,
                carrier: 2,
                orders: [3; 10],
            }),
            4,
        );
        let mut bytes = Vec::new();
        noted.encode(&mut bytes);
        assert!(Noted::decode(&mut &bytes[..47]).is_err());
        bytes[4] = 9;
        let error = Noted::decode(&mut bytes.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "9 is no kind of transaction");
    }
}
