//! docs/REPLICATION.md as text.

use super::answer::{Answer, Kept, figure};
use super::{Facts, Post, Row, Test};
use record::claim::{Direction, Judged};
use std::collections::BTreeMap;

/// A published claim, or a question of a reader, with its answer.
struct Answered<'a> {
    row: &'a Row,
    tests: Vec<(&'a Test, &'a Judged, Answer)>,
    answer: Answer,
}

impl<'a> Answered<'a> {
    fn of(row: &'a Row, kept: &'a BTreeMap<&str, Kept>) -> Answered<'a> {
        let test = |test: &'a Test| {
            let Test(_, record, says) = test;
            let judged = kept[record.as_str()].verdict(record, says);
            (test, judged, Answer::of(judged, row.opposite))
        };
        let tests: Vec<_> = row.in_use().iter().map(test).collect();
        let parts: Vec<Answer> = tests.iter().map(|(_, _, answer)| *answer).collect();
        Answered {
            row,
            answer: match row.some {
                true => Answer::of_some(&parts),
                false => Answer::together(&parts),
            },
            tests,
        }
    }

    /// Whether it is decided against the published size alone, in at least one part.
    fn leaves_direction_open(&self) -> bool {
        let mut tests = self.tests.iter();
        self.answer.is_decided()
            && tests.any(|(_, judged, answer)| {
                *answer == Answer::DoesNotHold && judged.direction == Some(Direction::Undecided)
            })
    }

    /// The figure of each part, with its verdict if there are several.
    fn measured(&self) -> String {
        let part = |(Test(label, ..), judged, answer): &(&Test, &Judged, Answer)| {
            let figure = figure(judged);
            match (label.as_str(), self.tests.len()) {
                ("", _) => figure,
                (label, 1) => format!("{label}: {figure}"),
                (label, _) => format!("{label}: {figure}, {}", verdict(judged, *answer)),
            }
        };
        let parts: Vec<String> = self.tests.iter().map(part).collect();
        match parts.is_empty() {
            true => "-".to_string(),
            false => parts.join("; "),
        }
    }

    fn verdict(&self) -> String {
        if self.answer.is_decided() {
            return format!("**{}**", self.answer.words());
        }
        match self.tests.as_slice() {
            [(_, judged, answer)] => verdict(judged, *answer),
            _ => self.answer.words().to_string(),
        }
    }

    fn records(&self, kept: &BTreeMap<&str, Kept>) -> String {
        let mut links: Vec<String> = Vec::new();
        for (Test(_, record, _), judged, _) in &self.tests {
            let name = record.split('/').next_back().unwrap();
            let slim = if kept[record.as_str()].is_slim {
                ", slim"
            } else {
                ""
            };
            let blocks = judged.blocks.as_ref().map(|blocks| blocks.used);
            let blocks = blocks.map_or(String::new(), |used| {
                let unit = if used == 1 { "block" } else { "blocks" };
                format!(", {used} {unit}")
            });
            let link = format!("[{name}](../bench/results/{record}.sqlite.zst)");
            if !links.iter().any(|known| known.starts_with(&link)) {
                links.push(format!("{link}{slim}{blocks}"));
            }
        }
        links.join("; ")
    }

    fn claim(&self, kept: &BTreeMap<&str, Kept>) -> String {
        let (says, published) = (&self.row.says, &self.row.published);
        format!("| {says} | {published} {}", self.rest(self.verdict(), kept))
    }

    fn question(&self, kept: &BTreeMap<&str, Kept>) -> String {
        let answer = match self.tests.is_empty() {
            true => "no record".to_string(),
            false => self.verdict(),
        };
        format!("| {} {}", self.row.says, self.rest(answer, kept))
    }

    /// The columns that claims and questions have in common.
    fn rest(&self, verdict: String, kept: &BTreeMap<&str, Kept>) -> String {
        let (measured, records) = (self.measured(), self.records(kept));
        format!(
            "| {measured} | {verdict} | {} | {records} |\n",
            self.row.why
        )
    }
}

/// `undecided, about 12 blocks`
fn verdict(judged: &Judged, answer: Answer) -> String {
    match judged
        .blocks_to_decide
        .filter(|_| answer == Answer::Undecided)
    {
        Some(blocks) => format!("{}, about {blocks} blocks", answer.words()),
        None => answer.words().to_string(),
    }
}

