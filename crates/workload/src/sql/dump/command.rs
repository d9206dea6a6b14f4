//! What the server's client does itself with a line or a sign, and does not send.
//!
//! Purpose: a file that a client runs means the same here. Boundaries: nothing runs that acts outside of the server (`system`, `tee`,
//! `pager`, `edit`); options of the client (`warnings`, `prompt`) are passed over.
//!
//! Source: the page "mysql Client Commands" of the MySQL manual, and `find_command` and `add_line` in `client/mysql.cc`.

/// A command of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Delimiter(Vec<u8>),
    /// Go on with the file of this name.
    Source(String),
    /// A statement in place of the command.
    Run(Vec<u8>),
    /// The client ends.
    Leave,
    PassOver,
}

/// Commands with an argument, and what they are.
const WITH_ARGUMENT: [(&str, u8); 10] = [
    ("source", b'.'),
    ("use", b'u'),
    ("charset", b'C'),
    ("delimiter", b'd'),
    ("connect", b'r'),
    ("edit", b'e'),
    ("pager", b'P'),
    ("prompt", b'R'),
    ("system", b'!'),
    ("tee", b'T'),
];
/// Commands that stand alone.
const ALONE: [(&str, u8); 15] = [
    ("clear", b'c'),
    ("ego", b'G'),
    ("exit", b'q'),
    ("go", b'g'),
    ("help", b'h'),
    ("nopager", b'n'),
    ("notee", b't'),
    ("nowarning", b'w'),
    ("print", b'p'),
    ("quit", b'q'),
    ("rehash", b'#'),
    ("resetconnection", b'x'),
    ("status", b's'),
    ("warnings", b'W'),
    ("?", b'?'),
];

/// The command on a line between statements. A line with a delimiter holds a statement, which may be a command too.
pub(super) fn of_line(line: &[u8], delimiter_now: &[u8]) -> Option<Command> {
    if let Some(command) = delimiter(line) {
        return Some(command);
    }
    let holds = |sign: &[u8]| line.windows(sign.len()).any(|part| part == sign);
    if holds(delimiter_now) || holds(b"\\g") || holds(b"\\G") {
        None
    } else {
        of_statement(line)
    }
}

/// `DELIMITER ;;`, at the start of the text.
pub(super) fn delimiter(rest: &[u8]) -> Option<Command> {
    let (word, argument) = split(rest.trim_ascii());
    let is_delimiter = word.eq_ignore_ascii_case(b"delimiter") && !argument.is_empty();
    is_delimiter.then(|| Command::Delimiter(delimiter_of(argument)))
}

/// The client takes quotes around it off.
fn delimiter_of(argument: &[u8]) -> Vec<u8> {
    let (word, _) = split(argument);
    match word {
        [first @ (b'\'' | b'"' | b'`'), inner @ .., last] if first == last && !inner.is_empty() => {
            inner.to_vec()
        }
        _ => word.to_vec(),
    }
}

/// The command that a statement without its delimiter is.
pub(super) fn of_statement(sql: &[u8]) -> Option<Command> {
    let (word, argument) = split(sql);
    let is_word = |(name, _): &&(&str, u8)| word.eq_ignore_ascii_case(name.as_bytes());
    let found = if argument.is_empty() {
        ALONE.iter().find(is_word)
    } else {
        WITH_ARGUMENT.iter().find(is_word)
    };
    let (_, sign) = found?;
    Some(command(*sign, argument))
}

/// The command of a backslash and its sign, and the bytes that it takes: with an argument to the delimiter or the end of the line.
pub(super) fn of_sign(rest: &[u8], delimiter: &[u8]) -> Option<(Command, usize)> {
    let sign = *rest.get(1)?;
    let is_known = |known: &(&str, u8)| known.1 == sign;
    if ALONE.iter().any(is_known) {
        return Some((command(sign, b""), 2));
    }
    WITH_ARGUMENT.iter().find(|known| is_known(known))?;
    let after = &rest[2..];
    let end = after
        .windows(delimiter.len())
        .position(|part| part == delimiter);
    let line = after.iter().position(|byte| *byte == b'\n');
    let line = line.unwrap_or(after.len());
    let (length, beyond) = match end.filter(|end| *end < line && sign != b'd') {
        Some(end) => (end, delimiter.len()),
        None => (line, 0),
    };
    let argument = after[..length].trim_ascii();
    Some((command(sign, argument), 2 + length + beyond))
}

fn command(sign: u8, argument: &[u8]) -> Command {
    let text = String::from_utf8_lossy(argument).into_owned();
    match sign {
        b'.' => Command::Source(unquoted(&text).to_string()),
        b'u' => Command::Run([b"USE ", argument].concat()),
        // `connect shop` goes on in another schema, on the same server or on one that is named behind it.
        b'r' => match split(argument).0 {
            b"" => Command::PassOver,
            schema => Command::Run([b"USE ", schema].concat()),
        },
        b'C' => Command::Run([b"SET NAMES ", argument].concat()),
        // The client says that it needs one, and goes on.
        b'd' if argument.is_empty() => Command::PassOver,
        b'd' => Command::Delimiter(delimiter_of(argument)),
        b'q' => Command::Leave,
        _ => Command::PassOver,
    }
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

/// The first word, and what follows it without spaces around.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (word, rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<Command> {
        of_line(text.as_bytes(), b";")
    }

    #[test]
    fn lines_for_the_client_are_recognised() {
        let source = |name: &str| Some(Command::Source(name.into()));
        for (text, command) in [
            ("source rows.sql", source("rows.sql")),
            ("SOURCE 'my rows.sql'", source("my rows.sql")),
            ("DELIMITER //", Some(Command::Delimiter(b"//".to_vec()))),
            ("delimiter ;", Some(Command::Delimiter(b";".to_vec()))),
            ("delimiter '$$'", Some(Command::Delimiter(b"$$".to_vec()))),
            ("use shop", Some(Command::Run(b"USE shop".to_vec()))),
            (
                "connect shop localhost",
                Some(Command::Run(b"USE shop".to_vec())),
            ),
            ("charset gbk", Some(Command::Run(b"SET NAMES gbk".to_vec()))),
            ("system rm -rf /", Some(Command::PassOver)),
            ("tee /tmp/x", Some(Command::PassOver)),
            ("warnings", Some(Command::PassOver)),
            ("exit", Some(Command::Leave)),
            ("source rows.sql;", None),
            ("warnings of all", None),
            ("select 1", None),
            ("source", None),
        ] {
            assert_eq!(line(text), command, "{text}");
        }
        let whole = Some(Command::Source("rows.sql".into()));
        assert_eq!(of_statement(b"source  rows.sql "), whole);
    }

    #[test]
    fn a_backslash_and_a_sign_take_the_rest_of_the_line() {
        let sign = |text: &str| of_sign(text.as_bytes(), b";");
        let source = Command::Source("a.sql".into());
        assert_eq!(sign("\\. a.sql\nselect"), Some((source.clone(), 8)));
        assert_eq!(sign("\\. a.sql; select"), Some((source, 9)));
        assert_eq!(sign("\\W select"), Some((Command::PassOver, 2)));
        assert_eq!(sign("\\d\nselect"), Some((Command::PassOver, 2)));
        assert_eq!(sign("\\z"), None);
    }
}
