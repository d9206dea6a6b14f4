//! What servers were held to, as a table: as it was asked for, and as it was measured at the start of each trial.

use crate::format;
use crate::loads::{Figure, Sheet, SheetRow};
use record::Trial;

/// A row for each limit and value; none where nothing was limited.
pub fn limits(trials: &[Trial]) -> Option<Sheet> {
    let mut kinds: Vec<(&str, f64, Vec<f64>)> = Vec::new();
    for limit in trials.iter().flat_map(|trial| &trial.limits) {
        let same = kinds
            .iter_mut()
            .find(|(name, asked, _)| *name == limit.name && *asked == limit.asked);
        match same {
            Some((.., measured)) => measured.push(limit.measured),
            None => kinds.push((&limit.name, limit.asked, vec![limit.measured])),
        }
    }
    (!kinds.is_empty()).then(|| Sheet {
        caption: "Limits of the servers, measured before each trial's server was started; where requests are limited too, bytes a second may stay below what was asked for"
            .to_string(),
        head: String::new(),
        labels: vec!["limit".to_string()],
        across: None,
        heads: ["asked", "least measured", "most measured", "trials"]
            .map(String::from)
            .to_vec(),
        rows: kinds.iter().map(row).collect(),
    })
}

fn row((name, asked, measured): &(&str, f64, Vec<f64>)) -> SheetRow {
    let least = measured.iter().copied().fold(f64::INFINITY, f64::min);
    let most = measured.iter().copied().fold(0.0, f64::max);
    let texts = [*asked, least, most].map(|value| figure(name, value));
    let cells = texts.into_iter().chain([measured.len().to_string()]);
    SheetRow {
        labels: vec![name.to_string()],
        cells: cells
            .map(|text| Figure {
                text,
                ..Figure::default()
            })
            .collect(),
    }
}

fn figure(name: &str, value: f64) -> String {
    match name {
        "read_bandwidth" | "write_bandwidth" => format!("{}/s", format::bytes(value as u64)),
        "memory" => format::bytes(value as u64),
        "cpus" => format::ratio(value),
        _ => format!("{}/s", format::operations(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_processors_and_requests_have_their_own_units() {
        let texts = [
            figure("read_iops", 1000.4),
            figure("read_bandwidth", 52_428_800.0),
            figure("memory", 2_147_483_648.0),
            figure("cpus", 0.5),
        ];
        assert_eq!(texts, ["1\u{a0}000/s", "50.0 MiB/s", "2.0 GiB", "0.50"]);
    }
}
