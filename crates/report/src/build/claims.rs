//! The verdicts, and why the cells of each claim differ.

use super::counters;
use super::rows::Notes;
use crate::document::{
    Badge, Block, Cell, Claim, Column, ColumnContent, Document, Forms, Most, Node, Ratio, Section,
    Table,
};
use crate::{format, why};
use explain::{Finding, TimesVerdict};
use record::{Bound, Direction, Judged, Limit, Subject, Verdict};

/// Explanations in the terminal.
const MOST: usize = 10;
/// Counters of a claim in Markdown.
const COUNTERS_OF_MARKDOWN: usize = 4;
const ABOUT: &str = "Published and measured are ratios. The intervals are over blocks; cells of a large matrix share their noise. \
    The verdict answers the threshold. Next to the ratio is the side of 1 on which it lies, if that is decided. Both hold for all claims together (Holm). \
    A published figure is excluded if it lies outside the interval.";
const DRAWN: &str = "In the drawing, the dot is the measured ratio, the line its interval, the diamond the published ratio. The claim \
    holds in the shaded part.";

pub(super) fn verdicts(document: &Document) -> Option<Section> {
    if document.claims.is_empty() {
        return None;
    }
    let all: Vec<&Claim> = document.claims.iter().collect();
    let (outside, inside): (Vec<&Claim>, Vec<&Claim>) =
        (all.iter()).partition(|claim| is_outside(claim, document));
    if outside.is_empty() {
        let mut nodes = table(&all, Forms::ALL);
        nodes.extend(remarks(&all));
        return Section::unless_empty("claims", "Verdicts", nodes);
    }
    let mut nodes = table(&all, Forms::TEXT);
    if !inside.is_empty() {
        nodes.extend(table(&inside, Forms::PAGE));
        nodes.extend(remarks(&inside));
    }
    let cells = "about cells that this run did not measure";
    let summary = format!("{} {cells}", format::plural(outside.len(), "claim"));
    nodes.push(Block::fold(summary, inside.is_empty(), table(&outside, Forms::PAGE)).page());
    Section::unless_empty("claims", "Verdicts", nodes)
}

/// Whether a cell of the claim has no trial at all: `--only` excluded it, or the run has not come to it.
fn is_outside(claim: &Claim, document: &Document) -> bool {
    let cells = claim.judged.claim.cells();
    let has_trial = |cell: &&record::Cell| {
        let mut trials = document.trials.iter();
        trials.any(|recorded| cell.selects(&recorded.trial.key))
    };
    !cells.iter().all(has_trial)
}

/// How the figures were made, and what the drawings show, if there are any.
fn remarks(claims: &[&Claim]) -> Vec<Node> {
    let mut drawn = claims.iter().filter_map(|claim| drawn(&claim.judged));
    let about_drawings = drawn.next().map(|_| DRAWN);
    let texts = [ABOUT].into_iter().chain(about_drawings);
    texts.map(|text| Block::remark(text).page()).collect()
}

/// The claims with their footnotes.
fn table(claims: &[&Claim], forms: Forms) -> Vec<Node> {
    let mut notes = Notes::default();
    let any_published = claims
        .iter()
        .any(|claim| claim.judged.claim.published.is_some());
    let row = |claim: &&Claim| {
        let judged = &claim.judged;
        let reason = judged.reason.clone().map(|reason| notes.number(reason));
        let answers = [
            Cell::text(judged.words()).badged(Badge::from(judged.verdict)),
            Cell::text(&judged.claim.says).marked(reason.into_iter().collect()),
            Cell {
                beside: direction(judged).map(String::from),
                drawn: drawn(judged),
                ..Cell::text(measured(judged))
            },
            Cell::text(interval(judged)),
            Cell::text(&judged.threshold),
        ];
        let published = any_published.then(|| published(judged));
        answers.into_iter().chain(published).collect()
    };
    let rows: Vec<Vec<Cell>> = claims.iter().map(row).collect();
    let mut columns = Column::list(&[
        (ColumnContent::Label, &["verdict"]),
        (ColumnContent::Words, &["claim"]),
        (ColumnContent::Figure, &["measured", "95 % CI", "threshold"]),
    ]);
    if any_published {
        columns.extend(Column::of(ColumnContent::Figure, ["published"]));
    }
    let table = Block::table(Table::new("", columns, rows)).shown(forms);
    let mut nodes = vec![table.on_first_screen()];
    let notes = notes.block();
    nodes.extend(notes.map(|notes| notes.shown(forms).on_first_screen()));
    nodes
}

