use super::*;

/// The nonce that a server's request to switch comes to.
fn switched(plugin: &[u8], sent: &[u8]) -> Vec<u8> {
    let request = [plugin, b"\0", sent].concat();
    match Next::switch(&request) {
        Ok(Next::Switch { nonce, .. }) => nonce,
        _ => panic!("no switch came of {request:?}"),
    }
}

#[test]
fn a_nonce_of_ed25519_that_ends_in_zero_stays_whole() {
    let mut nonce = [7; 32];
    nonce[31] = 0;
    assert_eq!(switched(b"client_ed25519", &nonce), nonce);
}

#[test]
fn the_zero_behind_another_nonce_is_no_part_of_it() {
    let mut sent = [7; 21];
    sent[20] = 0;
    for plugin in [&b"mysql_native_password"[..], b"caching_sha2_password"] {
        assert_eq!(switched(plugin, &sent), [7; 20]);
        assert_eq!(switched(plugin, &sent[..20]), [7; 20]);
    }
}

#[test]
fn a_connection_that_breaks_while_tls_is_agreed_on_can_be_tried_again() {
    use io::ErrorKind::*;
    for kind in [
        TimedOut,
        Interrupted,
        ConnectionReset,
        ConnectionAborted,
        BrokenPipe,
    ] {
        assert!(tls_error(kind.into()).is_passing(), "{kind}");
    }
    for kind in [InvalidData, UnexpectedEof] {
        assert!(!tls_error(kind.into()).is_passing(), "{kind}");
    }
}
