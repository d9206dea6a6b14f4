//! Authentication plugins: what a client sends to prove that it knows the password.
//!
//! Non-goals: plugins that send the password to any server (mysql_clear_password), and mysql_old_password, which is broken.
//! Sources: "Authentication Methods" in the documentation of MySQL's protocol, "Authentication Plugin - ed25519" in that of MariaDB,
//! and RFC 8032.

use curve25519_dalek::scalar::clamp_integer;
use curve25519_dalek::{EdwardsPoint, Scalar};
use ring::digest::{Algorithm, Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};

/// A supported plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    NativePassword,
    CachingSha2Password,
    Ed25519,
}

impl Plugin {
    /// None for a plugin that is not supported.
    pub(crate) fn from_name(name: &[u8]) -> Option<Plugin> {
        let all = [
            Plugin::NativePassword,
            Plugin::CachingSha2Password,
            Plugin::Ed25519,
        ];
        all.into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }

    /// Its name on the client's side.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Plugin::NativePassword => "mysql_native_password",
            Plugin::CachingSha2Password => "caching_sha2_password",
            Plugin::Ed25519 => "client_ed25519",
        }
    }

    /// The answer to the server's nonce. It is empty for a user without a password.
    pub(crate) fn proof(self, password: Option<&str>, nonce: &[u8]) -> Vec<u8> {
        let password = password.unwrap_or_default().as_bytes();
        match self {
            _ if password.is_empty() => Vec::new(),
            Plugin::NativePassword => native(password, nonce),
            Plugin::CachingSha2Password => caching_sha2(password, nonce),
            Plugin::Ed25519 => ed25519(password, nonce).to_vec(),
        }
    }
}

/// SHA-1, as OAEP and mysql_native_password prescribe it.
pub(crate) fn sha1(parts: &[&[u8]]) -> Digest {
    hash(&SHA1_FOR_LEGACY_USE_ONLY, parts)
}

/// The hash of the concatenated parts.
fn hash(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish()
}

/// SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))). The server keeps the twofold hash.
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = sha1(&[password]);
    let kept = sha1(&[once.as_ref()]);
    xor(&once, &sha1(&[nonce, kept.as_ref()]))
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = hash(&SHA256, &[password]);
    let kept = hash(&SHA256, &[once.as_ref()]);
    xor(&once, &hash(&SHA256, &[kept.as_ref(), nonce]))
}

fn xor(left: &Digest, right: &Digest) -> Vec<u8> {
    let pairs = left.as_ref().iter().zip(right.as_ref());
    pairs.map(|(left, right)| left ^ right).collect()
}

/// An Ed25519 signature of the nonce. The private key is the hash of the password, which may have any length; that of RFC 8032 is
/// the hash of 32 random bytes, so no usual library takes it.
fn ed25519(password: &[u8], nonce: &[u8]) -> [u8; 64] {
    let hashed = hash_to_64(&[password]);
    let (secret, prefix) = hashed.split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(secret);
    let key = Scalar::from_bytes_mod_order(clamp_integer(key));
    let public = EdwardsPoint::mul_base(&key).compress();
    let once = Scalar::from_bytes_mod_order_wide(&hash_to_64(&[prefix, nonce]));
    let commitment = EdwardsPoint::mul_base(&once).compress();
    let challenge = hash_to_64(&[commitment.as_bytes(), public.as_bytes(), nonce]);
    let response = Scalar::from_bytes_mod_order_wide(&challenge) * key + once;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(commitment.as_bytes());
    signature[32..].copy_from_slice(response.as_bytes());
    signature
}

fn hash_to_64(parts: &[&[u8]]) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes.copy_from_slice(hash(&SHA512, parts).as_ref());
    bytes
}

#[cfg(test)]
mod tests;
