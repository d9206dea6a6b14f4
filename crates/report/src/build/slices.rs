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
    Some(format!(
        "Measured in slices of about {} s{some}: up to {} took turns within the same seconds, and the others were stopped meanwhile. \
         A throughput is operations by the time in which clients were busy, and every operation counts with its whole latency. \
         Cells of different groups did not share their seconds.{others}",
        first.length_s,
        format::plural(most as usize, "server"),
    ))
}
