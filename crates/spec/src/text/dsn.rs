//! DSNs: `mysql://user:password@host:port/schema`, and how passwords are kept out of records, messages and logs.
//!
//! Purpose: parse DSNs, print them without their password, and mask passwords in texts that contain DSNs. Boundaries: `dsn_tls` reads
//! the parameters about TLS; crate `server` connects.

use super::dsn_tls::{self, DsnSecurity};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const DEFAULT_PORT: u16 = 3306;

/// `mysql://user:password@host:port,host:port/schema?socket=/path&tls=verify-ca`
#[derive(Clone, PartialEq, Eq)]
pub struct Dsn {
    pub user: String,
    /// Never printed: `Debug` and `Display` omit it.
    pub password: Option<String>,
    pub host: String,
    pub port: u16,
    /// Further nodes of the same cluster. The clients of a timed load are spread over all nodes; all other connections
    /// go to the first.
    pub others: Vec<(String, u16)>,
    pub schema: Option<String>,
    pub socket: Option<PathBuf>,
    pub protection: DsnSecurity,
    pub open: LeftOpen,
}

/// What a DSN leaves open, so that a default or an option file decides.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct LeftOpen {
    pub user: bool,
    pub host: bool,
    pub port: bool,
    /// The password had a `%` with two digits, which stand for another sign.
    pub password_was_decoded: bool,
}

/// However it is written, it names the same server.
impl PartialEq for LeftOpen {
    fn eq(&self, _: &LeftOpen) -> bool {
        true
    }
}

impl Dsn {
    /// Whether its connections stay on this machine.
    pub fn is_local(&self) -> bool {
        let others = self.others.iter().map(|(host, _)| host);
        let mut hosts = [&self.host].into_iter().chain(others);
        self.socket.is_some() || hosts.all(|host| dsn_tls::is_loopback(host))
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Omits the password, so that it is safe for records and messages.
impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@{}:{}", self.user, self.host, self.port)?;
        for (host, port) in &self.others {
            write!(f, ",{host}:{port}")?;
        }
        if let Some(schema) = &self.schema {
            write!(f, "/{schema}")?;
        }
        let socket = self.socket.as_ref();
        let socket = socket.map(|path| format!("socket={}", path.display()));
        let parameters = socket.into_iter().chain(self.protection.parameters());
        for (place, parameter) in parameters.enumerate() {
            let before = if place == 0 { '?' } else { '&' };
            write!(f, "{before}{parameter}")?;
        }
        Ok(())
    }
}

/// What is wrong with a DSN. No variant holds a part that could be the password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    #[error("the DSN does not begin with mysql:// or mariadb://")]
    Scheme,
    #[error("the DSN names no host")]
    NoHost,
    #[error("the DSN names several hosts but one socket")]
    SocketOfSeveral,
    #[error("the port of the DSN is not a number from 1 to 65535")]
    Port,
    #[error(
        "the DSN has an unknown parameter or value (allowed: socket=/path, tls=off|required|verify-ca|verify-identity, tls_ca=FILE, server_public_key=FILE, get_server_public_key=true)"
    )]
    Parameter,
    #[error(
        "the DSN contains a % that is not followed by two hexadecimal digits; write %25 for a % of the password"
    )]
    Percent,
}

/// How a DSN begins.
pub(crate) const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];

impl FromStr for Dsn {
    type Err = DsnError;

