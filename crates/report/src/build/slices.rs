//! How timed loads were divided, where servers took turns.

use crate::format;
use record::{Slices, Trial};

/// `Measured in slices of about 1 s (12 of 14 trials): ...`; None where no trial was.
pub(super) fn sentence<'t>(trials: impl Iterator<Item = &'t Trial>) -> Option<String> {
    let loads: Vec<&Trial> = trials.filter(|trial| trial.load.is_some()).collect();
    let sliced = loads.iter().filter_map(|trial| trial.slices());
    let sliced: Vec<&Slices> = sliced.collect();
    let first = sliced.first()?;
    let whole = loads.len();
    let some = match sliced.len() < whole {
        true => format!(" ({} of {whole} trials)", sliced.len()),
        false => String::new(),
    };
    let most = sliced.iter().map(|slices| slices.servers).max()?;
    let others = match sliced.len() < whole {
        true => " The other trials ran one after another.",
        false => "",
    };
    let pauses = pauses(&sliced);
    Some(format!(
        "Measured in slices of about {} s{some}: up to {} took turns within the same seconds, and the others were stopped meanwhile. \
         A throughput is operations by the time in which clients were busy, and every operation counts with its whole latency. \
         Cells of different groups did not share their seconds.{others}{pauses}",
        first.length_s,
        format::plural(most as usize, "server"),
    ))
}

/// What pauses did to the servers, in sentences.
fn pauses(sliced: &[&Slices]) -> String {
    let firsts = sliced.iter().filter_map(|slices| {
        let all_s = slices.operation_s_mean.filter(|all_s| *all_s > 0.0)?;
        Some(slices.first_s_mean? / all_s)
    });
    let edges = sliced.iter().filter_map(|slices| slices.edges_share);
    let written = sliced
        .iter()
        .filter_map(|slices| slices.written_between_bytes);
    let written = written.map(|bytes| bytes as f64);
    let first = range(firsts, format::ratio).map(|range| {
        format!(
            " The first operation of a client after a pause took {range} times the mean latency."
        )
    });
    let edges = range(edges, format::percent).map(|range| {
        format!(" {range} of the clients' time was at the edges of slices, in first operations or after the end.")
    });
    let written = range(written, |bytes| format::bytes(bytes as u64)).map(|range| {
        format!(" While a server was paused, {range} were written to the disk of its data: by the others, and by the kernel for it.")
    });
    [first, edges, written].into_iter().flatten().collect()
}

/// `0.97 to 1.40`, or one value where both ends read alike; None without values.
fn range(values: impl Iterator<Item = f64>, text: impl Fn(f64) -> String) -> Option<String> {
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(match text(low) == text(high) {
        true => text(low),
        false => format::interval((low, high), text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(first_s_mean: Option<f64>, written: u64) -> Slices {
        Slices {
            length_s: 1.0,
            count: 20,
            servers: 2,
            spanned_s: 40.0,
            finishing_s_max: 0.01,
            edges_share: Some(0.02),
            first_s_mean,
            operation_s_mean: Some(0.002),
            written_between_bytes: Some(written),
        }
    }

    #[test]
    fn what_pauses_did_is_said_in_sentences() {
        let (a, b) = (slices(Some(0.003), 1 << 20), slices(Some(0.002), 3 << 20));
        assert_eq!(
            pauses(&[&a, &b]),
            " The first operation of a client after a pause took 1.00 to 1.50 times the mean latency. \
             2 % of the clients' time was at the edges of slices, in first operations or after the end. \
             While a server was paused, 1.0 MiB to 3.0 MiB were written to the disk of its data: by the others, and by the kernel for it."
        );
        let older = Slices {
            edges_share: None,
            written_between_bytes: None,
            ..slices(None, 0)
        };
        assert_eq!(pauses(&[&older]), "");
    }
}
