//! The EXPLAIN statements that each server version supports.
//!
//! The tabular format is the same everywhere, whatever the server's default is (MySQL 9 prints a tree). Only MySQL and MariaDB
//! are covered.
//!
//! Sources: the manuals' pages "EXPLAIN Statement" of MySQL 5.5 to 9.x and "EXPLAIN", "EXPLAIN FORMAT=JSON" and "ANALYZE
//! FORMAT=JSON" of MariaDB; tried on 5.5.34, 5.6.14, 8.0.33, 9.7 and MariaDB 10.11.

/// The EXPLAIN statements of one server version; None for unsupported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statements {
    /// Tabular format, with the column `filtered` if the server has it.
    pub table: &'static str,
    pub json: Option<&'static str>,
    /// Executes the statement and reports actual row counts.
    pub analysis: Option<&'static str>,
}

const JSON: &str = "EXPLAIN FORMAT=JSON";

impl Statements {
    pub(super) const SQLITE: Statements = Statements {
        table: "EXPLAIN QUERY PLAN",
        json: None,
        analysis: None,
    };

    /// The statements for a version as VERSION() returns it: `8.0.33`, `9.7.4-2`, `10.11.18-MariaDB-0+deb12u1`. A version that
    /// cannot be parsed gets the tabular format only.
    pub(super) fn from_version(version: &str) -> Statements {
        let Some(number) = number(version) else {
            return Statements {
                table: "EXPLAIN",
                json: None,
                analysis: None,
            };
        };
        if version.contains("MariaDB") {
            let has_json = number >= (10, 1, 2);
            return Statements {
                table: "EXPLAIN EXTENDED",
                json: has_json.then_some(JSON),
                analysis: has_json.then_some("ANALYZE FORMAT=JSON"),
            };
        }
        Statements {
            // 8.0 has no EXTENDED, and 5.5 no FORMAT.
            table: match number {
                number if number < (5, 7, 0) => "EXPLAIN EXTENDED",
                _ => "EXPLAIN FORMAT=TRADITIONAL",
            },
            json: (number >= (5, 6, 5)).then_some(JSON),
            analysis: match number {
                number if number < (8, 0, 18) => None,
                number if number < (8, 0, 21) => Some("EXPLAIN ANALYZE"),
                _ => Some("EXPLAIN ANALYZE FORMAT=TREE"),
            },
        }
    }
}

/// The first three numbers of a version.
fn number(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next()?.parse().ok();
    Some((next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: &str) -> (&'static str, bool, Option<&'static str>) {
        let statements = Statements::from_version(version);
        (
            statements.table,
            statements.json.is_some(),
            statements.analysis,
        )
    }

    #[test]
    fn each_version_gets_the_formats_that_it_supports() {
        assert_eq!(of("5.5.34-log"), ("EXPLAIN EXTENDED", false, None));
        assert_eq!(of("5.6.14"), ("EXPLAIN EXTENDED", true, None));
        let table = "EXPLAIN FORMAT=TRADITIONAL";
        assert_eq!(of("8.0.18"), (table, true, Some("EXPLAIN ANALYZE")));
        let tree = Some("EXPLAIN ANALYZE FORMAT=TREE");
        assert_eq!(of("9.7.4-2"), (table, true, tree));
        let analysis = Some("ANALYZE FORMAT=JSON");
        assert_eq!(
            of("10.11.18-MariaDB-0+deb12u1"),
            ("EXPLAIN EXTENDED", true, analysis)
        );
    }

    #[test]
    fn an_unparsable_version_gets_the_tabular_format_only() {
        assert_eq!(of("fake"), ("EXPLAIN", false, None));
        assert_eq!(of(""), ("EXPLAIN", false, None));
    }
}