/// None of a shape, and where nothing was measured.
fn drawn(judged: &Judged) -> Option<Ratio> {
    let measured = judged.measured.filter(|ratio| *ratio > 0.0)?;
    let holds = match &judged.claim.subject {
        Subject::Ratio { bound, .. } => match *bound {
            Bound::AtLeast(least) => (least, f64::INFINITY),
            Bound::AtMost(most) => (0.0, most),
            Bound::Within(share) => (1.0 / (1.0 + share), 1.0 + share),
        },
        Subject::Spread { within, .. } => (1.0, 1.0 + within),
        Subject::Finds { .. } => return None,
    };
    Some(Ratio {
        measured,
        interval: judged.ci,
        holds,
        published: judged.claim.published,
    })
}

/// The side of 1 on which the ratio lies. None if it is undecided: next to a verdict, "undecided" would seem to mean the verdict.
fn direction(judged: &Judged) -> Option<&'static str> {
    match judged.direction? {
        Direction::Above => Some("(above 1)"),
        Direction::Below => Some("(below 1)"),
        Direction::Undecided => {
            let is_judged = matches!(judged.verdict, Verdict::Reproduced | Verdict::NotReproduced);
            (!is_judged).then_some("(undecided)")
        }
    }
}

/// The published figure, and whether the interval contains it.
fn published(judged: &Judged) -> Cell {
    let beside = judged.published_inside.map(|inside| match inside {
        true => "(inside)",
        false => "(excluded)",
    });
    Cell {
        beside: beside.map(String::from),
        ..Cell::figure(judged.claim.published, format::ratio)
    }
}

/// `1.78`, and of a bound `>= 8.20`; `-` where the record has none.
pub(crate) fn measured(judged: &Judged) -> String {
    let ratio = judged.measured.map(format::ratio_within(judged.ci));
    match (ratio, judged.limit) {
        (Some(ratio), Some(Limit::AtLeast)) => format!(">= {ratio}"),
        (Some(ratio), Some(Limit::AtMost)) => format!("<= {ratio}"),
        (Some(ratio), None) => ratio,
        (None, _) => "-".to_string(),
    }
}

/// `1.71 to 1.86`, and of a bound `8.10 or more`.
pub(crate) fn interval(judged: &Judged) -> String {
    let written = format::ratio_within(judged.ci);
    match (judged.ci, judged.limit) {
        (Some((low, _)), Some(Limit::AtLeast)) => format!("{} or more", written(low)),
        (Some((_, high)), Some(Limit::AtMost)) => format!("{} or less", written(high)),
        (Some(ci), None) => format::interval(ci, written),
        (None, _) => "-".to_string(),
    }
}

/// The explanation of each claim, with the counters that it rests on.
pub(super) fn explanations(document: &Document) -> Option<Section> {
    let explained = document.claims.iter().filter_map(|claim| {
        let why = claim.why.as_ref()?;
        (!why.why.differences.is_empty()).then_some((&claim.judged, why))
    });
    let explained: Vec<_> = explained.collect();
    let sentences = explained.iter().filter_map(|(judged, why)| {
        let sentence = why.sentence(format::count)?;
        Some(format!("{}: {sentence}", with_verdict(judged)))
    });
    let items: Vec<String> = sentences.collect();
    let mut nodes = Vec::new();
    if !items.is_empty() {
        nodes.push(Block::list(items, MOST).everywhere());
        let caveat = why::caveat(&document.claims, None);
        nodes.extend(caveat.map(|caveat| Block::remark(caveat).everywhere()));
    } else if !explained.is_empty() {
        let findings = explained.iter().map(|(_, one)| &one.why.finding);
        let none = none_explained(&Vec::from_iter(findings));
        nodes.extend(none.map(|none| Block::remark(none).shown(Forms::WRITTEN)));
    }
    for (judged, why) in &explained {
        let says = &judged.claim.says;
        let sides = format!("A = {}, B = {}", why.of, why.to);
        let per = why::per(&why.why);
        let caption = format!("{says}: counters per {per}, {sides}");
        let most = Most {
            terminal: 0,
            markdown: COUNTERS_OF_MARKDOWN,
        };
        let table = Block::table(counters::table(&why.why).most(most));
        let fold = Block::fold(caption, false, vec![table.everywhere()]);
        nodes.push(fold.shown(Forms::WRITTEN));
    }
    Section::unless_empty("why", "Why, by the counters", nodes)
}

