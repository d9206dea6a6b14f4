//! The cells of claims against the matrix: which trials each of them has.
//!
//! Purpose: every cell has trials, none of them is on both sides, and no side averages over a level that the other one lacks. Boundaries:
//! `cell` checks the names in a cell, `stats` what was measured of it.

use crate::experiment::Experiment;
use crate::experiment::place::{Late, path};
use crate::plan::matrix::{self, Point};
use record::{Cell, RoundSelector, Subject, listed};
use std::collections::BTreeSet;

/// What is wrong with a cell: the claim's key of it, the cause, the label and the way out.
type Wrong = (&'static str, String, &'static str, String);

/// Claims whose cells cannot answer them. A matrix without trials, or with too many, is refused when it is planned.
pub(crate) fn unfit(experiment: &Experiment) -> Vec<Late> {
    if experiment.claims.is_empty() {
        return Vec::new();
    }
    let Ok(points) = matrix::points(experiment) else {
        return Vec::new();
    };
    let matrix = Matrix { experiment, points };
    let claims = experiment.claims.iter().enumerate();
    let unfit = claims.filter_map(|(index, claim)| {
        let (key, says, label, help) = matrix.wrong(&claim.subject)?;
        Some(Late {
            path: path(&["claim", &index.to_string(), key]),
            says,
            label,
            help,
        })
    });
    unfit.collect()
}

/// Of points of the matrix.
type Indices = BTreeSet<usize>;

/// A cell with its points.
type Side<'s> = (&'s Cell, &'s Indices);

struct Matrix<'e> {
    experiment: &'e Experiment,
    points: Vec<Point>,
}

impl Matrix<'_> {
    fn wrong(&self, subject: &Subject) -> Option<Wrong> {
        match subject {
            Subject::Ratio { of, to, .. } => {
                let (ones, others) = (self.selected(of), self.selected(to));
                empty("of", &ones)
                    .or_else(|| empty("to", &others))
                    .or_else(|| shared((of, &ones), (to, &others)))
                    .or_else(|| self.unlike((of, &ones), (to, &others)))
            }
            Subject::Spread { among, .. } => {
                let all = self.selected(among);
                empty("among", &all).or_else(|| self.one_row(&all))
            }
            Subject::Finds { of, .. } => empty("of", &self.selected(of)),
        }
    }

    /// The points in a cell.
    fn selected(&self, cell: &Cell) -> Indices {
        let points = self.points.iter().enumerate();
        let selected =
            points.filter(|(_, point)| matrix::agrees(self.experiment, point, &cell.levels));
        selected.map(|(index, _)| index).collect()
    }

    /// A search has a row for each rate that it tries.
    fn one_row(&self, among: &Indices) -> Option<Wrong> {
        let is_one = among.len() == 1 && self.experiment.search().is_none();
        is_one.then(|| {
            let says = "\"among\" names a single row: nothing to compare it with";
            let help = "name several levels of a factor, or leave the factor out";
            ("among", says.to_string(), "a single row", help.to_string())
        })
    }

    /// Cells that average over a factor which neither names, one over levels that the other one lacks: their ratio mixes what the claim is
    /// about with this factor. Cells without a common level are compared as they are.
    fn unlike(&self, (of, ones): Side, (to, others): Side) -> Option<Wrong> {
        let names = |cell: &Cell, factor: &str| cell.levels.iter().any(|(name, _)| name == factor);
        let factors = self.experiment.factors.iter();
        let factors = std::iter::once("server").chain(factors.map(|factor| factor.name.as_str()));
        let mut unnamed = factors.filter(|factor| !names(of, factor) && !names(to, factor));
        unnamed.find_map(|factor| {
            let (ones, others) = (self.levels(factor, ones), self.levels(factor, others));
            let common = ones.intersection(&others).next()?;
            (ones != others).then(|| {
                let says = format!(
                    "\"of\" and \"to\" average over different levels of \"{factor}\": {} against {}",
                    quoted(&ones),
                    quoted(&others)
                );
                let help = format!(
                    "name levels of \"{factor}\" that both have in \"of\" and in \"to\", such as \"{common}\""
                );
                ("to", says, "other levels than \"of\"", help)
            })
        })
    }

    /// The levels of a factor among these points.
    fn levels(&self, factor: &str, points: &Indices) -> BTreeSet<&str> {
        let level = |index: &usize| {
            let point = &self.points[*index];
            if factor == "server" {
                return matrix::server(self.experiment, point).map(|server| server.name.as_str());
            }
            let mut levels = matrix::levels(self.experiment, point);
            let level = levels.find(|(name, _)| *name == factor);
            level.map(|(_, level)| level.name.as_str())
        };
        points.iter().filter_map(level).collect()
    }
}

