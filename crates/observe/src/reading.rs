//! Numbers by name, as a server shows them.

use server::Reply;
use std::collections::BTreeMap;

/// Cumulative values, by the server's names. Values that a server lacks are absent.
pub type Reading = BTreeMap<String, i64>;

/// Selects enabled metrics: in MySQL and MariaDB before 10.5, and in MariaDB since 10.5. A disabled metric shows 0, and is
/// treated as absent.
const IS_ENABLED: [&str; 2] = ["status = 'enabled'", "enabled = 1"];

/// The statements that read these metrics, of which a server accepts one at most.
pub(crate) fn metrics_sql(these: &str) -> [String; 2] {
    IS_ENABLED.map(|is_enabled| {
        format!(
            "SELECT name, `count` FROM information_schema.innodb_metrics WHERE {these} AND {is_enabled}"
        )
    })
}

/// The rows (name, number, ...) of a reply; values that are not integers are skipped.
pub(crate) fn numbers(reply: &Reply) -> Reading {
    reply
        .rows
        .iter()
        .filter_map(|row| {
            let name = String::from_utf8_lossy(row.first()?.as_ref()?).into_owned();
            Some((name, number(row.get(1)?)?))
        })
        .collect()
}

pub(crate) fn number(value: &Option<Vec<u8>>) -> Option<i64> {
    std::str::from_utf8(value.as_ref()?)
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(rows: &[(&str, &str)]) -> Reply {
        Reply {
            columns: vec!["Variable_name".into(), "Value".into()],
            rows: rows
                .iter()
                .map(|(name, value)| {
                    vec![
                        Some(name.as_bytes().to_vec()),
                        Some(value.as_bytes().to_vec()),
                    ]
                })
                .collect(),
            ..Reply::default()
        }
    }

    #[test]
    fn only_integers_are_counters() {
        let reading = numbers(&reply(&[
            ("Questions", "12"),
            ("Ssl_cipher", ""),
            ("Innodb_page_size", "16384"),
            ("Last_query_cost", "0.5"),
        ]));
        assert_eq!(
            reading.keys().collect::<Vec<_>>(),
            ["Innodb_page_size", "Questions"]
        );
    }
}
