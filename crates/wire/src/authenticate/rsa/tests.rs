use super::*;
use proptest::prelude::*;

/// The key of RSA Laboratories' example of OAEP (oaep-int.txt of PKCS #1 2.1), of 1024 bits and with the exponent 17.
const EXAMPLE: &str = "-----BEGIN PUBLIC KEY-----
MIGdMA0GCSqGSIb3DQEBAQUAA4GLADCBhwKBgQC7+C8JBoLOnCM4rCudqHH3No0H
7tQQQ6RA1rbwdFT1H7jfuq8DXAKrYepIzutvzUh27VINYOHsRhlxnYpbi4B/r7jg
o9/HN3I+5rS32TolhO5qZJ0GCVN0iDSyRUWYOU7gqrEte2GlH1J6mkH2wWh/4lNy
mMoqj1lG+OX9CR29ywIBEQ==
-----END PUBLIC KEY-----
";

/// A key as MySQL makes it: 2048 bits, exponent 65537.
const OF_MYSQL: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA7gTSu8pcr3mxEWq3IJOg
X0F+57oR90POms6Sc1c3nW76WES52gY/6nesq/xPSy5la0pBWXiMFg1TfFVEKadw
E4IE8iAdeFdob9rx5b2eAUXuKx9cWnWvpld05VsLmnyNdgy2MF1fN+D2UKGKUm6F
pCe57RctaqEiEcqmpf7Mku8zuLcsvcgFppgLI5QBdkR+AnELU6jT26hES4k8ebRi
8ldYaA/ah7w9eqGBtMoaq+bF1rhVZ7BySaegmpn+vellmHb2GDgM4funUHO/zCeP
o1n2WIGu9I4hnNHtMEyQifyinwiv+C6aM9MyhW8YhxfgptYS34S2DC1+PFSYrZ2r
cQIDAQAB
-----END PUBLIC KEY-----
";

/// A P-256 key, which cannot encrypt.
const ELLIPTIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVs/o5+uQbTjL3chynL4wXgUg2R9
q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==
-----END PUBLIC KEY-----
";

