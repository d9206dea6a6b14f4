//! Text on a screen: its width in columns, its line breaks, and ASCII in place of other signs.
//!
//! Boundaries: names and texts of the user keep their letters; only the signs that reports write themselves are replaced.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The signs of a report and their replacements in ASCII. Longer ones come first.
const SIGNS: [(&str, &str); 12] = [
    ("×/÷", "*/"),
    ("×", "x"),
    ("÷", "/"),
    ("±", "+/-"),
    ("·", "/"),
    ("…", "..."),
    ("→", "->"),
    ("µ", "u"),
    ("≤", "<="),
    ("≥", ">="),
    ("−", "-"),
    ("─", "-"),
];

/// Text for a reader whose character set is not known.
pub fn in_ascii(text: &str) -> String {
    let signs = SIGNS.iter();
    signs.fold(text.to_string(), |text, (sign, plain)| {
        text.replace(sign, plain)
    })
}

/// Columns of the widest line.
pub fn width(text: &str) -> usize {
    let lines = text.lines().map(UnicodeWidthStr::width);
    lines.max().unwrap_or(0)
}

/// Lines of at most `columns` columns, at least one. They break at spaces; only a word that is longer than a line is split.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split_ascii_whitespace() {
            let space = usize::from(!current.is_empty());
            if width(&current) + space + width(word) <= columns {
                current.push_str(&" ".repeat(space));
                current.push_str(word);
                continue;
            }
            if !current.is_empty() {
                lines.push(std::mem::take(&mut current));
            }
            let mut parts = split_word(word, columns);
            current = parts.pop().unwrap_or_default();
            lines.extend(parts);
        }
        lines.push(current);
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The characters after which a long name may be broken: `thread_`, `concurrency=0`.
const JOINTS: [char; 9] = ['_', '=', '.', ',', ':', ';', '-', '/', '\u{a0}'];

/// Parts of at most `columns` columns, each of which ends at a joint unless that makes it very short.
fn split_word(word: &str, columns: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = word;
    while width(rest) > columns {
        let fitting = split(rest, columns).swap_remove(0);
        let joint = fitting
            .rfind(JOINTS)
            .filter(|joint| 3 * joint >= fitting.len());
        let letter = |joint: usize| fitting[joint..].chars().next().map_or(1, char::len_utf8);
        let end = joint.map_or(fitting.len(), |joint| joint + letter(joint));
        parts.push(rest[..end].to_string());
        rest = &rest[end..];
    }
    parts.push(rest.to_string());
    parts
}

/// Parts of at most `columns` columns, whatever is in them.
pub(super) fn split(text: &str, columns: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut used = 0;
    for letter in text.chars() {
        let own = letter.width().unwrap_or(0);
        if used + own > columns && used > 0 {
            parts.push(String::new());
            used = 0;
        }
        used += own;
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_only_long_words_are_split() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
        assert_eq!(wrapped("12\n±3%", 10), ["12", "±3%"]);
        assert_eq!(wrapped("", 10), [""]);
    }

    #[test]
    fn a_long_name_is_broken_at_its_joints() {
        let broken = wrapped("thread_concurrency=0", 13);
        assert_eq!(broken, ["thread_", "concurrency=0"]);
        assert_eq!(wrapped("a.bcdefghijk", 7), ["a.bcdef", "ghijk"]);
    }

    #[test]
    fn wide_letters_count_as_two_columns() {
        assert_eq!(width("數據"), 4);
        assert_eq!(wrapped("數據庫", 4), ["數據", "庫"]);
    }

    #[test]
    fn the_signs_of_a_report_become_ascii_and_names_stay() {
        assert_eq!(
            in_ascii("Zürich · 1.9× slower, 5.1 ×/÷2.3, 7 ±2.1%, 3 µs"),
            "Zürich / 1.9x slower, 5.1 */2.3, 7 +/-2.1%, 3 us"
        );
    }
}
