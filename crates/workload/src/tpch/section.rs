//! The section `[workload.tpch]` of an experiment file.
//!
//! Goal: every mistake is answered with the key and what would be right. Non-goal: whether a server has the engine; only it can tell.

use super::queries::QUERIES;
use crate::KeyMistake;
use crate::indexes::IndexBuild;
use crate::keys::{engine, mistake, scale, text, truth};
use std::collections::BTreeMap;

/// The largest scale: the identifiers are of 32 bits, and beyond it the disk of any machine that this is meant for runs out.
const LARGEST_SCALE: f64 = 100.0;
const KEYS: &str =
    "the keys are: scale, engine, form, force_index, extra_index, index_build, hints";
const HINTS: &str =
    "hints = { Q3 = \"MRR(lineitem)\" }: names of queries, and the text between /*+ and */";
const FORMS: &str = "form is one of \"standard\", \"published\"";

/// The section, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// 1 is 6,001,215 rows in lineitem; above 0, at most 100. By default 1.
    pub scale: f64,
    /// As CREATE TABLE takes it. By default `InnoDB`.
    pub engine: String,
    pub form: Form,
    /// Whether the published forms keep their FORCE INDEX. By default they do.
    pub force_index: bool,
    /// Whether lineitem has the index of the published result P6. By default where a query forces it.
    pub extra_index: bool,
    /// As the file asks; None: as is usual for the engine.
    pub index_build: Option<IndexBuild>,
    /// By query, optimizer hints that stand behind its first SELECT.
    pub hints: BTreeMap<String, String>,
}

/// How the queries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As in the specification.
    Standard,
    /// Q3, Q10 and Q19 as in the published result P6.
    Published,
}

impl Section {
    pub fn read(table: &toml::Table) -> Result<Section, KeyMistake> {
        let mut section = Section {
            scale: 1.0,
            engine: "InnoDB".into(),
            form: Form::Standard,
            force_index: true,
            extra_index: false,
            index_build: None,
            hints: BTreeMap::new(),
        };
        let mut extra_index = None;
        for (key, value) in table {
            match key.as_str() {
                "scale" => section.scale = generated(key, scale(key, value, LARGEST_SCALE)?)?,
                "engine" => section.engine = engine(key, value)?,
                "form" => section.form = form(key, value)?,
                "force_index" => section.force_index = truth(key, value)?,
                "extra_index" => extra_index = Some(truth(key, value)?),
                "index_build" => section.index_build = Some(IndexBuild::read(key, value)?),
                "hints" => section.hints = hints(key, value)?,
                other => return Err(mistake(other, format!("tpch has no key {other:?}"), KEYS)),
            }
        }
        let forced = section.form == Form::Published && section.force_index;
        section.extra_index = extra_index.unwrap_or(forced);
        if forced && !section.extra_index {
            return Err(mistake(
                "extra_index",
                "the published form of Q19 forces the extra index, which would not be there",
                "leave extra_index out, or add force_index = false",
            ));
        }
        Ok(section)
    }

    pub fn index_build(&self) -> IndexBuild {
        self.index_build
            .unwrap_or_else(|| IndexBuild::usual(&self.engine))
    }
}

/// Below scale 0.025 the generator has no rows for most scales.
fn generated(key: &str, scale: f64) -> Result<f64, KeyMistake> {
    let refused = |error: datagen::tpch::ScaleError| {
        mistake(key, error.to_string(), "scale = 0.01, 0.1 or 1")
    };
    datagen::tpch::Tpch::new(scale)
        .map(|_| scale)
        .map_err(refused)
}

fn hints(key: &str, value: &toml::Value) -> Result<BTreeMap<String, String>, KeyMistake> {
    let not_a_table = || mistake(key, "hints is a table of queries", HINTS);
    let table = value.as_table().ok_or_else(not_a_table)?;
    let hint = |(name, value): (&String, &toml::Value)| {
        let key = format!("{key}.{name}");
        if !QUERIES.iter().any(|query| query.name == name) {
            return Err(mistake(&key, format!("tpch has no query {name:?}"), HINTS));
        }
        let hint = text(&key, value, HINTS)?;
        if hint.contains("*/") {
            return Err(mistake(
                &key,
                "a hint does not hold */, which would end it",
                HINTS,
            ));
        }
        Ok((name.clone(), hint.trim().to_string()))
    };
    table.iter().map(hint).collect()
}

fn form(key: &str, value: &toml::Value) -> Result<Form, KeyMistake> {
    match text(key, value, FORMS)? {
        "standard" => Ok(Form::Standard),
        "published" => Ok(Form::Published),
        other => Err(mistake(key, format!("there is no form {other:?}"), FORMS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Section, KeyMistake> {
        Section::read(&text.parse().unwrap())
    }

    #[test]
    fn an_empty_section_is_scale_1_in_innodb_in_the_standard_form() {
        let section = read("").unwrap();
        assert_eq!((section.scale, section.engine.as_str()), (1.0, "InnoDB"));
        assert_eq!(section.form, Form::Standard);
        assert!(!section.extra_index);
        assert_eq!(section.index_build(), IndexBuild::With);
    }

    #[test]
    fn the_published_form_has_the_index_that_it_forces() {
        assert!(read("form = \"published\"").unwrap().extra_index);
        let unforced = read("form = \"published\"\nforce_index = false").unwrap();
        assert!(!unforced.extra_index);
        assert!(read("extra_index = true").unwrap().extra_index);
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
            ("extra_index = 1", "extra_index"),
            ("form = \"published\"\nextra_index = false", "extra_index"),
            ("index_build = true", "index_build"),
            ("joins = \"ansi\"", "joins"),
            ("hints = \"MRR(t)\"", "hints"),
            ("hints = { Q33 = \"MRR(t)\" }", "hints.Q33"),
            ("hints = { Q3 = \"x */ y\" }", "hints.Q3"),
        ] {
            assert_eq!(read(text).unwrap_err().key, key, "{text}");
        }
    }

    #[test]
    fn a_scale_without_rows_is_answered_with_scales_that_have_them() {
        let mistake = read("scale = 0.001").unwrap_err();
        assert!(mistake.says.contains("duplicate supplier"), "{mistake}");
        assert!(mistake.help.contains("0.01"), "{mistake}");
    }
}
