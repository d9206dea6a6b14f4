//! `[workload.sql.parameter.NAME]`: the values of a parameter.

use crate::oltp::distribution;
use crate::script::{Generator, Literal};
use crate::sql_text::name_length;
use datagen::oltp::{Distribution, Keys};
use spec::{Node, Section};
use toml::de::DeValue;

const KINDS: &str = "uniform = [1, 1000], zipfian, gaussian, pareto, latest, special or sequence (each with first and last), text = 20 or text = [5, 20], or one_of = [\"a\", \"b\"]";
const OTHERS: [&str; 3] = ["sequence", "text", "one_of"];
const TEXT_BYTES_MAX: i64 = 1 << 20;
/// Above this, keys are not exact in the floating-point arithmetic of a distribution.
const KEYS_MAX: u64 = 1 << 53;

/// The parameters in file order; None if one is invalid, which is noted.
pub(super) fn all(node: &Node) -> Option<Vec<(String, Generator)>> {
    let example = "[workload.sql.parameter.id] with uniform = [1, 1000]";
    let tables = node.section(example)?;
    let parameter = |node: Node| {
        if node.key.is_empty() || name_length(node.key) != node.key.len() {
            node.note(
                format!("{:?} cannot be the name of a parameter", node.key),
                "not a name",
                "write a letter, then letters, digits and _",
            );
        }
        let generator = generator(&node, &node.section(example)?)?;
        Some((node.key.to_string(), generator))
    };
    let parameters: Vec<_> = tables.entries().map(parameter).collect();
    parameters.into_iter().collect()
}

fn generator(parameter: &Node, section: &Section) -> Option<Generator> {
    let mut kinds = section
        .entries()
        .filter(|node| !distribution::is_figure(node.key));
    let Some(kind) = kinds.next() else {
        let says = format!("the parameter \"{}\" has no values", parameter.key);
        parameter.note(says, "no values", format!("write {KINDS}"));
        return None;
    };
    if let Some(second) = kinds.next() {
        let says = "a parameter has one kind of values";
        second.note(says, "a second kind", format!("write {KINDS}"));
        return None;
    }
    let generator = match kind.key {
        "sequence" => sequence(&kind),
        "text" => text(&kind),
        "one_of" => one_of(&kind),
        name => match distribution::read(name, section) {
            Some(distribution) => keys(distribution, &kind),
            None => {
                let known = [&distribution::NAMES[..], &OTHERS].concat();
                section.unknown_key("the parameter", &kind, &known);
                None
            }
        },
    };
    distribution::no_other_figure(kind.key, section);
    generator
}

fn sequence(node: &Node) -> Option<Generator> {
    let (first, last) = range(node)?;
    let count = last.abs_diff(first).saturating_add(1);
    Some(Generator::Sequence { first, count })
}

fn keys(distribution: Distribution, node: &Node) -> Option<Generator> {
    let (first, last) = range(node)?;
    if last.abs_diff(first) >= KEYS_MAX - 1 {
        let says = format!("{first} to {last} is too many values");
        node.note(says, "too many", "use fewer than 2^53");
        return None;
    }
    Some(Generator::Keys(Keys::new(distribution, first, last)))
}

/// `[first, last]`
fn range(node: &Node) -> Option<(i64, i64)> {
    let example = format!("{} = [1, 100000], the first and the last value", node.key);
    let elements = node.list(&example)?;
    let numbers: Vec<i64> = elements
        .iter()
        .filter_map(|element| element.whole(i64::MIN..=i64::MAX, &example))
        .collect();
    match numbers.as_slice() {
        [first, last] if first <= last && elements.len() == 2 => return Some((*first, *last)),
        [first, last] if elements.len() == 2 => {
            let says = format!("{first} is above {last}");
            node.note(says, "descending", format!("write {example}"));
        }
        _ if elements.len() != 2 => {
            let says = format!("\"{}\" must be two whole numbers", node.key);
            node.note(says, "not two", format!("write {example}"));
        }
        // An element is not a whole number, which is noted.
        _ => {}
    }
    None
}

