//! The section `[workload.ssb]` of an experiment file.
//!
//! Goal: every mistake is answered with the key and what would be right. Non-goal: whether a server has the engine;
//! only it can tell (see `schema`).

use crate::KeyMistake;
use crate::indexes::IndexBuild;
use crate::keys::{engine, mistake, scale, text};

/// The largest scale: beyond it LO_ORDERKEY and the disk of any machine that this is meant for run out.
const LARGEST_SCALE: f64 = 100.0;
const KEYS: &str = "the keys are: scale, engine, joins, index_build";
const JOINS: &str = "joins is one of \"original\", \"ansi\", \"fact first\", \"dimension first\"";

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// 1 is 6,001,171 rows in lineorder; above 0, at most 100. By default 1.
    pub scale: f64,
    /// As CREATE TABLE takes it. By default `InnoDB`.
    pub engine: String,
    /// By default the ANSI form, that of the published results.
    pub joins: Joins,
    /// As the file asks; None: as is usual for the engine.
    pub index_build: Option<IndexBuild>,
}

/// How the queries join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// A list of tables and one WHERE clause, as in the paper.
    Original,
    Ansi,
    /// ANSI with the order forced: the fact table is read whole, then the dimensions by their keys.
    FactFirst,
    /// ANSI with the order forced: a dimension, then the fact table through an index, then the rest.
    DimensionFirst,
}

impl Joins {
    pub const ALL: [Joins; 4] = [
        Joins::Original,
        Joins::Ansi,
        Joins::FactFirst,
        Joins::DimensionFirst,
    ];

    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Joins::Original => "original",
            Joins::Ansi => "ansi",
            Joins::FactFirst => "fact first",
            Joins::DimensionFirst => "dimension first",
        }
    }
}

impl Section {
    pub fn read(table: &toml::Table) -> Result<Section, KeyMistake> {
        let mut section = Section {
            scale: 1.0,
            engine: "InnoDB".into(),
            joins: Joins::Ansi,
            index_build: None,
        };
        for (key, value) in table {
            match key.as_str() {
                "scale" => section.scale = scale(key, value, LARGEST_SCALE)?,
                "engine" => section.engine = engine(key, value)?,
                "joins" => section.joins = joins(key, value)?,
                "index_build" => section.index_build = Some(IndexBuild::read(key, value)?),
                other => return Err(mistake(other, format!("ssb has no key {other:?}"), KEYS)),
            }
        }
        Ok(section)
    }

    pub fn index_build(&self) -> IndexBuild {
        self.index_build
            .unwrap_or_else(|| IndexBuild::usual(&self.engine))
    }
}

fn joins(key: &str, value: &toml::Value) -> Result<Joins, KeyMistake> {
    let name = text(key, value, JOINS)?;
    let found = Joins::ALL.into_iter().find(|joins| joins.name() == name);
    found.ok_or_else(|| mistake(key, format!("there is no form {name:?}"), JOINS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Section, KeyMistake> {
        Section::read(&text.parse().unwrap())
    }

    #[test]
    fn an_empty_section_is_scale_1_in_innodb_with_ansi_joins() {
        let section = read("").unwrap();
        assert_eq!(
            (section.scale, section.engine.as_str(), section.joins),
            (1.0, "InnoDB", Joins::Ansi)
        );
    }

    #[test]
    fn every_form_of_the_joins_is_read_by_its_name() {
        for joins in Joins::ALL {
            assert_eq!(
                read(&format!("joins = {:?}", joins.name())).unwrap().joins,
                joins
            );
        }
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("scale = 0", "scale"),
            ("scale = -1", "scale"),
            ("scale = nan", "scale"),
            ("scale = 100.5", "scale"),
            ("scale = \"1\"", "scale"),
            ("engine = \"x; drop\"", "engine"),
            ("engine = 1", "engine"),
            ("joins = \"ANSI\"", "joins"),
            ("index_build = \"later\"", "index_build"),
            ("sacle = 1", "sacle"),
        ] {
            assert_eq!(read(text).unwrap_err().key, key, "{text}");
        }
    }
}