    fn from_str(text: &str) -> Result<Dsn, DsnError> {
        let mut schemes = SCHEMES.iter();
        let rest = schemes.find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or(DsnError::Scheme)?;
        // The password may contain an @, so the address starts after the last one.
        let (login, address) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let (address, parameters) = address.split_once('?').unwrap_or((address, ""));
        let (authority, schema) = address.split_once('/').unwrap_or((address, ""));
        let mut nodes = authority.split(',').map(host_and_port);
        let (host, port) = nodes.next().unwrap_or(Err(DsnError::NoHost))?;
        let others = nodes
            .map(|node| node.map(|(host, port)| (host, port.unwrap_or(DEFAULT_PORT))))
            .collect::<Result<Vec<_>, DsnError>>()?;
        let open = LeftOpen {
            user: user.is_empty(),
            host: host.is_empty(),
            port: port.is_none(),
            password_was_decoded: password.is_some_and(|password| password.contains('%')),
        };
        let mut dsn = Dsn {
            user: decode(if user.is_empty() { "root" } else { user })?,
            password: password
                .filter(|text| !is_masked(text))
                .map(decode)
                .transpose()?,
            host,
            port: port.unwrap_or(DEFAULT_PORT),
            open,
            others,
            schema: (!schema.is_empty()).then(|| decode(schema)).transpose()?,
            socket: None,
            protection: DsnSecurity::default(),
        };
        for parameter in parameters
            .split('&')
            .filter(|parameter| !parameter.is_empty())
        {
            match parameter.split_once('=') {
                Some(("socket", path)) if !path.is_empty() => {
                    dsn.socket = Some(PathBuf::from(decode(path)?))
                }
                Some((name, value)) => dsn
                    .protection
                    .set(name, &decode(value)?)
                    .ok_or(DsnError::Parameter)?,
                None => return Err(DsnError::Parameter),
            }
        }
        let lacks_host = dsn.host.is_empty() && !dsn.others.is_empty();
        if lacks_host || dsn.others.iter().any(|(host, _)| host.is_empty()) {
            return Err(DsnError::NoHost);
        }
        if dsn.socket.is_some() && !dsn.others.is_empty() {
            return Err(DsnError::SocketOfSeveral);
        }
        if dsn.host.is_empty() {
            dsn.host = "localhost".to_string();
        }
        Ok(dsn)
    }
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(authority: &str) -> Result<(String, Option<u16>), DsnError> {
    let (host, port) = match authority
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or(DsnError::Port)?)),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let number = |port: &str| port.parse().ok().filter(|port| *port != 0);
    let port = port.map(|port| number(port).ok_or(DsnError::Port));
    Ok((host.to_string(), port.transpose()?))
}

/// Decodes percent-encoding: %41 is A.
fn decode(text: &str) -> Result<String, DsnError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .ok_or(DsnError::Percent)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| DsnError::Percent)?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| DsnError::Percent)
}

/// A record keeps the file with masked passwords; a masked password that is read back counts as missing.
fn is_masked(password: &str) -> bool {
    password.is_empty() || password.bytes().all(|byte| byte == b'*')
}

/// Like [`mask_passwords`], and also masks what may be the password of a mistyped DSN. It masks more than passwords, so it is for messages
/// and not for records.
pub fn mask_suspects(text: &str) -> String {
    let masked = mask_passwords(text);
    masked.split_inclusive('\n').map(mask_line).collect()
}

/// Masks a line from its first colon to its last @. From `://` on, passwords are masked already.
fn mask_line(line: &str) -> String {
    let head = &line[..line.find("://").unwrap_or(line.len())];
    let Some(colon) = head.find(':') else {
        return line.to_string();
    };
    let end = match head.rfind('@') {
        Some(at) if at > colon => at,
        // The @ may be mistyped too.
        _ if head.contains("build") && !head.contains("path:") => head.trim_end().len(),
        _ => return line.to_string(),
    };
    let stars = "*".repeat(end - colon - 1);
    format!("{}{stars}{}", &line[..=colon], &line[end..])
}

/// Replaces every password of a DSN by as many stars, so that spans into the text stay valid.
pub fn mask_passwords(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    // Any scheme: a misspelled one has a password too.
    while let Some(start) = rest.find("://").map(|at| at + "://".len()) {
        let (before, behind) = rest.split_at(start);
        let (dsn, after) = behind.split_at(length_of_dsn(before, behind));
        masked.push_str(before);
        masked.push_str(&mask_one(dsn));
        rest = after;
    }
    masked + rest
}

