//! The statements of the 22 queries, in their two forms.
//!
//! Purpose: the .sql file contains the statements exactly as they run. Boundaries: not for SQLite (see the parent module).

use super::queries::{QUERIES, Query};
use super::section::{Form, Section};
use crate::Operation;
use crate::schema::query;

const QUERIES_SQL: &str = include_str!("queries.sql");
/// The indexes that the published form forces.
const FORCED: [&str; 3] = ["o_custkey", "o_orderdate", "l_partkey_quantity"];

/// The queries in the form of the section.
pub(super) fn operations(section: &Section) -> Vec<Operation> {
    let operation = |known: &Query| Operation {
        sqlite: String::new(),
        ordered_by: known.ordered_by.to_vec(),
        ..Operation::new(known.name, statement(section, known.name))
    };
    QUERIES.iter().map(operation).collect()
}

fn statement(section: &Section, name: &str) -> String {
    let text = query(QUERIES_SQL, name).expect("the .sql file holds every query");
    let forces = section.form == Form::Published && section.force_index;
    let with_fraction = text.replace("{fraction}", &fraction(section.scale));
    let forced = FORCED.iter().fold(with_fraction, |text, index| {
        let hint = format!(" FORCE INDEX ({index})");
        text.replace(
            &format!("{{force {index}}}"),
            if forces { &hint } else { "" },
        )
    });
    match section.hints.get(name) {
        Some(hint) => with_optimizer_hint(&forced, hint),
        None => forced,
    }
}

/// Inserts optimizer hints after the first SELECT, where servers expect them.
fn with_optimizer_hint(statement: &str, hint: &str) -> String {
    const SELECT: &str = "select";
    let words = statement.to_ascii_lowercase();
    let end = words.find(SELECT).map_or(0, |start| start + SELECT.len());
    format!("{} /*+ {hint} */{}", &statement[..end], &statement[end..])
}

/// The share of Q11: 0.0001 / scale (clause 2.4.11.3), with as many digits as a server's decimal allows.
fn fraction(scale: f64) -> String {
    format!("{:.10}", 0.0001 / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    fn with_hint(text: &str) -> Vec<String> {
        let operations = operations(&section(text)).into_iter();
        operations
            .filter(|operation| operation.mysql.contains("FORCE INDEX"))
            .map(|operation| operation.name)
            .collect()
    }

    #[test]
    fn a_hint_follows_only_the_first_select_of_its_query() {
        let hinted = operations(&section("hints = { Q3 = \"MRR(lineitem)\" }"));
        let with: Vec<&Operation> = hinted
            .iter()
            .filter(|operation| operation.mysql.contains("/*+"))
            .collect();
        assert_eq!(with.len(), 1);
        assert_eq!(with[0].name, "Q3");
        let words: Vec<&str> = with[0].mysql.split_whitespace().take(5).collect();
        assert_eq!(
            words[..4].join(" ").to_lowercase(),
            "select /*+ mrr(lineitem) */"
        );
    }

    #[test]
    fn every_form_has_all_22_queries() {
        for form in ["standard", "published"] {
            let operations = operations(&section(&format!("form = {form:?}")));
            assert_eq!(operations.len(), 22);
            for operation in operations {
                assert!(
                    operation.mysql.starts_with("SELECT ") && !operation.mysql.contains('{'),
                    "{}",
                    operation.mysql
                );
            }
        }
    }

    #[test]
    fn the_published_form_forces_the_indexes_of_three_queries() {
        assert_eq!(with_hint(""), Vec::<String>::new());
        assert_eq!(with_hint("form = \"published\""), ["Q3", "Q10", "Q19"]);
        let published = operations(&section("form = \"published\""));
        assert!(
            published[2]
                .mysql
                .contains("FROM customer, orders FORCE INDEX (o_custkey), lineitem\n")
        );
        assert_eq!(
            with_hint("form = \"published\"\nforce_index = false"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_share_of_q11_falls_as_the_scale_grows() {
        assert_eq!(fraction(1.0), "0.0001000000");
        assert_eq!(fraction(0.01), "0.0100000000");
        assert_eq!(fraction(100.0), "0.0000010000");
    }
}
