//! What a file has that the clauses for the server do not say, so that it would become part of the texts.

/// The sentence for the first lines of a file and its clauses, up to the clause to be added; None if nothing is missing.
pub(crate) fn unsaid(options: &str, start: &[u8]) -> Option<&'static str> {
    // A statement may have several spaces or the end of a line between two words.
    let words: Vec<&str> = options.split_whitespace().collect();
    let options = words.join(" ").to_ascii_uppercase();
    let has = |word: &str| options.contains(word);
    let line = start.split_inclusive(|byte| *byte == b'\n').next()?;
    if line.ends_with(b"\r\n") && !has("LINES TERMINATED") && !has("LINES STARTING") {
        return Some(
            "its lines end in \\r\\n, and the \\r would be part of the last column; add LINES TERMINATED BY '\\r\\n'",
        );
    }
    (line.starts_with(b"\"") && !has("ENCLOSED")).then_some(
        "its fields are in quotes, and the quotes would be part of the texts; add OPTIONALLY ENCLOSED BY '\"'",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_and_quotes_that_no_clause_names_are_found() {
        let found = |options: &str, start: &[u8]| {
            let says = unsaid(options, start);
            says.map(|says| says.split(',').next().unwrap_or_default())
        };
        let semicolon = "FIELDS TERMINATED BY ';'";
        let ends = Some("its lines end in \\r\\n");
        assert_eq!(found(semicolon, b"1;a\r\n2;b\r\n"), ends);
        let quotes = Some("its fields are in quotes");
        assert_eq!(found(semicolon, b"\"1\";\"a\"\n"), quotes);
        for (options, start) in [
            (
                "fields terminated by ';' lines terminated by '\\r\\n'",
                &b"1;a\r\n"[..],
            ),
            (
                "fields terminated by ';' optionally enclosed by '\"'",
                b"\"1\";2\n",
            ),
            ("lines\n terminated by '\\r\\n'", b"1;a\r\n"),
            (semicolon, b"1;a\n2;b\r\n"),
            (semicolon, b""),
        ] {
            assert_eq!(unsaid(options, start), None, "{options}");
        }
    }
}