/// A string of a file, with its quotes. Where it holds no DSN it stays as it is: `https://example.org/a:b` has no password.
pub(crate) fn mask_string(string: &str) -> String {
    if !SCHEMES.iter().any(|scheme| string.contains(scheme)) {
        return string.to_string();
    }
    let is_long = string.starts_with("\"\"\"") || string.starts_with("'''");
    let quotes = if is_long { 3 } else { 1 };
    let end = string.len() - quotes;
    let inner = mask_passwords(&string[quotes..end]);
    format!("{}{inner}{}", &string[..quotes], &string[end..])
}

/// The length of a DSN: it ends at its closing quote, or at the end of the line if it is not quoted.
fn length_of_dsn(before: &str, behind: &str) -> usize {
    let scheme = before
        .trim_end_matches("://")
        .trim_end_matches(|c: char| c.is_ascii_alphanumeric());
    let quote = scheme
        .chars()
        .last()
        .filter(|last| matches!(last, '"' | '\''));
    let mut escaped = false;
    for (at, here) in behind.char_indices() {
        if here == '\n' || (Some(here) == quote && !escaped) {
            return at;
        }
        escaped = here == '\\' && quote == Some('"') && !escaped;
    }
    behind.len()
}

/// Masks the part after `://`.
fn mask_one(dsn: &str) -> String {
    let Some(colon) = dsn.find(':') else {
        return dsn.to_string();
    };
    let secret_end = match dsn.rfind('@') {
        Some(at) if at > colon => at,
        Some(_) => return dsn.to_string(),
        None if is_port(&dsn[colon + 1..]) => return dsn.to_string(),
        // Without an @ any part could be a password.
        None => dsn.len(),
    };
    format!(
        "{}{}{}",
        &dsn[..=colon],
        "*".repeat(secret_end - colon - 1),
        &dsn[secret_end..]
    )
}

