//! Client option files: reads the password under [client] from `~/.my.cnf`, and writes files that let a client connect to a
//! managed server.
//!
//! It ignores `!include`, system-wide files and all other options.

use spec::Dsn;

/// The content of an option file that connects to this server, by socket if it has one, else by TCP.
pub(crate) fn text(dsn: &Dsn) -> String {
    let mut text = format!("[client]\nuser={}\n", quoted(&dsn.user));
    if let Some(password) = &dsn.password {
        text.push_str(&format!("password={}\n", quoted(password)));
    }
    match &dsn.socket {
        Some(socket) => text.push_str(&format!("socket={}\n", quoted(&socket.to_string_lossy()))),
        None => text.push_str(&format!("host={}\n", quoted(&dsn.host))),
    }
    text.push_str(&format!("port={}\n", dsn.port));
    text
}

/// Quotes a value. Backslashes are escaped; quotes need not be, because only the first and the last one count.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\"))
}

/// The password of the last [client] section that has one.
pub(crate) fn password(text: &str) -> Option<String> {
    let mut section = "";
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name.trim();
        } else if section == "client"
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "password"
        {
            found = Some(unquoted(value.trim()));
        }
    }
    found
}

/// Removes quotes and escapes as the clients do. Inside quotes `#` is part of the value.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return unescaped(inner);
        }
    }
    unescaped(value.split(" #").next().unwrap_or(value).trim_end())
}

fn unescaped(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.push(match characters.next() {
                Some('b') => '\u{8}',
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('s') => ' ',
                Some(other) => other,
                None => '\\',
            }),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_password_under_client_counts() {
        let text = "[mysqld]\npassword=no\n[client]\nuser = me\npassword = yes\n[mysql]\npassword=neither\n";
        assert_eq!(password(text).as_deref(), Some("yes"));
    }

    #[test]
    fn a_quoted_hash_is_not_a_comment() {
        assert_eq!(
            password("[client]\npassword=\"a #b\"").as_deref(),
            Some("a #b")
        );
        assert_eq!(password("[client]\npassword=a #b").as_deref(), Some("a"));
    }

    #[test]
    fn escapes_follow_the_clients_rules() {
        assert_eq!(
            password(
                r"[client]
password='a\\b\sc'"
            )
            .as_deref(),
            Some(r"a\b c")
        );
    }

    #[test]
    fn a_file_without_a_password_gives_none() {
        assert_eq!(password("[client]\nuser=me\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = password(&text);
        }

        #[test]
        fn a_written_password_is_read_back(word in "[ -~]{1,20}") {
            let dsn = Dsn {
                user: "root".into(),
                password: Some(word.clone()),
                host: "localhost".into(),
                port: 3306,
                schema: None,
                socket: Some("/run/a b.sock".into()),
                others: Vec::new(),
                protection: Default::default(),
            };
            prop_assert_eq!(password(&text(&dsn)), Some(word));
        }

        #[test]
        fn a_quoted_password_is_unquoted(word in "[a-zA-Z0-9#=;!$ ]{1,20}") {
            prop_assert_eq!(password(&format!("[client]\npassword=\"{word}\"")), Some(word));
        }
    }
}
