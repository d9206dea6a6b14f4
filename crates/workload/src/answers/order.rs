//! The columns by which a query of the user orders its rows, as far as its text shows them.
//!
//! Purpose: rows in another order are another answer where the query orders them. Boundaries: no grammar. ORDER BY counts up to the first
//! key that is not surely a column of the result with one order on every server; rows that are equal up to there may come in any order.

use crate::sql_text::{PieceKind, lex};
use server::{ColumnKind, Reply};

/// The indexes of the columns, most significant first; empty if the query does not order, or by something else than columns.
pub(super) fn columns(sql: &str, reply: &Reply) -> Vec<usize> {
    let Some(keys) = keys(sql) else {
        return Vec::new();
    };
    let columns = keys.iter().map(|key| column(key, reply));
    columns
        .map_while(|column| column.filter(|&column| has_one_order(reply, column)))
        .collect()
}

/// The text after the last ORDER BY outside of parentheses, cut at commas.
fn keys(sql: &str) -> Option<Vec<String>> {
    let words = words(sql)?;
    let by = words.windows(2).rposition(|pair| {
        pair[0].eq_ignore_ascii_case("order") && pair[1].eq_ignore_ascii_case("by")
    })?;
    let is_end = |word: &&String| {
        ["limit", "for", "into", "lock", "offset", "fetch"]
            .iter()
            .any(|end| word.eq_ignore_ascii_case(end))
    };
    let after = words[by + 2..].iter().take_while(|word| !is_end(word));
    let after: Vec<&str> = after.map(String::as_str).collect();
    let after = after.join(" ");
    let keys = after.split(',').map(|key| key.trim().to_string());
    Some(keys.collect())
}

/// The words outside of parentheses; what is in them, and a quoted text, becomes a word that is no name. None for a text that is not
/// lexed.
fn words(sql: &str) -> Option<Vec<String>> {
    const NO_NAME: &str = " () ";
    let (mut text, mut depth) = (String::new(), 0_u32);
    for (kind, range) in lex(sql).ok()? {
        let piece = &sql[range];
        match kind {
            PieceKind::Comment => text.push(' '),
            PieceKind::Quoted if depth > 0 => {}
            PieceKind::Quoted if piece.starts_with('`') => text.push_str(piece),
            PieceKind::Quoted => text.push_str(NO_NAME),
            PieceKind::Code => {
                for sign in piece.chars() {
                    match sign {
                        '(' => {
                            depth += 1;
                            text.push_str(NO_NAME);
                        }
                        ')' => depth = depth.saturating_sub(1),
                        ',' if depth == 0 => text.push_str(" , "),
                        sign if depth == 0 => text.push(sign),
                        _ => {}
                    }
                }
            }
        }
    }
    Some(text.split_whitespace().map(String::from).collect())
}

/// The column of the result that a key names, by its number or by a name that only it has.
fn column(key: &str, reply: &Reply) -> Option<usize> {
    let mut words = key.split_whitespace();
    let (name, direction) = (words.next()?, words.next());
    let is_direction = |word: &str| ["asc", "desc"].contains(&word.to_ascii_lowercase().as_str());
    if !direction.is_none_or(is_direction) || words.next().is_some() {
        return None;
    }
    if let Ok(number) = name.parse::<usize>() {
        return number.checked_sub(1).filter(|n| *n < reply.columns.len());
    }
    let name = name.trim_matches('`');
    let columns = reply.columns.iter().enumerate();
    let mut named = columns.filter(|(_, column)| column.eq_ignore_ascii_case(name));
    let (column, _) = named.next()?;
    named.next().is_none().then_some(column)
}

/// Whether all servers put the values of a column into the same order, and take only equal ones for equal: exact numbers, and text of
/// letters, digits and spaces alone, or of equal length like a date. Others depend on the collation, and floating-point numbers on the
/// plan.
fn has_one_order(reply: &Reply, column: usize) -> bool {
    let values = || {
        let cells = reply
            .rows
            .iter()
            .filter_map(|row| row.get(column)?.as_ref());
        cells.map(Vec::as_slice)
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b' ';
    let is_of_time = |byte: &u8| byte.is_ascii_digit() || b" -:.".contains(byte);
    match reply.kinds.get(column) {
        Some(ColumnKind::Exact) => true,
        Some(ColumnKind::Approximate) => false,
        Some(ColumnKind::Other) | None => {
            let length = values().next().map_or(0, <[u8]>::len);
            values().all(|value| value.iter().all(is_plain))
                || values().all(|value| value.len() == length && value.iter().all(is_of_time))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    /// A result of an id, a name, a date and a ratio.
    fn reply(name: &str) -> Reply {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        Reply {
            columns: ["id", "name", "day", "ratio"].map(String::from).into(),
            kinds: vec![
                ColumnKind::Exact,
                ColumnKind::Other,
                ColumnKind::Other,
                ColumnKind::Approximate,
            ],
            rows: vec![vec![cell("1"), cell(name), cell("2026-11-25"), cell("0.5")]],
            ..Reply::default()
        }
    }

    fn ordered(rest: &str) -> Vec<usize> {
        columns(
            &format!("select id, name, day, ratio from t {rest}"),
            &reply("north 1"),
        )
    }

    #[test]
    fn keys_are_numbers_or_names_of_columns() {
        assert_eq!(ordered("order by id"), [0]);
        assert_eq!(ordered("ORDER  BY 3 desc, `Name` ASC limit 5"), [2, 1]);
        assert_eq!(
            ordered("/* a */ order -- b\nby id, name for update"),
            [0, 1]
        );
    }

    #[test]
    fn the_first_key_that_is_no_surely_ordered_column_ends_the_list() {
        assert_eq!(ordered("order by id, rand(), name"), [0]);
        assert_eq!(ordered("order by ratio, id"), NONE);
        assert_eq!(ordered("order by t.id"), NONE);
        assert_eq!(ordered("order by -id"), NONE);
        assert_eq!(ordered("order by 'id'"), NONE);
        assert_eq!(ordered("order by id + 1"), NONE);
        assert_eq!(ordered("order by 9"), NONE);
        let by_name = |name| columns("select 1 order by name, id", &reply(name));
        assert_eq!(by_name("north"), [1, 0]);
        assert_eq!(by_name("nörth"), NONE);
        assert_eq!(by_name("a_b"), NONE);
    }

    #[test]
    fn an_order_within_parentheses_is_none_of_the_result() {
        assert_eq!(ordered(""), NONE);
        assert_eq!(ordered("where id in (select id from u order by id)"), NONE);
        assert_eq!(ordered("order by (select 1), id"), NONE);
    }
}
