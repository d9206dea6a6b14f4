//! The section `[workload.ssb]` of an experiment file.
//!
//! Boundaries: only the server knows whether it has the engine (see `schema`).

use crate::keys::{engine, scale};
use crate::schema::indexes::IndexBuild;

/// The largest scale: beyond it LO_ORDERKEY overflows and the disks of the intended machines are too small.
const LARGEST_SCALE: f64 = 100.0;
const KEYS: [&str; 4] = ["scale", "engine", "joins", "index_build"];

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// 1 is 6,001,171 rows in lineorder; above 0, at most 100. By default 1.
    pub scale: f64,
    /// The storage engine in CREATE TABLE. Default: `InnoDB`.
    pub engine: String,
    /// Default: the ANSI form, used by the published results.
    pub joins: Joins,
    /// Default: that of the engine.
    pub index_build: IndexBuild,
}

/// The join syntax of the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// A list of tables and a WHERE clause, as in the paper.
    Original,
    Ansi,
    /// ANSI with a forced order: a full scan of the fact table, then the dimensions by primary key.
    FactFirst,
    /// ANSI with a forced order: one dimension, then the fact table by index, then the other dimensions.
    DimensionFirst,
}

impl Joins {
    /// All with their names in the file.
    pub(super) const NAMES: [(&str, Joins); 4] = [
        ("original", Joins::Original),
        ("ansi", Joins::Ansi),
        ("fact first", Joins::FactFirst),
        ("dimension first", Joins::DimensionFirst),
    ];
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.ssb]", &KEYS);
        let joins = section.get("joins");
        let joins = joins.and_then(|node| node.choice(&Joins::NAMES));
        let scale = scale(section, LARGEST_SCALE);
        let engine = engine(section);
        Some(Section {
            scale,
            joins: joins.unwrap_or(Joins::Ansi),
            index_build: IndexBuild::read(section, &engine),
            engine,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    #[test]
    fn an_empty_section_is_scale_1_in_innodb_with_ansi_joins() {
        let section = read("");
        assert_eq!(
            (section.scale, section.engine.as_str(), section.joins),
            (1.0, "InnoDB", Joins::Ansi)
        );
    }

    #[test]
    fn every_form_of_the_joins_is_read_by_its_name() {
        for (name, joins) in Joins::NAMES {
            assert_eq!(read(&format!("joins = {name:?}")).joins, joins);
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
            assert_mistake_at(text, key, Section::read);
        }
    }
}
