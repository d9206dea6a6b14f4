//! What a file has that the clauses for the server do not say, so that it would become part of the texts.

use super::read::named_separator;

/// The sentence for the first lines of a file and its clauses, up to the clause to be added; None if nothing is missing. A first
/// line with nothing but names of `columns` is a header.
pub(crate) fn unsaid(options: &str, start: &[u8], columns: &[&str]) -> Option<&'static str> {
    // In upper case, with one space between words: a statement may have several, or the end of a line.
    let words: Vec<&str> = options.split_whitespace().collect();
    let options = words.join(" ").to_ascii_uppercase();
    let has = |word: &str| options.contains(word);
    let line = start.split_inclusive(|byte| *byte == b'\n').next()?;
    let ends = options.split_once("LINES TERMINATED BY");
    let is_newline = |ends: &str| ends.trim_start_matches([' ', '\'', '"']).starts_with(r"\N");
    let is_default = ends.is_none_or(|(_, ends)| is_newline(ends));
    // Some statements cut the \r themselves: SET a = TRIM(TRAILING '\r' FROM @a).
    if line.ends_with(b"\r\n") && is_default && !has(r"\R") && !has("LINES STARTING") {
        return Some(
            "its lines end in \\r\\n, and the \\r would be part of the last column; add LINES TERMINATED BY '\\r\\n'",
        );
    }
    if named_separator(line).is_some() && !skips_lines(&options) {
        return Some(
            "its first line names the separator, and would become a row; add IGNORE 1 LINES",
        );
    }
    // The first line may have the names of the columns.
    let mut lines = start.split(|byte| *byte == b'\n').take(2);
    let separator = separator(&options);
    if !has("ENCLOSED") && lines.any(|line| has_quotes(line, separator)) {
        return Some(
            "its fields are in quotes, and the quotes would be part of the texts; add OPTIONALLY ENCLOSED BY '\"'",
        );
    }
    let places = separator.and_then(|separator| places(line, separator, columns))?;
    if !skips_lines(&options) {
        return Some(
            "its first line has the names of columns, and would become a row; add IGNORE 1 LINES",
        );
    }
    // The clauses may have a list of columns.
    (!has("(") && !places.is_sorted()).then_some(
        "its first line names the columns in another order than the table, and their values would change places; \
         add the columns in the order of the file, as in (name, id),",
    )
}

/// Whether the clauses have IGNORE 1 LINES.
fn skips_lines(clauses: &str) -> bool {
    let mut rest = clauses.split("IGNORE ").skip(1);
    rest.any(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
}

/// The places of the columns that a line names; None if it has anything else.
fn places(line: &[u8], separator: u8, columns: &[&str]) -> Option<Vec<usize>> {
    let line = String::from_utf8_lossy(line);
    let place = |field: &str| {
        let field = field.trim().trim_matches('"').to_lowercase();
        columns.iter().position(|name| name.to_lowercase() == field)
    };
    line.split(char::from(separator)).map(place).collect()
}

/// Whether the first field of a line begins with a quote, or any is within quotes.
fn has_quotes(line: &[u8], separator: Option<u8>) -> bool {
    let mut fields = line.trim_ascii_end().split(|byte| Some(*byte) == separator);
    line.starts_with(b"\"") || fields.any(|field| matches!(field, [b'"', .., b'"']))
}

/// The sign that the clauses, in upper case, put between fields; None for several signs.
fn separator(clauses: &str) -> Option<u8> {
    let fields = ["FIELDS ", "COLUMNS "].iter();
    let fields = fields.filter_map(|word| Some(clauses.split_once(*word)?.1));
    let fields = fields.filter_map(|clauses| clauses.split("LINES ").next());
    let given = fields.filter_map(|clauses| Some(clauses.split_once("TERMINATED BY ")?.1));
    match given.map(str::as_bytes).next() {
        None | Some([_, b'\\', b'T', _, ..]) => Some(b'\t'),
        Some([b'\'', sign, b'\'', ..] | [b'"', sign, b'"', ..]) => Some(*sign),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_and_quotes_that_no_clause_names_are_found() {
        let found = |options: &str, start: &[u8]| {
            let says = unsaid(options, start, &[]);
            says.map(|says| says.split(',').next().unwrap_or_default())
        };
        let semicolon = "FIELDS TERMINATED BY ';'";
        let ends = Some("its lines end in \\r\\n");
        assert_eq!(found(semicolon, b"1;a\r\n2;b\r\n"), ends);
        assert_eq!(found("lines terminated by '\\n'", b"1\ta\r\n"), ends);
        let quotes = Some("its fields are in quotes");
        for (options, start) in [
            (semicolon, &b"\"1\";\"a\"\n"[..]),
            (semicolon, b"\"a; b\";1\n"),
            (semicolon, b"1;\"a\"\n"),
            (
                "columns terminated by ';' ignore 1 lines",
                b"id;name\n1;\"a\"\n",
            ),
            ("fields terminated by '\\t'", b"1\t\"a\"\n"),
            ("ignore 0 lines", b"1\t\"a\""),
        ] {
            assert_eq!(found(options, start), quotes, "{options}");
        }
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
            ("(a, @b) set b = trim(trailing '\\r' from @b)", b"1\ta\r\n"),
            (semicolon, b"1;a\n2;b\r\n"),
            (semicolon, b"1;say \"a\"\n"),
            (semicolon, b""),
            ("", b"1\t[\"a\",\"b\",\"c\"]\n"),
            ("fields terminated by '||'", b"1||\"a\"\n"),
            ("columns terminated by ';' ignore\n1 rows", b"sep=;\n1;a"),
        ] {
            assert_eq!(unsaid(options, start, &[]), None, "{options}");
        }
        let mark = Some("its first line names the separator");
        assert_eq!(found(semicolon, b"sep=;\n1;a\n"), mark);
    }

    #[test]
    fn names_of_columns_that_no_clause_passes_over_are_found() {
        let has = |options: &str, start: &[u8]| {
            let says = unsaid(options, start, &["id", "Name"]);
            says.is_some_and(|says| says.contains("names of columns"))
        };
        let semicolon = "FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"'";
        assert!(has(semicolon, b"ID;\"name\"\n1;a\n"));
        assert!(has("lines terminated by '\\r\\n'", b"name\r\na\r\n"));
        for (options, start) in [
            (semicolon, &b"id;title\n"[..]),
            (semicolon, b"1;name\n"),
            (semicolon, b"\n"),
            (semicolon, b""),
            ("fields terminated by ';' ignore 1 lines", b"id;name\n"),
        ] {
            assert!(!has(options, start), "{options}");
        }
    }

    #[test]
    fn a_header_in_another_order_than_the_table_needs_a_list_of_columns() {
        let has = |options: &str, start: &[u8]| {
            let says = unsaid(options, start, &["id", "total", "name"]);
            says.is_some_and(|says| says.contains("another order"))
        };
        let skips = "fields terminated by ';' ignore 1 lines";
        assert!(has(skips, b"name;id\na;1\n"));
        assert!(has(skips, b"ID;Name;Total\n"));
        for (options, start) in [
            (skips, &b"id;total;name\n"[..]),
            // The server warns of each row, unless it computes the other column.
            (skips, b"id;name\n"),
            (skips, b"name;title\n"),
            (
                "fields terminated by ';' ignore 1 lines (name, id)",
                b"name;id\n",
            ),
        ] {
            assert!(!has(options, start), "{options}");
        }
    }
}
