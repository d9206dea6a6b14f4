//! When secondary indexes are built: with the rows, or after them.
//!
//! Purpose: one plan for every engine, derived from the CREATE TABLE statements. With existing indexes each row costs a tree
//! descent per entry and leaves pages half full; a later build sorts the entries and fills pages in order. Boundaries: not
//! for primary keys, which hold the rows in InnoDB.

use spec::Section;
use std::borrow::Cow;

/// `index_build` of a workload's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexBuild {
    /// While the rows are loaded.
    With,
    /// After the last row: by ALTER TABLE ... ADD KEY, and in MyISAM and Aria by DISABLE KEYS and ENABLE KEYS.
    After,
}

impl IndexBuild {
    /// Reads `index_build` of a section; without it, the default of its engine.
    pub fn read(section: &Section, engine: &str) -> IndexBuild {
        let choices = [("with", IndexBuild::With), ("after", IndexBuild::After)];
        let given = section.get("index_build");
        let given = given.and_then(|node| node.choice(&choices));
        given.unwrap_or_else(|| IndexBuild::usual(engine))
    }

    /// The default. MyISAM and Aria sort anyway when loading into an empty table.
    pub fn usual(engine: &str) -> IndexBuild {
        if sorts_keys(engine) {
            IndexBuild::After
        } else {
            IndexBuild::With
        }
    }

    /// The part of a fingerprint; empty for the default, so that existing fingerprints stay valid.
    pub fn suffix(self, engine: &str) -> &'static str {
        match self {
            _ if self == IndexBuild::usual(engine) => "",
            IndexBuild::With => "-with",
            IndexBuild::After => "-after",
        }
    }
}

/// Engines that sort to build keys when the keys are re-enabled.
fn sorts_keys(engine: &str) -> bool {
    matches!(engine, "MyISAM" | "Aria")
}

/// The statements around the load of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan<'a> {
    /// The statement that creates the empty table.
    pub create: Cow<'a, str>,
    /// Before the first row.
    pub before: Option<String>,
    /// After the last row: builds every secondary index.
    pub after: Option<String>,
}

/// The plan for a table of an engine. Each secondary index is a line of the CREATE TABLE statement that starts with `KEY `.
pub(crate) fn plan<'a>(create: &'a str, engine: &str, build: IndexBuild) -> Plan<'a> {
    let keys: Vec<&str> = create.lines().filter_map(key).collect();
    let table = table(create);
    let as_it_is = Plan {
        create: Cow::Borrowed(create),
        before: None,
        after: None,
    };
    match build {
        _ if keys.is_empty() => as_it_is,
        IndexBuild::With => as_it_is,
        IndexBuild::After if sorts_keys(engine) => Plan {
            before: Some(format!("ALTER TABLE {table} DISABLE KEYS")),
            after: Some(format!("ALTER TABLE {table} ENABLE KEYS")),
            ..as_it_is
        },
        IndexBuild::After => {
            let add: Vec<String> = keys.iter().map(|key| format!("ADD {key}")).collect();
            Plan {
                create: Cow::Owned(without_keys(create)),
                before: None,
                after: Some(format!("ALTER TABLE {table} {}", add.join(", "))),
            }
        }
    }
}

/// The name of the table that a CREATE TABLE statement creates; comments may precede it.
pub(crate) fn table(create: &str) -> &str {
    let (_, after) = create
        .split_once("CREATE TABLE ")
        .expect("each statement of the .sql file creates a table");
    after.split_whitespace().next().unwrap_or_default()
}

/// Parses a line `KEY name (columns)`.
fn key(line: &str) -> Option<&str> {
    let line = line.trim();
    line.starts_with("KEY ")
        .then(|| line.strip_suffix(',').unwrap_or(line))
}

fn without_keys(create: &str) -> String {
    let lines: Vec<&str> = create.lines().filter(|line| key(line).is_none()).collect();
    lines.join("\n").replace(",\n)", "\n)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYED: &str = "-- A note.\n\nCREATE TABLE t (\n    a INT,\n    b INT,\n    PRIMARY KEY (a),\n    KEY b (b),\n    KEY ba (b, a)\n) ENGINE={engine}";
    const BARE: &str = "CREATE TABLE u (\n    a INT,\n    PRIMARY KEY (a)\n) ENGINE={engine}";

    #[test]
    fn with_the_rows_the_statement_stays_as_it_is() {
        for engine in ["InnoDB", "MyISAM"] {
            let plan = plan(KEYED, engine, IndexBuild::With);
            assert_eq!(plan.create, KEYED);
            assert_eq!((plan.before, plan.after), (None, None));
        }
    }

    #[test]
    fn innodb_gets_its_secondary_indexes_by_one_alter_after_the_rows() {
        let plan = plan(KEYED, "InnoDB", IndexBuild::After);
        assert_eq!(
            plan.create,
            "-- A note.\n\nCREATE TABLE t (\n    a INT,\n    b INT,\n    PRIMARY KEY (a)\n) ENGINE={engine}"
        );
        assert_eq!(plan.before, None);
        assert_eq!(
            plan.after.unwrap(),
            "ALTER TABLE t ADD KEY b (b), ADD KEY ba (b, a)"
        );
    }

    #[test]
    fn myisam_has_its_keys_switched_off_and_on() {
        let plan = plan(KEYED, "MyISAM", IndexBuild::After);
        assert_eq!(plan.create, KEYED);
        assert_eq!(plan.before.unwrap(), "ALTER TABLE t DISABLE KEYS");
        assert_eq!(plan.after.unwrap(), "ALTER TABLE t ENABLE KEYS");
    }

    #[test]
    fn a_table_without_secondary_indexes_has_nothing_to_build() {
        for engine in ["InnoDB", "MyISAM"] {
            let plan = plan(BARE, engine, IndexBuild::After);
            assert_eq!(plan.create, BARE);
            assert_eq!((plan.before, plan.after), (None, None));
        }
    }

    #[test]
    fn only_an_unusual_build_shows_in_a_fingerprint() {
        assert_eq!(IndexBuild::With.suffix("InnoDB"), "");
        assert_eq!(IndexBuild::After.suffix("InnoDB"), "-after");
        assert_eq!(IndexBuild::After.suffix("Aria"), "");
        assert_eq!(IndexBuild::With.suffix("MyISAM"), "-with");
    }

    #[test]
    fn an_unknown_index_build_lists_both_allowed_values() {
        let read = |section: &Section| Some(IndexBuild::read(section, "InnoDB"));
        let error = spec::read_text("index_build = \"later\"", read).unwrap_err();
        assert!(error.to_string().contains("with, after"), "{error}");
    }

    #[test]
    fn without_the_key_the_engine_decides() {
        let read = |text: &str, engine: &str| {
            let read = |section: &Section| Some(IndexBuild::read(section, engine));
            spec::read_text(text, read).unwrap()
        };
        assert_eq!(read("", "InnoDB"), IndexBuild::With);
        assert_eq!(read("", "Aria"), IndexBuild::After);
        let after = "index_build = \"after\"";
        assert_eq!(read(after, "InnoDB"), IndexBuild::After);
    }
}