/// The claim in its own words; of one that is not known to hold, or that allows either direction, also its verdict and ratio, since what is
/// explained is the measured difference.
///
/// `slower with batched key access (does not hold, measured 0.93)`
fn with_verdict(judged: &Judged) -> String {
    let (says, words) = (&judged.claim.says, judged.words());
    let is_either = |(low, high): (f64, f64)| low < 1.0 && high > 1.0;
    let allows_either = drawn(judged).is_some_and(|ratio| is_either(ratio.holds));
    match (judged.verdict, judged.measured) {
        (Verdict::Reproduced, _) if !allows_either => says.clone(),
        (_, Some(_)) => format!("{says} ({words}, measured {})", measured(judged)),
        (_, None) => format!("{says} ({words})"),
    }
}

/// Why no claim has an explanation; None where no sentence is true of all of them.
fn none_explained(findings: &[&Finding]) -> Option<&'static str> {
    let count = |verdicts: &[TimesVerdict]| {
        let of = |finding: &&&Finding| matches!(finding, Finding::Nothing(times) if verdicts.contains(times));
        findings.iter().filter(of).count()
    };
    let other = count(&[TimesVerdict::OtherLoads]);
    let same = count(&[TimesVerdict::WithinNoise, TimesVerdict::OneBlock]);
    (other + same == findings.len()).then_some(match (other, same) {
        (_, 0) => "These claims compare different numbers of clients or rates. Their operations wait for different things, so no counter explains their times.",
        (0, _) => "No times of these claims differ beyond noise: there is nothing to explain.",
        _ => "Where a claim compares different numbers of clients or rates, operations wait for different things, so no counter explains their times. \
              The other times do not differ beyond noise.",
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A claim without figures.
    pub(in crate::build) fn without_figures(
        says: &str,
        subject: Subject,
        verdict: Verdict,
    ) -> Judged {
        Judged {
            claim: record::Claim {
                says: says.into(),
                subject,
                published: None,
            },
            measured: None,
            ci: None,
            limit: None,
            threshold: String::new(),
            verdict,
            direction: None,
            published_inside: None,
            blocks_to_decide: None,
            decided_after: None,
            blocks: None,
            reason: None,
        }
    }

    fn judged(bound: Bound, verdict: Verdict, measured: Option<f64>) -> Judged {
        let subject = Subject::Ratio {
            value: record::Value::Elapsed,
            of: record::Cell::default(),
            to: record::Cell::default(),
            bound,
        };
        Judged {
            measured,
            ..without_figures("slower with batches", subject, verdict)
        }
    }

    #[test]
    fn a_claim_that_does_not_hold_is_not_explained_as_if_it_did() {
        let written =
            |verdict, measured| with_verdict(&judged(Bound::AtLeast(1.02), verdict, measured));
        let says = "slower with batches";
        assert_eq!(written(Verdict::Reproduced, Some(1.12)), says);
        assert_eq!(
            written(Verdict::NotReproduced, Some(0.93)),
            format!("{says} (does not hold, measured 0.93)")
        );
        assert_eq!(
            written(Verdict::Inconclusive, Some(1.06)),
            format!("{says} (inconclusive, measured 1.06)")
        );
        assert_eq!(
            written(Verdict::NotAvailable, None),
            format!("{says} (not available)")
        );
    }

    #[test]
    fn a_difference_is_explained_beside_its_ratio_where_the_claim_allows_either_direction() {
        for bound in [Bound::Within(0.2), Bound::AtMost(1.1)] {
            let found = judged(bound, Verdict::Reproduced, Some(0.84));
            let expected = "slower with batches (holds, measured 0.84)";
            assert_eq!(with_verdict(&found), expected);
        }
    }

    #[test]
    fn times_of_other_loads_and_of_counters_are_not_called_equal() {
        let written = |times: &[TimesVerdict]| {
            let findings: Vec<Finding> = times.iter().copied().map(Finding::Nothing).collect();
            none_explained(&findings.iter().collect::<Vec<_>>()).unwrap_or_default()
        };
        let (same, other) = (TimesVerdict::WithinNoise, TimesVerdict::OtherLoads);
        let equal = "No times of these claims differ beyond noise";
        assert!(written(&[same, same]).starts_with(equal));
        assert!(written(&[other]).starts_with("These claims compare different numbers"));
        let mixed = written(&[same, other]);
        assert!(mixed.starts_with("Where a claim compares different numbers"));
        assert!(mixed.ends_with("The other times do not differ beyond noise."));
        assert_eq!(written(&[same, TimesVerdict::Nothing]), "");
    }
}