fn encrypted(pem: &str, message: &[u8], seed: &[u8; HASH]) -> String {
    let key = PublicKey::of_pem(pem.as_bytes()).unwrap();
    let encrypted = key.encrypt_with(message, seed).unwrap();
    encrypted.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_example_of_pkcs_1_is_encrypted_as_published() {
    let message = b"\xd4\x36\xe9\x95\x69\xfd\x32\xa7\xc8\xa0\x5b\xbc\x90\xd3\x2c\x49";
    let seed = b"\xaa\xfd\x12\xf6\x59\xca\xe6\x34\x89\xb4\x79\xe5\x07\x6d\xde\xc2\xf0\x6c\xb5\x8f";
    assert_eq!(
        encrypted(EXAMPLE, message, seed),
        "1253e04dc0a5397bb44a7ab87e9bf2a039a33d1e996fc82a94ccd30074c95df7\
         63722017069e5268da5d1c0b4f872cf653c11df82314a67968dfeae28def04bb\
         6d84b1c31d654a1970e5783bd6eb96a024c2ca2f4a90fe9f2ef5c9c140e5bb48\
         da9536ad8700c84fc9130adea74e558d51a74ddf85d8b50de96838d6063e0955"
    );
}

/// The ciphertext was decrypted with the private key by Python's `cryptography` (OpenSSL).
#[test]
fn a_message_for_a_key_of_2048_bits_is_the_one_that_openssl_decrypts() {
    let seed = b"\x06\x1f\xa7\x16\x61\x9a\xad\x54\xd6\x5a\x8a\x89\x5d\x50\xab\x09\x93\xd8\x34\x88";
    assert_eq!(
        encrypted(OF_MYSQL, b"masked password\0", seed),
        "41feba58933f5b6ece8a82a8027c37771061d57f7605d4321c191b5d8befdec4\
         0c9a3059f26608ff77320b6fab53224b9a2f3d1f51e7fa6e5a400aae12d9422d\
         78d4259a797e5eab12781deeb7e79f15cffa24db0cc4dcc4bcf682469edc9ea3\
         9bc3e842e6375304d0f334f6afff24f7f2bdec704eecc9f37d71e9c5f9091383\
         d98d5e7b91abba87141e94ce62c77d49e8440be9bea6001cd71c8e7c876f0901\
         a1eb2c888137fb5a2d60d159770b292a582331f450c08c73b871fdcba1413354\
         98e406a6bf05f6a24dcf42567481cd49469fee04edae57bd3683de196a1ef2e2\
         ae8f0f8870fbe96a4921de719a1c989c7c3525caeb6cbd76c63dd1d67acdf856"
    );
}

#[test]
fn each_encryption_is_different() {
    let key = PublicKey::of_pem(OF_MYSQL.as_bytes()).unwrap();
    let first = key.encrypt(b"secret").unwrap();
    assert_eq!(first.len(), 256);
    assert_ne!(key.encrypt(b"secret").unwrap(), first);
}

#[test]
fn a_message_that_is_too_long_for_the_key_is_refused() {
    let key = PublicKey::of_pem(EXAMPLE.as_bytes()).unwrap();
    assert!(key.encrypt(&[7; 86]).is_some());
    assert!(key.encrypt(&[7; 87]).is_none());
}

#[test]
fn a_key_is_found_among_other_text_and_before_a_zero_byte() {
    for text in [
        format!("{OF_MYSQL}\0"),
        format!("A comment.\n{OF_MYSQL}\n\n\0"),
        OF_MYSQL.trim_end().into(),
        format!("{}\0", OF_MYSQL.trim_end()),
        OF_MYSQL.replace('\n', "\r\n"),
    ] {
        assert!(PublicKey::of_pem(text.as_bytes()).is_some(), "{text:?}");
    }
}

#[test]
fn keys_that_cannot_encrypt_are_refused() {
    let certificate = OF_MYSQL.replace("PUBLIC KEY", "CERTIFICATE");
    let truncated = OF_MYSQL.replace("cQIDAQAB\n", "");
    for text in ["", ELLIPTIC, &certificate, &truncated] {
        assert!(PublicKey::of_pem(text.as_bytes()).is_none(), "{text}");
    }
}

/// A key in DER with this modulus and exponent.
fn key(modulus: &[u8], exponent: &[u8]) -> Option<PublicKey> {
    let value = |tag, parts: &[&[u8]]| {
        let contents = parts.concat();
        let length = (contents.len() as u16).to_be_bytes();
        [&[tag, 0x82][..], &length, &contents].concat()
    };
    let numbers = [value(INTEGER, &[modulus]), value(INTEGER, &[exponent])].concat();
    let bits = value(BIT_STRING, &[&[0], &value(SEQUENCE, &[&numbers])]);
    let algorithm = value(SEQUENCE, &[RSA_ENCRYPTION]);
    PublicKey::of_der(&value(SEQUENCE, &[&algorithm, &bits]))
}

#[test]
fn weak_and_malformed_numbers_of_a_key_are_refused() {
    let modulus = [&[0][..], &[0xff; 128]].concat();
    assert!(key(&modulus, &[3]).is_some());
    assert!(
        key(
            &modulus,
            &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
        )
        .is_some()
    );
    for exponent in [&[][..], &[0], &[1], &[2], &[4], &[0xff], &[1; 9]] {
        assert!(key(&modulus, exponent).is_none(), "{exponent:?}");
    }
    let even = [&modulus[..128], &[0xfe]].concat();
    let too_long = [&[0][..], &vec![0xff; MODULUS_BYTES_MAX + 1]].concat();
    for modulus in [&[][..], &[0], &[1], &[0xff; 128], &even, &too_long] {
        assert!(key(modulus, &[3]).is_none(), "{} bytes", modulus.len());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic_the_key_parser(
        mut der: Vec<u8>, place in 0..300_usize, change: u8
    ) {
        let _ = PublicKey::of_der(&der);
        der = SubjectPublicKeyInfoDer::from_pem_slice(OF_MYSQL.as_bytes()).unwrap().to_vec();
        let place = place % der.len();
        der[place] = change;
        let changed = PublicKey::of_der(&der);
        let _ = changed.map(|key| key.encrypt(b"secret"));
    }
}
