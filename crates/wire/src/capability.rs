//! Capabilities: the parts of the protocol that client and server agree on at the login.
//!
//! Source: "Capabilities Flags" in the server's protocol documentation.

bitflags::bitflags! {
    /// The capabilities that prony uses or offers. Others of a server are ignored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Capabilities: u32 {
        const LONG_PASSWORD = 1;
        const LONG_FLAG = 1 << 2;
        const CONNECT_WITH_DB = 1 << 3;
        const LOCAL_FILES = 1 << 7;
        const PROTOCOL_41 = 1 << 9;
        const SSL = 1 << 11;
        const TRANSACTIONS = 1 << 13;
        /// Authentication by a nonce, since 4.1. The documentation calls it RESERVED2 today.
        const SECURE_CONNECTION = 1 << 15;
        const MULTI_STATEMENTS = 1 << 16;
        const MULTI_RESULTS = 1 << 17;
        const PS_MULTI_RESULTS = 1 << 18;
        const PLUGIN_AUTH = 1 << 19;
        const PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        /// A result ends with an OK packet instead of an EOF packet.
        const DEPRECATE_EOF = 1 << 24;
    }
}
