//! Client option files: reads the options of a connection from `~/.my.cnf` as the clients do, and writes files that let a client
//! connect to a managed server.
//!
//! It ignores system-wide files and all other options.

use spec::{Dsn, OptionLine, option_lines};
use std::path::{Path, PathBuf};

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

/// Quotes a value. A quote within it would end the text before a `#`, so it is escaped.
fn quoted(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{value}\"")
}

/// What the client sections of option files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
    /// `protocol=tcp`: no socket for localhost.
    pub is_tcp: bool,
}

/// The sections that every client reads, in any case.
const SECTIONS: [&str; 3] = ["client", "client-server", "client-mariadb"];
/// Files that include each other would do so without end.
const INCLUDES_MAX: u32 = 10;

/// The options in `~/.my.cnf`, and in the files that it includes.
pub(crate) fn of_user() -> Options {
    let mut options = Options::default();
    if let Some(home) = std::env::var_os("HOME") {
        options.read_file(&PathBuf::from(home).join(".my.cnf"), 0);
    }
    options
}

impl Options {
    /// A file that cannot be read has no options, as for the clients.
    fn read_file(&mut self, path: &Path, depth: u32) {
        if let Ok(bytes) = std::fs::read(path) {
            // The clients read bytes: a comment in another character set hides nothing.
            let text = String::from_utf8_lossy(&bytes);
            self.read(text.trim_start_matches('\u{feff}'), depth);
        }
    }

    /// A later option replaces an earlier one.
    fn read(&mut self, text: &str, depth: u32) {
        let mut is_client = false;
        for line in option_lines(text) {
            match line {
                OptionLine::Section(name) => {
                    let is_one = |known: &&str| name.eq_ignore_ascii_case(known);
                    is_client = SECTIONS.iter().any(is_one);
                }
                OptionLine::Include { word, path } if depth < INCLUDES_MAX => {
                    self.include(word, Path::new(path), depth + 1);
                }
                OptionLine::Option {
                    name,
                    value: Some(value),
                } if is_client => self.set(name, value),
                OptionLine::Include { .. } | OptionLine::Option { .. } => {}
            }
        }
    }

    fn include(&mut self, word: &str, path: &Path, depth: u32) {
        match word {
            "!include" => self.read_file(path, depth),
            "!includedir" => {
                let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
                let files = entries.map(|entry| entry.path());
                let mut files: Vec<PathBuf> = files
                    .filter(|path| path.extension().is_some_and(|e| e == "cnf"))
                    .collect();
                files.sort();
                files.iter().for_each(|file| self.read_file(file, depth));
            }
            _ => {}
        }
    }

    fn set(&mut self, name: &str, value: String) {
        match name {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "host" => self.host = Some(value),
            "port" => self.port = value.parse().ok(),
            "socket" => self.socket = Some(value.into()),
            "protocol" => self.is_tcp = value.eq_ignore_ascii_case("tcp"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Options {
        let mut options = Options::default();
        options.read(text, 0);
        options
    }

    fn password(text: &str) -> Option<String> {
        read(text).password
    }

    #[test]
    fn only_what_is_under_client_counts() {
        let text = "[mysqld]\npassword=no\n[client]  # all clients\nuser = me\npassword = yes\nport=3307\nhost = db\nsocket=/s\nprotocol=TCP\n[mysql]\npassword=neither\n";
        let options = read(text);
        assert_eq!(
            options,
            Options {
                user: Some("me".into()),
                password: Some("yes".into()),
                host: Some("db".into()),
                port: Some(3307),
                socket: Some("/s".into()),
                is_tcp: true,
            }
        );
    }

    #[test]
    fn a_quoted_hash_is_not_a_comment() {
        for (line, expected) in [
            ("password=\"a #b\"", "a #b"),
            ("password = \"a#b\" # shared", "a#b"),
            ("password='a#b'#shared", "a#b"),
            ("password=a #b", "a"),
            ("password=a#b", "a"),
        ] {
            let found = password(&format!("[client]\n{line}\n"));
            assert_eq!(found.as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn escapes_follow_the_clients_rules() {
        let text = r#"[client]
password='a\\b\sc\"\d'"#;
        assert_eq!(password(text).as_deref(), Some(r#"a\b c"\d"#));
    }

    #[test]
    fn included_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.cnf", "[client]\nuser=a\n");
        write("b.txt", "[client]\nuser=b\n");
        write("c.txt", "[client]\npassword=c\n");
        let path = folder.path().display();
        let options = read(&format!(
            "[client]\nuser=z\n!includedir {path}\n!include {path}/c.txt\n"
        ));
        assert_eq!(options.user.as_deref(), Some("a"));
        assert_eq!(options.password.as_deref(), Some("c"));
        let own = folder.path().join("own.cnf");
        std::fs::write(
            &own,
            format!("!include {}\n[client]\nuser=own\n", own.display()),
        )
        .unwrap();
        let mut options = Options::default();
        options.read_file(&own, 0);
        assert_eq!(options.user.as_deref(), Some("own"));
    }

    #[test]
    fn a_section_in_any_case_and_a_file_of_any_editor_are_read() {
        assert_eq!(password("[Client]\npassword=a\n").as_deref(), Some("a"));
        let file = tempfile::NamedTempFile::new().unwrap();
        for start in [&b"\xef\xbb\xbf"[..], b"# f\xfcr alle\n"] {
            let bytes = [start, b"[client]\r\npassword=a\r\n"].concat();
            std::fs::write(file.path(), bytes).unwrap();
            let mut options = Options::default();
            options.read_file(file.path(), 0);
            assert_eq!(options.password.as_deref(), Some("a"));
        }
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
            let dsn = "mysql://root@localhost?socket=/run/a b.sock";
            let dsn = Dsn { password: Some(word.clone()), ..dsn.parse().unwrap() };
            prop_assert_eq!(password(&text(&dsn)), Some(word));
        }

        #[test]
        fn a_quoted_password_is_unquoted(word in "[a-zA-Z0-9#=;!$ ]{1,20}") {
            prop_assert_eq!(password(&format!("[client]\npassword=\"{word}\"")), Some(word));
        }
    }
}
