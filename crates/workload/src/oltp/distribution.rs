//! How the keys that are asked for spread over the rows: a name, and the figure that some take.
//!
//! Goal: one reading for the section `oltp` and for the parameters of `sql`. Non-goal: drawing keys (crate `datagen`).

use crate::KeyMistake;
use crate::keys::{mistake, number};
use datagen::oltp::Distribution;
use toml::Table;

/// The figures, with the distributions that take them.
static FIGURES: [(&str, &[&str]); 2] = [
    ("zipf_exponent", &["zipfian", "latest"]),
    ("pareto_share", &["pareto"]),
];

/// Whether it is the key of a distribution's figure.
pub fn is_figure(key: &str) -> bool {
    FIGURES.iter().any(|(figure, _)| *figure == key)
}

/// A distribution by its name, with its figure from the table; None where there is none of this name. `within` is what stands before the
/// figure's key in the places of messages.
pub fn read(name: &str, table: &Table, within: &str) -> Result<Option<Distribution>, KeyMistake> {
    Ok(Some(match name {
        "uniform" => Distribution::Uniform,
        "zipfian" => Distribution::Zipfian {
            exponent: exponent(table, within)?,
        },
        "gaussian" => Distribution::Gaussian,
        "pareto" => Distribution::Pareto {
            share: share(table, within)?,
        },
        "special" => Distribution::Special,
        "latest" => Distribution::Latest {
            exponent: exponent(table, within)?,
        },
        _ => return Ok(None),
    }))
}

/// Refuses the figures of other distributions: they would be without effect, and nobody would see it.
pub fn no_other_figure(name: &str, table: &Table, within: &str) -> Result<(), KeyMistake> {
    let stray = FIGURES
        .iter()
        .find(|(figure, of)| table.contains_key(*figure) && !of.contains(&name));
    let Some((figure, of)) = stray else {
        return Ok(());
    };
    let of: Vec<String> = of.iter().map(|name| format!("{name:?}")).collect();
    Err(mistake(
        &format!("{within}{figure}"),
        format!("{name:?} takes no {figure}"),
        format!(
            "it goes with {}: write the two side by side",
            of.join(" or ")
        ),
    ))
}

fn exponent(table: &Table, within: &str) -> Result<f64, KeyMistake> {
    const HELP: &str = "a number from 0 (uniform) to 10: zipf_exponent = 0.8";
    let Some(value) = table.get("zipf_exponent") else {
        return Ok(0.8);
    };
    let key = format!("{within}zipf_exponent");
    let exponent = number(&key, value, HELP)?;
    if (0.0..=10.0).contains(&exponent) {
        Ok(exponent)
    } else {
        Err(mistake(&key, format!("{exponent} is no exponent"), HELP))
    }
}

fn share(table: &Table, within: &str) -> Result<f64, KeyMistake> {
    const HELP: &str = "the share of the rows that gets the rest of the accesses, from 0.01 to 0.5: pareto_share = 0.2";
    let Some(value) = table.get("pareto_share") else {
        return Ok(0.2);
    };
    let key = format!("{within}pareto_share");
    let share = number(&key, value, HELP)?;
    if (0.01..=0.5).contains(&share) {
        Ok(share)
    } else {
        Err(mistake(&key, format!("{share} is no share"), HELP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn a_distribution_takes_its_own_figure_or_the_usual_one() {
        let own = figures("zipf_exponent = 1\npareto_share = 0.1");
        let zipfian = |exponent| Ok(Some(Distribution::Zipfian { exponent }));
        assert_eq!(read("zipfian", &own, ""), zipfian(1.0));
        assert_eq!(read("zipfian", &Table::new(), ""), zipfian(0.8));
        let pareto = |share| Ok(Some(Distribution::Pareto { share }));
        assert_eq!(read("pareto", &own, ""), pareto(0.1));
        assert_eq!(read("pareto", &Table::new(), ""), pareto(0.2));
        assert_eq!(read("normal", &own, ""), Ok(None));
    }

    #[test]
    fn a_figure_of_another_distribution_is_a_mistake_in_its_key() {
        let exponent = figures("zipf_exponent = 1");
        let mistake = no_other_figure("uniform", &exponent, "parameter.a.").unwrap_err();
        assert_eq!(mistake.key, "parameter.a.zipf_exponent");
        assert_eq!(mistake.says, "\"uniform\" takes no zipf_exponent");
        assert_eq!(
            mistake.help,
            "it goes with \"zipfian\" or \"latest\": write the two side by side"
        );
        for name in ["zipfian", "latest"] {
            assert_eq!(no_other_figure(name, &exponent, ""), Ok(()));
        }
        let share = figures("pareto_share = 0.1");
        assert_eq!(no_other_figure("pareto", &share, ""), Ok(()));
        assert!(no_other_figure("zipfian", &share, "").is_err());
    }
}