fn empty(key: &'static str, points: &Indices) -> Option<Wrong> {
    points.is_empty().then(|| {
        let says =
            "this cell contains no trials: an \"only\" excludes each combination of its levels";
        let help = "see the \"only\" of these levels";
        (key, says.to_string(), "an empty cell", help.to_string())
    })
}

/// Cells of which one holds all trials and rounds of the other. A query is compared with its round: it is no part of a mean.
fn shared(of: Side, to: Side) -> Option<Wrong> {
    if of.0.query != to.0.query {
        return None;
    }
    let (part, whole) = match (is_part(of, to), is_part(to, of)) {
        (true, true) => {
            let says = "\"of\" and \"to\" name the same cell: their ratio is always 1";
            let help = "name another cell".to_string();
            return Some(("to", says.to_string(), "the same as \"of\"", help));
        }
        (true, false) => ("of", "to"),
        (false, true) => ("to", "of"),
        (false, false) => return None,
    };
    let says =
        format!("every trial of \"{part}\" is in \"{whole}\" too, which moves the ratio towards 1");
    let help = format!("name the other level in \"{whole}\"");
    Some(("to", says, "shares trials", help))
}

fn is_part((part, points): Side, (whole, all): Side) -> bool {
    let has_round = |round: &RoundSelector| {
        let own = part.round.as_ref();
        own.is_some_and(|own| {
            own.name == round.name && (round.index.is_none() || round.index == own.index)
        })
    };
    // A cell without a round has all of them.
    points.is_subset(all) && whole.round.as_ref().is_none_or(has_round)
}

/// `"a", "b" and "c"`
fn quoted(levels: &BTreeSet<&str>) -> String {
    let quoted: Vec<String> = levels.iter().map(|level| format!("\"{level}\"")).collect();
    listed(&quoted)
}

#[cfg(test)]
mod tests {
    use crate::tests::mistakes_in;

    /// The mistakes in a claim about two servers, of which b has a variant that a lacks.
    fn mistakes_of(cells: &str) -> Vec<String> {
        mistakes_in(&format!(
            "title = 't'\n[server.a]\nbuild = 'mariadb'\n[server.b]\nbuild = 'mysql@9.7'\n\
             [variant.usual]\n[variant.new]\nonly = {{ server = 'b' }}\n\
             [factor.f.x]\n[factor.f.y]\nonly = {{ variant = 'new' }}\n[workload.oltp]\n[protocol]\ntime = '60s'\n\
             [[claim]]\nsays = 's'\nvalue = 'throughput'\n{cells}\n"
        ))
    }

    #[test]
    fn a_side_that_averages_over_a_level_which_the_other_one_lacks_is_a_mistake() {
        let found = mistakes_of("of = { server = 'b' }\nto = { server = 'a' }\nat_least = 1.1");
        let says =
            "average over different levels of \"variant\": \"new\" and \"usual\" against \"usual\"";
        assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        for cells in [
            "of = { server = 'b', variant = 'usual' }\nto = { server = 'a', variant = 'usual' }",
            "of = { server = 'b', variant = 'new', f = 'x' }\nto = { server = 'a', variant = 'usual' }",
        ] {
            let cells = format!("{cells}\nat_least = 1.1");
            assert_eq!(mistakes_of(&cells), [""; 0], "{cells}");
        }
    }

    #[test]
    fn a_cell_is_what_an_only_leaves_of_it() {
        for (cells, says) in [
            (
                "of = { variant = 'new' }\nto = { server = 'b' }\nat_least = 1.1",
                "every trial of \"of\" is in \"to\" too",
            ),
            (
                "among = { variant = 'new', f = 'x' }\nwithin = 0.1",
                "names a single row",
            ),
            (
                "of = { server = 'a', f = 'y' }\nto = { server = 'b' }\nat_least = 1.1",
                "this cell contains no trials: an \"only\"",
            ),
        ] {
            let found = mistakes_of(cells);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
        let spread = "among = { variant = 'usual' }\nwithin = 0.1";
        assert_eq!(mistakes_of(spread), [""; 0]);
    }

    #[test]
    fn a_round_is_not_compared_with_a_mean_that_holds_it() {
        let found = |of: &str, to: &str| {
            mistakes_in(&format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.ssb]\n\
                 [[claim]]\nsays = 's'\nvalue = 'elapsed'\nof = {{ {of} }}\nto = {{ {to} }}\nat_least = 1.1\n"
            ))
        };
        let says = "too, which moves the ratio towards 1";
        for (of, to) in [
            ("server = 'a', round = 'hot 1'", "round = 'hot'"),
            ("", "round = 'cold'"),
        ] {
            let found = found(of, to);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
        for (of, to) in [
            ("round = 'hot 1'", "round = 'hot 2'"),
            ("round = 'hot', query = 'Q1.1'", "round = 'hot'"),
        ] {
            assert_eq!(found(of, to), [""; 0], "{of} {to}");
        }
    }
}