/// `3306`, `3306/schema`, `3306,other:3306`
fn is_port(text: &str) -> bool {
    let authority = text.split(['/', '?']).next().unwrap_or(text);
    let mut nodes = authority.split(',');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    nodes.next().is_some_and(is_number)
        && nodes.all(|node| {
            node.rsplit_once(':')
                .is_some_and(|(_, port)| is_number(port))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildSpec, TlsMode};
    use proptest::prelude::*;

    fn dsn(text: &str) -> Dsn {
        text.parse().unwrap()
    }

    const MISTYPED: [&str; 7] = [
        "mysq://me:secret@db",
        "Mysql:/me:secret@db",
        "mysql//me:secret@db/x?socket=/a",
        "mysql:me:secret@db",
        "mysql;//me:secret@db",
        "me:secret@db",
        "mysql:/me:secret",
    ];

    #[test]
    fn a_cluster_has_several_nodes() {
        let written = "mysql://app@a:3306,b:3307,c:3306/shop";
        let cluster = dsn("mysql://app@a,b:3307,c/shop");
        assert_eq!((cluster.host.as_str(), cluster.port), ("a", 3306));
        assert_eq!(
            cluster.others,
            [("b".to_string(), 3307), ("c".to_string(), 3306)]
        );
        assert_eq!(
            (cluster.to_string(), dsn(written)),
            (written.to_string(), cluster)
        );
        assert_eq!(
            mask_passwords("mysql://a:3306,b:3307/"),
            "mysql://a:3306,b:3307/"
        );
        assert_eq!("mysql://a,,b".parse::<Dsn>(), Err(DsnError::NoHost));
        let one_socket = "mysql://a,b/?socket=/s".parse::<Dsn>();
        assert_eq!(one_socket, Err(DsnError::SocketOfSeveral));
    }

    #[test]
    fn a_dsn_holds_user_password_host_port_and_schema() {
        let dsn = dsn("mysql://me:s3cr%40t@db.example:3307/test?tls=required");
        assert_eq!(
            (dsn.user.as_str(), dsn.password.as_deref()),
            ("me", Some("s3cr@t"))
        );
        assert_eq!(
            (dsn.host.as_str(), dsn.port, dsn.schema.as_deref()),
            ("db.example", 3307, Some("test"))
        );
        assert_eq!(dsn.protection.tls, TlsMode::Required);
        let shown = "mysql://me@db.example:3307/test?tls=required";
        assert_eq!(dsn.to_string(), shown);
    }

    #[test]
    fn a_dsn_may_be_a_host_or_a_socket_alone() {
        assert_eq!(
            (dsn("mysql://db").user.as_str(), dsn("mysql://db").port),
            ("root", 3306)
        );
        assert_eq!(
            dsn("mysql://me@?socket=/run/m.sock").socket,
            Some(PathBuf::from("/run/m.sock"))
        );
        assert_eq!(dsn("mysql://me@[::1]:3307/x").host, "::1");
    }

    #[test]
    fn what_a_dsn_omits_is_known() {
        let open = |text: &str| {
            let LeftOpen {
                user, host, port, ..
            } = dsn(text).open;
            (user, host, port)
        };
        assert_eq!(open("mysql:///"), (true, true, true));
        assert_eq!(open("mariadb://me@/shop"), (false, true, true));
        assert_eq!(open("mysql://db:3307/"), (true, false, false));
        assert_eq!(dsn("mysql:///shop").host, "localhost");
        assert!(dsn("mysql://me:a%25b@db").open.password_was_decoded);
    }

    #[test]
    fn an_invalid_dsn_reports_the_wrong_part() {
        assert_eq!("mysql://root:secret".parse::<Dsn>(), Err(DsnError::Port));
        assert_eq!("mysql://,b/x".parse::<Dsn>(), Err(DsnError::NoHost));
        assert_eq!("mysql://h?ssl=1".parse::<Dsn>(), Err(DsnError::Parameter));
        assert_eq!("mysql://%zz@h".parse::<Dsn>(), Err(DsnError::Percent));
    }

    #[test]
    fn a_masked_password_counts_as_missing() {
        assert_eq!(dsn("mysql://me:******@db").password, None);
    }

    #[test]
    fn a_port_is_not_taken_for_a_password() {
        assert_eq!(
            mask_passwords("\"mysql://db:3306/x\""),
            "\"mysql://db:3306/x\""
        );
        assert_eq!(
            mask_passwords("'mysql://root:secret'"),
            "'mysql://root:******'"
        );
    }

    #[test]
    fn a_password_behind_a_misspelled_scheme_is_not_shown() {
        for mistyped in MISTYPED {
            let error = mistyped.parse::<BuildSpec>().unwrap_err();
            assert!(!format!("{error} {}", error.help()).contains("secret"));
        }
        let error = "mysql:/me:secret@db".parse::<BuildSpec>().unwrap_err();
        assert_eq!(error.to_string(), "there is no build \"mysql…\"");
    }

    #[test]
    fn a_line_with_a_misspelled_scheme_hides_the_password_in_messages() {
        for mistyped in MISTYPED {
            for line in [
                format!("build = \"{mistyped}\"\n"),
                format!("a = {{ build = '{mistyped}' }} # https://x.example\n"),
            ] {
                let shown = mask_suspects(&line);
                assert!(!shown.contains("secret"), "{shown}");
                assert_eq!(shown.len(), line.len());
            }
        }
        for other in [
            "build = \"path:/opt/mysql\"",
            "build = \"mysql://me@db:3306/\"",
            "build = \"mysql@5.6.14\"",
            "at = \"12:30\"",
        ] {
            assert_eq!(mask_suspects(other), other);
        }
    }

    proptest! {
        #[test]
        fn no_password_outlives_the_mask(password in "[a-z0-9@:/?' ]{3,20}", rest in "[a-z ]{0,9}") {
            let secret = format!("Q{password}Q");
            let text = format!("x = \"mysql://me:{secret}@db/x\" # {rest}");
            let masked = mask_passwords(&text);
            prop_assert_eq!(masked.len(), text.len());
            prop_assert!(!masked.contains(&secret));
            let shown = format!("{0} {0:?}", dsn(&format!("mysql://me:{secret}@db/x")));
            prop_assert!(!shown.contains(&secret));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*") {
            let _ = (text.parse::<BuildSpec>(), format!("mysql://{text}").parse::<Dsn>(), mask_passwords(&text));
        }
    }
}
