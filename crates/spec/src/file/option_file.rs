//! The syntax of option files (`my.cnf`), as servers and their clients read it.
//!
//! Boundaries: which sections and options count is up to the reader; files that a file includes are not opened here.

/// What a line of an option file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionLine<'t> {
    /// `[mysqld]`, without brackets.
    Section(&'t str),
    /// `!include` or `!includedir`, and its path.
    Include { word: &'t str, path: &'t str },
    /// `port = 3306`; without a value `skip-networking`. The value has no quotes and escapes.
    Option {
        name: &'t str,
        value: Option<String>,
    },
}

/// The lines that say something, in order.
pub fn option_lines(text: &str) -> impl Iterator<Item = OptionLine<'_>> {
    text.lines().map(str::trim_start).filter_map(option_line)
}

fn option_line(line: &str) -> Option<OptionLine<'_>> {
    Some(match line.chars().next()? {
        '#' | ';' => return None,
        '!' => {
            let (word, path) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let path = path.trim();
            OptionLine::Include { word, path }
        }
        '[' => OptionLine::Section(line[1..].split(']').next().unwrap_or_default().trim_end()),
        _ => {
            let line = without_comment(line);
            let (name, value) = match line.split_once('=') {
                Some((name, value)) => (name, Some(unquoted(value.trim()))),
                None => (line, None),
            };
            let name = name.trim_end();
            OptionLine::Option { name, value }
        }
    })
}

/// The line up to a `#` outside of quotes.
///
/// Source: `remove_end_comment` in `mysys/my_default.c`.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, sign) in line.char_indices() {
        match (sign, quote) {
            ('\'' | '"', None) if !escaped => quote = Some(sign),
            (sign, Some(open)) if sign == open && !escaped => quote = None,
            ('#', None) => return &line[..at],
            _ => {}
        }
        escaped = quote.is_some() && sign == '\\' && !escaped;
    }
    line
}

/// Removes quotes and escapes as the clients do.
fn unquoted(value: &str) -> String {
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        let rest = value.strip_prefix(quote)?;
        rest.strip_suffix(quote)
    });
    unescaped(inner.unwrap_or(value))
}

/// An escape that the clients do not know stays, with its backslash.
fn unescaped(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('b') => plain.push('\u{8}'),
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('s') => plain.push(' '),
            Some(sign @ ('"' | '\'' | '\\')) => plain.push(sign),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}