/// The claims of all posts.
fn all_claims<'a>(facts: &'a Facts, kept: &'a BTreeMap<&str, Kept>) -> Vec<Answered<'a>> {
    let posts = facts.post.iter();
    posts.flat_map(|post| answered(&post.claim, kept)).collect()
}

const CLAIMS: &str = "| claim | published | measured here (95 % CI) | verdict | why | record |\n\
    | --- | --- | --- | --- | --- | --- |\n";
const QUESTIONS: &str = "\nQuestions and demands of the text and its readers:\n\n\
    | question | measured here (95 % CI) | verdict | why | record |\n\
    | --- | --- | --- | --- | --- |\n";

fn answered<'a>(rows: &'a [Row], kept: &'a BTreeMap<&str, Kept>) -> Vec<Answered<'a>> {
    rows.iter().map(|row| Answered::of(row, kept)).collect()
}

fn section(post: &Post, kept: &BTreeMap<&str, Kept>) -> String {
    let Post {
        key,
        title,
        cited,
        setup,
        page,
        ..
    } = post;
    let named: Vec<String> = post
        .experiments
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let named = named.join(", ");
    let claims: String = answered(&post.claim, kept)
        .iter()
        .map(|row| row.claim(kept))
        .collect();
    let questions: String = answered(&post.question, kept)
        .iter()
        .map(|row| row.question(kept))
        .collect();
    let before = if questions.is_empty() { "" } else { QUESTIONS };
    format!(
        "\n## {key}: {title}\n\n{cited}. {setup}\n\nReproduced by {named}; details: [{page}](../bench/results/{page}/README.md).\n\n\
        {CLAIMS}{claims}{before}{questions}"
    )
}

/// How many claims of each post have each answer.
fn counts(facts: &Facts, kept: &BTreeMap<&str, Kept>) -> String {
    let heads = Answer::ALL.map(Answer::words).join(" | ");
    let rules = Answer::ALL.map(|_| "---").join(" | ");
    let mut text = format!("| text | claims | {heads} |\n| --- | --- | {rules} |\n");
    let row = |name: &str, rows: &[Answered]| {
        let count = |one: Answer| {
            rows.iter()
                .filter(|row| row.answer == one)
                .count()
                .to_string()
        };
        let cells = Answer::ALL.map(count).join(" | ");
        format!("| {name} | {} | {cells} |\n", rows.len())
    };
    for post in &facts.post {
        let name = format!("{}: {}", post.key, post.title);
        text += &row(&name, &answered(&post.claim, kept));
    }
    text + &row("all", &all_claims(facts, kept))
}

/// The text with the numbers of claims: `{decided}`, `{holds in direction}`.
pub(super) fn counted(text: &str, facts: &Facts, kept: &BTreeMap<&str, Kept>) -> String {
    let all = all_claims(facts, kept);
    let count = |is: &dyn Fn(&Answered) -> bool| all.iter().filter(|row| is(row)).count();
    let mut numbers = vec![
        ("claims".to_string(), all.len()),
        ("decided".to_string(), count(&|row| row.answer.is_decided())),
        ("agreed".to_string(), count(&|row| row.answer.agrees())),
        (
            "weaker".to_string(),
            count(&|row| row.answer.agrees() && row.answer != Answer::Holds),
        ),
        (
            "rejected".to_string(),
            count(&|row| row.answer.is_decided() && !row.answer.agrees()),
        ),
        (
            "direction open".to_string(),
            count(&|row| row.leaves_direction_open()),
        ),
        ("untested".to_string(), count(&|row| row.tests.is_empty())),
    ];
    numbers
        .extend(Answer::ALL.map(|one| (one.words().to_string(), count(&|row| row.answer == one))));
    let fill = |text: String, (name, number): &(String, usize)| {
        text.replace(&format!("{{{name}}}"), &number.to_string())
    };
    let filled = numbers.iter().fold(text.to_string(), fill);
    assert!(!filled.contains('{'), "{filled}");
    filled
}

pub(super) fn page(facts: &Facts, kept: &BTreeMap<&str, Kept>) -> String {
    let summary = counted(&facts.summary, facts, kept);
    let reading = &facts.reading;
    let counts = counts(facts, kept);
    let sections: String = facts.post.iter().map(|post| section(post, kept)).collect();
    format!("{summary}\n{reading}\n{counts}{sections}")
}
