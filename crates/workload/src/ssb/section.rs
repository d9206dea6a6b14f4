//! The section `[workload.ssb]` of an experiment file.
//!
//! Whether a server has the engine only the server can tell (see `schema`).

use crate::indexes::IndexBuild;
use crate::keys::{engine, scale};

/// The largest scale: beyond it LO_ORDERKEY and the disk of any machine that this is meant for run out.
const LARGEST_SCALE: f64 = 100.0;
const KEYS: [&str; 4] = ["scale", "engine", "joins", "index_build"];

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
    /// The section; its mistakes are noted.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.ssb]", &KEYS);
        let forms = Joins::ALL.map(|joins| (joins.name(), joins));
        let joins = section.get("joins").and_then(|node| node.choice(&forms));
        Some(Section {
            scale: scale(section, LARGEST_SCALE),
            engine: engine(section),
            joins: joins.unwrap_or(Joins::Ansi),
            index_build: IndexBuild::read(section),
        })
    }

    pub fn index_build(&self) -> IndexBuild {
        self.index_build
            .unwrap_or_else(|| IndexBuild::usual(&self.engine))
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
        for joins in Joins::ALL {
            assert_eq!(read(&format!("joins = {:?}", joins.name())).joins, joins);
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
