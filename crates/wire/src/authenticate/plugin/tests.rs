use super::*;
use ring::signature::{ED25519, UnparsedPublicKey};

const NONCE: &[u8] = b"12345678abcdefghijkl";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn plugins_have_the_names_that_servers_send() {
    for plugin in [
        Plugin::NativePassword,
        Plugin::CachingSha2Password,
        Plugin::Ed25519,
    ] {
        assert_eq!(Plugin::from_name(plugin.name().as_bytes()), Some(plugin));
    }
    for other in [
        &b"mysql_old_password"[..],
        b"mysql_clear_password",
        b"sha256_password",
        b"",
    ] {
        assert_eq!(Plugin::from_name(other), None);
    }
}

#[test]
fn a_user_without_a_password_sends_an_empty_proof() {
    for password in [None, Some("")] {
        assert_eq!(Plugin::NativePassword.proof(password, NONCE), b"");
        assert_eq!(Plugin::CachingSha2Password.proof(password, NONCE), b"");
        assert_eq!(Plugin::Ed25519.proof(password, NONCE), b"");
    }
}

/// Computed with hashlib of Python from the formulas of the server's documentation.
#[test]
fn proofs_by_hashes_are_those_of_the_documented_formulas() {
    let password = Some("secret wörd");
    assert_eq!(
        Plugin::NativePassword.proof(password, NONCE),
        bytes("6f74d73790e69f4d3a36b50b835ddcd005bfa243")
    );
    assert_eq!(
        Plugin::CachingSha2Password.proof(password, NONCE),
        bytes("9a68f72c0b86e895946e5a03535e17ba4194664908f9637e240d5dc4618d6d7f")
    );
}

/// RFC 8032, section 7.1, tests 1 to 3: a password of 32 bytes is an ordinary private key.
#[test]
fn an_ed25519_proof_with_a_password_of_32_bytes_is_the_signature_of_rfc_8032() {
    for (key, nonce, signature) in [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        assert_eq!(ed25519(&bytes(key), &bytes(nonce)), *bytes(signature));
    }
}

/// The keys are those that MariaDB's `ed25519_password()` computes, from the results of the server's own tests (auth_ed25519).
#[test]
fn an_ed25519_proof_is_verified_by_the_key_that_mariadb_keeps() {
    for (password, key) in [
        (
            "foo",
            "bee6c507322b6a96df1dcb75fc9ef676752bcb3e554bb940e971c7f2c231e132",
        ),
        (
            "foobar",
            "aafda61ba1d60aecb7d9295be71855e131d2b5ec0dcf65483553db824f97009f",
        ),
        (
            "foo bar",
            "6397d5ef824055130e2b671d9d4b184be596f6c5da68bfe8fba58628e82a9f37",
        ),
    ] {
        let nonce = [7; 32];
        let proof = Plugin::Ed25519.proof(Some(password), &nonce);
        let verified = UnparsedPublicKey::new(&ED25519, bytes(key)).verify(&nonce, &proof);
        assert!(verified.is_ok(), "{password}");
    }
}
