//! Text of others, such as a server's error or a key of a file, as a terminal may show it.
//!
//! Purpose: nothing that a server or a file sends can move the cursor, change colours or reverse the order of letters; and nothing
//! fills the screen. Boundary: what HTML, CSV and Markdown treat specially is the business of their renderers.

use std::borrow::Cow;

/// Cuts what a server or a program says.
pub const SAID_MAX: usize = 2_000;

/// The text with its control characters as escapes: `\x1b`, `\u{202e}`. Newlines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && !is_layout(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_layout(c) {
            shown.push(c)
        } else {
            push_visible(&mut shown, c)
        }
    }
    Cow::Owned(shown)
}

/// The text on one line: newlines and tabs are escapes too.
pub fn visible_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut shown, c));
    shown
}

/// Appends a character, or its escape if a terminal would not print it.
pub fn push_visible(shown: &mut String, c: char) {
    match c {
        c if !is_hidden(c) => shown.push(c),
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if c.is_ascii() => shown.push_str(&format!("\\x{:02x}", c as u32)),
        c => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
    }
}

/// The text up to this number of characters, and `...` if there are more.
pub fn shortened(text: &str, chars_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars_max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
    }
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

/// A control character, or one that changes the order or the lines of the text around it.
fn is_hidden(c: char) -> bool {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escapes_and_newlines_stay() {
        let text = "a\x1b[2Jb\nc\td\u{9b}e\u{202e}f\r";
        assert_eq!(visible(text), "a\\x1b[2Jb\nc\td\\u{9b}e\\u{202e}f\\r");
        assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn ordinary_text_of_any_language_is_kept() {
        for text in ["SELECT 'süß'", "表が見つかりません", "", "🦀 -> ±"] {
            assert!(matches!(visible(text), Cow::Borrowed(kept) if kept == text));
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(shortened("süßes", 3), "süß...");
        assert_eq!(shortened("süß", 3), "süß");
    }
}
