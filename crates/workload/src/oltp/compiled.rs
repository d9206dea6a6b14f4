//! The operations of a section as a script for the load.
//!
//! Unlike sysbench, the server assigns the key of an insert (AUTO_INCREMENT), and BEGIN and COMMIT are always sent as text.

use super::operations::Operation;
use super::section::Section;
use crate::script::{Builder, Generator, Script, StatementGroup};
use crate::sql_text::{Headed, headed};
use datagen::oltp::{C_BYTES, Keys, PAD_BYTES};

const STATEMENTS: &str = include_str!("operations.sql");

/// The section's operations, compiled.
pub(super) fn script(section: &Section) -> Script {
    let mut builder = Builder::new(Some(section.data.tables));
    let rows = section.data.rows as i64;
    // As in sysbench, `k` of a new row is drawn as its id is.
    let keys = || Generator::Keys(Keys::new(section.distribution, 1, rows));
    let id = builder.parameter("id", keys());
    let add = section.range_size as i64 - 1;
    builder.parameter("last", Generator::Plus { parameter: id, add });
    builder.parameter("k", keys());
    for (name, bytes) in [("c", C_BYTES), ("pad", PAD_BYTES)] {
        let bytes = bytes as u32;
        builder.parameter(name, Generator::Groups { bytes });
    }
    let texts = headed(STATEMENTS).expect("our own file");
    for (operation, weight) in &section.mix {
        let parts = parts(operation, section.transactions, &texts);
        builder
            .operation(operation.name, *weight, &parts)
            .expect("our own statements");
    }
    builder.finish(section.policy.clone())
}

fn parts<'s>(
    operation: &Operation,
    transactions: bool,
    texts: &[Headed<'s>],
) -> Vec<StatementGroup<'s>> {
    let text = |name: &str| texts.iter().find(|text| text.name == name);
    let part = |&(name, times): &(&str, u16)| StatementGroup {
        times,
        sql: text(name).expect("every part has its statements").sql,
    };
    let mut parts: Vec<StatementGroup> = operation.parts.iter().map(part).collect();
    if transactions && operation.is_compound() {
        let control = |sql| StatementGroup { times: 1, sql };
        parts.insert(0, control("BEGIN"));
        parts.push(control("COMMIT"));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oltp::operations::{ALL, find};
    use crate::sql_text::statements;

    fn texts(operation: &str, transactions: bool) -> Vec<(u16, String)> {
        let found = parts(
            find(operation).unwrap(),
            transactions,
            &headed(STATEMENTS).unwrap(),
        );
        let one_line = |sql: &str| sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let list = found.iter().flat_map(|part| {
            let statements = statements(part.sql).unwrap().into_iter();
            statements.map(|sql| (part.times, one_line(sql)))
        });
        list.collect()
    }

    #[test]
    fn read_write_has_twenty_statements_between_begin_and_commit() {
        insta::assert_debug_snapshot!(texts("read-write", true));
        let count: u16 = texts("read-write", true)
            .iter()
            .map(|(times, _)| times)
            .sum();
        assert_eq!(count, 20);
    }

    #[test]
    fn without_transactions_there_is_no_begin() {
        assert_eq!(texts("delete-insert", true).len(), 4);
        assert_eq!(texts("delete-insert", false).len(), 2);
        assert_eq!(texts("point-select", true).len(), 1);
    }

    #[test]
    fn ids_and_k_come_from_the_distribution() {
        let keys = |text: &str| {
            let section = spec::read_text(text, Section::read).unwrap();
            let script = format!("{:?}", script(&section));
            ["Keys {", "shape: Uniform"].map(|part| script.matches(part).count())
        };
        assert_eq!(keys("operations = \"insert\""), [2, 2]);
        let pareto = "operations = \"insert\"\ndistribution = \"pareto\"";
        assert_eq!(keys(pareto), [2, 0]);
    }

    #[test]
    fn every_operation_compiles_alone_and_all_together() {
        let mut section = spec::read_text("tables = 3", Section::read).unwrap();
        let all: Vec<_> = ALL
            .iter()
            .map(|operation| find(operation.name).unwrap())
            .collect();
        for operation in &all {
            section.mix = vec![(operation, 1)];
            script(&section);
        }
        section.mix = all.into_iter().map(|operation| (operation, 1)).collect();
        // Ten statements, each for three tables; BEGIN and COMMIT are not prepared.
        assert_eq!(script(&section).prepared_per_session(), 30);
    }
}
