//! The evidence that the cold rounds were cold.

use super::Context;
use crate::document::{Badge, Block, Cell, Column, Kind, Section, Table};
use crate::{format, names};
use record::Coldness;

pub(super) fn section(context: &Context) -> Option<Section> {
    let question = &context.run.question;
    let rounds = context.trials.iter().flat_map(|trial| {
        let rounds = trial.rounds.iter();
        rounds.map(move |round| (&trial.key, round))
    });
    let found: Vec<(String, &Coldness)> = rounds
        .filter_map(|(key, round)| {
            let trial = names::trial(question, key);
            let round_name = names::round(question, &round.name, round.index);
            Some((format!("{trial}, {round_name}"), round.coldness.as_ref()?))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let proved = found.iter().filter(|(_, coldness)| coldness.proved).count();
    let columns = Column::list(&[
        (Kind::Words, &["round"]),
        (Kind::Label, &["proved", "eviction", "server restarted"]),
        (
            Kind::Figure,
            &[
                "pages in the buffer pool",
                "data files in the page cache",
                "read from disk",
            ],
        ),
    ]);
    let table = Table::new(
        "",
        columns,
        found.iter().map(|(name, coldness)| cells(name, coldness)),
    );
    let summary = format!(
        "{proved} of {} cold rounds are proved cold. Buffer pool and page cache are read after the restart and the eviction, before the first query. The disk reads are those of the round.",
        found.len()
    );
    let nodes = vec![
        Block::text(summary).page(),
        Block::fold(
            "Each cold round",
            proved < found.len(),
            vec![Block::table(table).page()],
        )
        .page(),
    ];
    Section::of("coldness", "Proof of coldness", nodes)
}

fn cells(name: &str, coldness: &Coldness) -> Vec<Cell> {
    let known = |text: Option<String>| Cell::text(text.unwrap_or("unknown".to_string()));
    let proved = match coldness.proved {
        true => Cell::text("cold").badged(Badge::Yes),
        false => Cell::text("not proved").badged(Badge::Open),
    };
    let restarted = if coldness.server_restarted {
        "yes"
    } else {
        "no"
    };
    let resident = coldness
        .resident_bytes
        .map(|resident| match coldness.file_bytes {
            Some(all) => format!("{} of {}", format::bytes(resident), format::bytes(all)),
            None => format::bytes(resident),
        });
    vec![
        Cell::text(name).remarked(coldness.reason.clone()),
        proved,
        Cell::text(&coldness.eviction),
        Cell::text(restarted),
        known(coldness.pool_pages.map(|pages| format::count(pages as f64))),
        known(resident),
        known(coldness.device_read_bytes.map(format::bytes)),
    ]
}
