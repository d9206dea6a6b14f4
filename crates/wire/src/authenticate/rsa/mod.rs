//! RSA-OAEP: encrypts a password with a server's public key.
//!
//! Non-goals: private keys, signatures, other hashes than the SHA-1 that MySQL prescribes (OAEP does not need a hash that
//! resists collisions).
//! Sources: RFC 8017, sections 7.1.1 and B.2.1; RFC 3279 for the key's form.

mod modulus;

use super::plugin::sha1;
use crate::packet::Fields;
use modulus::Modulus;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// Length of a SHA-1 hash.
const HASH: usize = 20;

/// The largest modulus that is accepted. It limits the time that a hostile server's key can take to some milliseconds.
const MODULUS_BYTES_MAX: usize = 2048;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;

/// The algorithm of an RSA key in DER: rsaEncryption, 1.2.840.113549.1.1.1, with a NULL as its parameters.
const RSA_ENCRYPTION: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

/// A server's public key.
pub(crate) struct PublicKey {
    modulus: Modulus,
    exponent: u64,
}

impl PublicKey {
    /// Reads the first public key in PEM. None if there is none, or if it is not an RSA key that can encrypt.
    pub(crate) fn of_pem(pem: &[u8]) -> Option<PublicKey> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
        PublicKey::of_der(&der)
    }

    /// Reads a SubjectPublicKeyInfo.
    fn of_der(der: &[u8]) -> Option<PublicKey> {
        let mut info = Fields(value(&mut Fields(der), SEQUENCE)?);
        if value(&mut info, SEQUENCE)? != RSA_ENCRYPTION {
            return None;
        }
        let [0, key @ ..] = value(&mut info, BIT_STRING)? else {
            return None;
        };
        let mut key = Fields(value(&mut Fields(key), SEQUENCE)?);
        let modulus = positive(value(&mut key, INTEGER)?)?;
        let exponent = positive(value(&mut key, INTEGER)?)?;
        if modulus.len() > MODULUS_BYTES_MAX || exponent.len() > size_of::<u64>() {
            return None;
        }
        let exponent = exponent
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        if exponent >= 3 && !exponent.is_multiple_of(2) {
            Some(PublicKey {
                modulus: Modulus::new(modulus)?,
                exponent,
            })
        } else {
            None
        }
    }

    /// Encrypts a message. None if it is too long for the key, or the kernel has no random numbers.
    pub(crate) fn encrypt(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut seed = [0; HASH];
        SystemRandom::new().fill(&mut seed).ok()?;
        self.encrypt_with(message, &seed)
    }

    fn encrypt_with(&self, message: &[u8], seed: &[u8; HASH]) -> Option<Vec<u8>> {
        let padded = padded(message, seed, self.modulus.bytes())?;
        Some(self.modulus.power(&padded, self.exponent))
    }
}

/// The contents of the next value in DER, if it has this tag and at most 64 KiB.
fn value<'a>(fields: &mut Fields<'a>, tag: u8) -> Option<&'a [u8]> {
    if fields.u8()? != tag {
        return None;
    }
    let length = match fields.u8()? {
        short @ 0..=0x7f => usize::from(short),
        0x81 => usize::from(fields.u8()?),
        0x82 => usize::from(fields.array().map(u16::from_be_bytes)?),
        _ => return None,
    };
    fields.bytes(length)
}

/// A number without the zero byte that precedes its highest bit. None for zero and for negative numbers.
fn positive(number: &[u8]) -> Option<&[u8]> {
    match number {
        [0, number @ ..] if !number.is_empty() => Some(number),
        [1..=0x7f, ..] => Some(number),
        _ => None,
    }
}

/// The message in OAEP's padding with an empty label, as long as the modulus. It begins with a zero byte, so it is less than the
/// modulus.
fn padded(message: &[u8], seed: &[u8; HASH], bytes: usize) -> Option<Vec<u8>> {
    if message.len() + 2 * HASH + 2 > bytes {
        return None;
    }
    let mut block = vec![0; bytes];
    let (own_seed, data) = block[1..].split_at_mut(HASH);
    own_seed.copy_from_slice(seed);
    data[..HASH].copy_from_slice(sha1(&[]).as_ref());
    let at = data.len() - message.len();
    data[at - 1] = 1;
    data[at..].copy_from_slice(message);
    mask(data, own_seed);
    mask(own_seed, data);
    Some(block)
}

/// Applies MGF1 of a seed.
fn mask(target: &mut [u8], seed: &[u8]) {
    for (counter, chunk) in (0_u32..).zip(target.chunks_mut(HASH)) {
        let mask = sha1(&[seed, &counter.to_be_bytes()]);
        for (byte, mask) in chunk.iter_mut().zip(mask.as_ref()) {
            *byte ^= mask;
        }
    }
}

#[cfg(test)]
mod tests;
