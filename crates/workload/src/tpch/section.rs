//! The section `[workload.tpch]` of an experiment file.
//!
//! Boundaries: only the server knows whether it has the engine.

use super::queries::QUERIES;
use crate::keys::{choice, engine, scale, truth};
use crate::schema::indexes::IndexBuild;
use spec::Node;
use std::collections::BTreeMap;

/// The largest scale: the identifiers are of 32 bits, and the disks of the intended machines are too small.
const LARGEST_SCALE: f64 = 100.0;
const KEYS: [&str; 7] = [
    "scale",
    "engine",
    "form",
    "force_index",
    "extra_index",
    "index_build",
    "hints",
];
const HINTS: &str = "hints = { Q3 = \"MRR(lineitem)\" }";

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// 1 is 6,001,215 rows in lineitem; above 0, at most 100. By default 1.
    pub scale: f64,
    /// The storage engine in CREATE TABLE. Default: `InnoDB`.
    pub engine: String,
    pub form: Form,
    /// Whether the published forms keep their FORCE INDEX. Default: true.
    pub force_index: bool,
    /// Whether lineitem has the index that Ovais Tariq added in 2012 (docs/REPLICATION.md). Default: if a query forces it.
    pub extra_index: bool,
    /// Default: that of the engine.
    pub index_build: IndexBuild,
    /// Optimizer hints after the first SELECT, by query.
    pub hints: BTreeMap<String, String>,
}

/// The form of the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As in the specification.
    Standard,
    /// Q3, Q10 and Q19 as published by Ovais Tariq in 2012 (docs/REPLICATION.md).
    Published,
}

impl Section {
    /// Reads the section and notes mistakes.
    pub fn read(section: &spec::Section) -> Option<Section> {
        section.allow("[workload.tpch]", &KEYS);
        let forms = [("standard", Form::Standard), ("published", Form::Published)];
        let form = choice(section, "form", &forms);
        let force_index = truth(section, "force_index", true);
        if let (Form::Standard, Some(node)) = (form, section.get("force_index")) {
            node.note(
                "the standard form forces no index",
                "no effect",
                "write form = \"published\", or remove it",
            );
        }
        let forced = form == Form::Published && force_index;
        let extra_index = truth(section, "extra_index", forced);
        let scale = scale(section, LARGEST_SCALE);
        if let Err(error) = datagen::tpch::Tpch::new(scale) {
            // Below scale 0.025 the generator has no rows for most scales.
            let node = section.get("scale")?;
            let example = "write scale = 0.01, 0.1 or 1";
            node.note(error.to_string(), "no rows", example);
            return None;
        }
        if let (true, Some(node)) = (forced && !extra_index, section.get("extra_index")) {
            node.note(
                "the published form of Q19 forces the extra index, which would not be there",
                "forced",
                "leave extra_index out, or add force_index = false",
            );
        }
        let engine = engine(section);
        Some(Section {
            scale,
            index_build: IndexBuild::read(section, &engine),
            engine,
            form,
            force_index,
            extra_index,
            hints: section
                .get("hints")
                .map(|node| hints(&node))
                .unwrap_or_default(),
        })
    }
}

fn hints(node: &Node) -> BTreeMap<String, String> {
    let Some(section) = node.section(HINTS) else {
        return BTreeMap::new();
    };
    let names: Vec<&str> = QUERIES.iter().map(|query| query.name).collect();
    section.allow("the hints", &names);
    let hint = |node: Node| {
        let hint = node.text(HINTS)?;
        if hint.contains("*/") {
            node.note(
                "a hint must not hold */, which would end it",
                "ends the hint",
                format!("write {HINTS}: the text between /*+ and */"),
            );
        }
        Some((node.key.to_string(), hint.trim().to_string()))
    };
    section.entries().filter_map(hint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(text: &str) -> Section {
        spec::read_text(text, Section::read).unwrap()
    }

    #[test]
    fn an_empty_section_is_scale_1_in_innodb_in_the_standard_form() {
        let section = read("");
        assert_eq!((section.scale, section.engine.as_str()), (1.0, "InnoDB"));
        assert_eq!(section.form, Form::Standard);
        assert!(!section.extra_index);
        assert_eq!(section.index_build, IndexBuild::With);
    }

    #[test]
    fn the_published_form_has_the_index_that_it_forces() {
        assert!(read("form = \"published\"").extra_index);
        let unforced = read("form = \"published\"\nforce_index = false");
        assert!(!unforced.extra_index);
        assert!(read("extra_index = true").extra_index);
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("scale = 0", "scale"),
            ("scale = 0.001", "scale"),
            ("scale = 101", "scale"),
            ("engine = \"x; drop\"", "engine"),
            ("form = \"ansi\"", "form"),
            ("force_index = \"yes\"", "force_index"),
            ("force_index = false", "force_index"),
            ("extra_index = 1", "extra_index"),
            ("form = \"published\"\nextra_index = false", "extra_index"),
            ("index_build = true", "index_build"),
            ("joins = \"ansi\"", "joins"),
            ("hints = \"MRR(t)\"", "hints"),
            ("hints = { Q33 = \"MRR(t)\" }", "hints.Q33"),
            ("hints = { Q3 = \"x */ y\" }", "hints.Q3"),
        ] {
            assert_mistake_at(text, key, Section::read);
        }
    }

    #[test]
    fn the_error_for_a_scale_without_rows_lists_valid_scales() {
        let says = assert_mistake_at("scale = 0.001", "scale", Section::read);
        assert!(says.contains("duplicate supplier"), "{says}");
        assert!(says.contains("0.01"), "{says}");
    }
}