/// `20`, `[5, 20]`
fn text(node: &Node) -> Option<Generator> {
    let example = "text = 20 or text = [5, 20]";
    let (bytes_min, bytes_max) = match node.value {
        DeValue::Array(_) => range(node)?,
        _ => {
            let bytes = node.whole(0..=TEXT_BYTES_MAX, example)?;
            (bytes, bytes)
        }
    };
    if bytes_min < 0 || bytes_max > TEXT_BYTES_MAX {
        let says = format!("a text has 0 to {TEXT_BYTES_MAX} digits");
        node.note(says, "out of range", format!("write {example}"));
        return None;
    }
    Some(Generator::Digits {
        bytes_min: bytes_min as u32,
        bytes_max: bytes_max as u32,
    })
}

fn one_of(node: &Node) -> Option<Generator> {
    let example = "one_of = [\"open\", \"closed\"]";
    let literal = |element: &Node| match element.value {
        DeValue::Integer(_) => element
            .whole(i64::MIN..=i64::MAX, example)
            .map(Literal::Int),
        DeValue::Float(_) => element
            .number("finite", |_| true, example)
            .map(Literal::Double),
        _ => element
            .text(example)
            .map(|text| Literal::Text(text.to_string())),
    };
    let literals: Vec<Option<Literal>> = node.list(example)?.iter().map(literal).collect();
    let literals: Vec<Literal> = literals.into_iter().collect::<Option<_>>()?;
    (!literals.is_empty()).then_some(Generator::OneOf(literals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    fn read(section: &Section) -> Option<Vec<(String, Generator)>> {
        all(&section.get("parameter")?)
    }

    /// As the table `parameter`.
    fn inner(text: &str) -> String {
        let lines: Vec<String> = text
            .lines()
            .map(|line| format!("parameter.{line}"))
            .collect();
        lines.join("\n")
    }

    #[test]
    fn every_kind_of_values_is_read() {
        let text = "a.uniform = [1, 9]\nb = { zipfian = [1, 9], zipf_exponent = 1 }\nc.gaussian = [-5, 5]\nd = { pareto = [1, 9], pareto_share = 0.1 }\ne.latest = [1, 9]\nf.special = [1, 9]\ng.sequence = [5, 5]\nh.text = 20\ni.text = [5, 20]\nj.one_of = [\"x\", 1, 0.5]";
        let names: Vec<String> = spec::read_text(&inner(text), read)
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.concat(), "abcdefghij");
    }

    #[test]
    fn a_mistake_names_its_key() {
        for (text, key) in [
            ("a = 1", "parameter.a"),
            ("a = {}", "parameter.a"),
            ("\"1a\".text = 1", "parameter.1a"),
            ("a = { uniform = [1, 2], text = 1 }", "parameter.a.text"),
            ("a.normal = [1, 2]", "parameter.a.normal"),
            ("a.uniform = [2, 1]", "parameter.a.uniform"),
            ("a.uniform = [1]", "parameter.a.uniform"),
            (
                "a.uniform = [-9223372036854775808, 9223372036854775807]",
                "parameter.a.uniform",
            ),
            (
                "a = { zipfian = [1, 2], zipf_exponent = -1 }",
                "parameter.a.zipf_exponent",
            ),
            (
                "a = { pareto = [1, 2], pareto_share = 2 }",
                "parameter.a.pareto_share",
            ),
            (
                "a = { uniform = [1, 2], zipf_exponent = 1 }",
                "parameter.a.zipf_exponent",
            ),
            (
                "a = { sequence = [1, 2], pareto_share = 0.1 }",
                "parameter.a.pareto_share",
            ),
            ("a.text = -1", "parameter.a.text"),
            ("a.text = [0, 2000000]", "parameter.a.text"),
            ("a.one_of = []", "parameter.a.one_of"),
            ("a.one_of = [true]", "true"),
        ] {
            assert_mistake_at(&inner(text), key, read);
        }
    }
}
