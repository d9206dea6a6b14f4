//! Distributions of the accessed keys: a name, and a parameter for some.
//!
//! Purpose: one reader for the section `oltp` and the parameters of `sql`. Boundaries: crate `datagen` draws keys.

use datagen::oltp::Distribution;
use spec::{Node, Section};

/// The parameters, with the distributions that use them.
static FIGURES: [(&str, &[&str]); 2] = [
    ("zipf_exponent", &["zipfian", "latest"]),
    ("pareto_share", &["pareto"]),
];

/// Whether it is the key of a distribution's parameter.
pub(crate) fn is_figure(key: &str) -> bool {
    FIGURES.iter().any(|(figure, _)| *figure == key)
}

/// The distributions by name.
pub(crate) const NAMES: [&str; 6] = [
    "uniform", "zipfian", "gaussian", "pareto", "latest", "special",
];

/// Reads a distribution by name, with its parameter from the section; None for unknown names.
pub(crate) fn read(name: &str, section: &Section) -> Option<Distribution> {
    Some(match name {
        "uniform" => Distribution::Uniform,
        "zipfian" => Distribution::Zipfian {
            exponent: exponent(section),
        },
        "gaussian" => Distribution::Gaussian,
        "pareto" => Distribution::Pareto {
            share: share(section),
        },
        "special" => Distribution::Special,
        "latest" => Distribution::Latest {
            exponent: exponent(section),
        },
        _ => return None,
    })
}

/// Rejects the parameters of other distributions, which would have no effect.
pub(crate) fn no_other_figure(name: &str, section: &Section) {
    for (figure, of) in FIGURES.iter().filter(|(_, of)| !of.contains(&name)) {
        let Some(node) = section.get(figure) else {
            continue;
        };
        let of: Vec<String> = of.iter().map(|name| format!("{name:?}")).collect();
        node.note(
            format!("{name:?} takes no {figure}"),
            "no effect",
            format!("it applies to {}: set both", of.join(" or ")),
        );
    }
}

fn exponent(section: &Section) -> f64 {
    let fits = |exponent: f64| (0.0..=10.0).contains(&exponent);
    let range = "from 0 (uniform) to 10";
    let exponent = |node: Node| node.number(range, fits, "zipf_exponent = 0.8");
    let own = section.get("zipf_exponent");
    own.and_then(exponent).unwrap_or(0.8)
}

/// The share of the rows that receives the remaining accesses.
fn share(section: &Section) -> f64 {
    let fits = |share: f64| (0.01..=0.5).contains(&share);
    let share = |node: Node| node.number("from 0.01 to 0.5", fits, "pareto_share = 0.2");
    section.get("pareto_share").and_then(share).unwrap_or(0.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::assert_mistake_at;

    #[test]
    fn a_distribution_takes_its_own_figure_or_the_usual_one() {
        let own = "zipf_exponent = 1\npareto_share = 0.1";
        let of = |name: &'static str, text: &str| {
            spec::read_text(text, |section| Some(read(name, section))).unwrap()
        };
        let zipfian = |exponent| Some(Distribution::Zipfian { exponent });
        assert_eq!(of("zipfian", own), zipfian(1.0));
        assert_eq!(of("zipfian", ""), zipfian(0.8));
        let pareto = |share| Some(Distribution::Pareto { share });
        assert_eq!(of("pareto", own), pareto(0.1));
        assert_eq!(of("pareto", ""), pareto(0.2));
        assert_eq!(of("normal", own), None);
    }

    #[test]
    fn every_name_is_a_distribution() {
        for name in NAMES {
            assert!(spec::read_text("", |section| read(name, section)).is_ok());
        }
    }

    #[test]
    fn a_figure_of_another_distribution_is_a_mistake_in_its_key() {
        let stray = |name: &'static str| {
            move |section: &Section| {
                no_other_figure(name, section);
                Some(())
            }
        };
        let exponent = "zipf_exponent = 1";
        assert_eq!(
            assert_mistake_at(exponent, "zipf_exponent", stray("uniform")),
            "\"uniform\" takes no zipf_exponent (it applies to \"zipfian\" or \"latest\": set both)"
        );
        for name in ["zipfian", "latest"] {
            assert!(spec::read_text(exponent, stray(name)).is_ok());
        }
        let share = "pareto_share = 0.1";
        assert!(spec::read_text(share, stray("pareto")).is_ok());
        assert_mistake_at(share, "pareto_share", stray("zipfian"));
    }
}
