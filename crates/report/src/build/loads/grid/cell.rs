//! A cell of a grid: a row of the record with its trials, and what tables and charts take from them.
//!
//! Purpose: histograms are unpacked in one place.

use record::histogram::merged;
use record::{LatencyKind, Loaded, Percentiles, Summary, Trial};
use stats::{LoadRow, mean};

#[derive(Default)]
pub(crate) struct Cell<'d> {
    /// `5.6 · large pool · 8 clients`; empty if nothing varies, and where the matrix has no such point.
    pub name: String,
    pub open: bool,
    /// The labels of its line: its curve in charts of several cells.
    pub line: String,
    pub level: String,
    /// None if no trial of the row came to its load.
    pub load: Option<LoadRow>,
    /// Why there is no figure.
    pub missing: Option<String>,
    /// The trials that count, by block.
    pub blocks: Vec<Block<'d>>,
    /// Failed and invalid trials.
    pub left_out: Vec<&'d Trial>,
    /// Numbers of footnotes.
    pub marks: Vec<usize>,
}

pub(crate) struct Block<'d> {
    pub trial: &'d Trial,
    pub load: &'d Loaded,
    pub summary: &'d Summary,
}

/// Minimum, median and maximum; none of no value.
pub(crate) fn envelope(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let (min, max) = (*values.first()?, *values.last()?);
    Some([
        min,
        (values[(count - 1) / 2] + values[count / 2]) / 2.0,
        max,
    ])
}

impl Block<'_> {
    /// The value of a series in a second. The throughput has what was due in the warm-up, as that of the summary.
    pub(crate) fn at(&self, series: &str, second: usize) -> Option<f64> {
        match series {
            "throughput" => self.load.done(second),
            _ => self.load.at(series, second),
        }
    }

    /// The values of a series in the measured part.
    pub(crate) fn values(&self, series: &str) -> Vec<f64> {
        let steady = &self.summary.steady;
        let measured = steady.from_s as usize..steady.until_s as usize;
        let values = measured.filter_map(|second| self.at(series, second));
        values.collect()
    }

    /// Why it was unstable, in words.
    pub(crate) fn unstable(&self) -> Option<&String> {
        self.summary.offered.as_ref()?.unstable.as_ref()
    }
}

impl Cell<'_> {
    /// Whether the matrix has this point, and a trial of it was recorded.
    pub(crate) fn exists(&self) -> bool {
        let is_recorded = !self.blocks.is_empty() || !self.left_out.is_empty();
        !self.name.is_empty() || self.load.is_some() || is_recorded
    }

    /// The growth of the queue (requests/s), the mean of the unstable blocks. None if the load was stable, or where arrivals were
    /// dropped or held instead.
    pub(crate) fn growth(&self) -> Option<f64> {
        let offered = self
            .blocks
            .iter()
            .filter_map(|block| block.summary.offered.as_ref());
        let unstable = offered.filter(|offered| offered.unstable.is_some());
        let growth: Vec<f64> = unstable.map(|offered| offered.growth).collect();
        mean(&growth).filter(|mean| *mean >= 0.5)
    }

    pub(crate) fn is_unstable(&self) -> bool {
        let load = self.load.as_ref();
        load.is_some_and(|load| !load.unstable.is_empty())
    }

    /// Its name with the loop: `5.6 · 8 clients, closed loop`.
    pub(crate) fn named_with_loop(&self) -> String {
        format!("{}, {}", self.name, crate::names::load_loop(self.open))
    }

    /// Seconds of the longest block.
    pub(crate) fn seconds(&self) -> usize {
        let lengths = self.blocks.iter();
        let lengths = lengths.map(|block| block.load.seconds("throughput").len());
        lengths.max().unwrap_or(0)
    }

    /// The envelopes of all blocks, in spans of `width` seconds.
    pub(crate) fn envelopes(
        &self,
        width: usize,
        value: impl Fn(&Block, usize) -> Option<f64>,
    ) -> Vec<Option<[f64; 3]>> {
        let of_span = |from: usize| {
            let values = self.blocks.iter().flat_map(|block| {
                let value = &value;
                (from..from + width).filter_map(move |second| value(block, second))
            });
            envelope(values.collect())
        };
        (0..self.seconds()).step_by(width).map(of_span).collect()
    }

    /// The values of a series in the measured parts of all blocks.
    pub(crate) fn values(&self, name: &str) -> Vec<f64> {
        let of_blocks = self.blocks.iter().flat_map(|block| block.values(name));
        of_blocks.collect()
    }

    /// The mean of a series over the measured parts; none if it is not in the record.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        mean(&self.values(name))
    }

    /// The mean of a value over the blocks.
    pub(crate) fn over_blocks(&self, of: impl Fn(&Block) -> f64) -> Option<f64> {
        mean(&self.blocks.iter().map(of).collect::<Vec<_>>())
    }

    /// The latency of all blocks in spans of `width` seconds, by adding counts.
    pub(crate) fn latencies(&self, width: usize) -> Vec<Option<Percentiles>> {
        let of_span = |from: usize| {
            let within = from as u32..(from + width) as u32;
            let notes = self.blocks.iter().flat_map(|block| &block.load.histograms);
            let notes = notes.filter(|note| {
                note.operation.is_none()
                    && note.kind == LatencyKind::Response
                    && note.every_s == 1
                    && within.contains(&note.start_s)
            });
            stats::percentiles(&merged(notes.map(|note| &note.nanoseconds))?)
        };
        (0..self.seconds()).step_by(width).map(of_span).collect()
    }

    /// (1 / (1 - q), ms at the quantile q) of the latency in the measured parts, as far as 100 operations lie above it; eight
    /// points for each tenth, hundredth, ...
    pub(crate) fn quantiles(&self) -> Vec<(f64, f64)> {
        let notes = self.blocks.iter().flat_map(|block| {
            stats::measured(
                block.load,
                &block.summary.steady,
                None,
                LatencyKind::Response,
            )
        });
        let Some(all) = merged(notes.map(|note| &note.nanoseconds)) else {
            return Vec::new();
        };
        let counted = (0..=48).map(|eighths| 10f64.powf(f64::from(eighths) / 8.0));
        let at = |one_in: f64| all.value_at_quantile(1.0 - 1.0 / one_in) as f64 / 1e6;
        counted
            .take_while(|one_in| all.len() as f64 / one_in >= record::SAMPLES_ABOVE)
            .map(|one_in| (one_in, at(one_in)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
        let median = |values: &[f64]| envelope(values.to_vec()).map(|[_, median, _]| median);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 9.0]), Some(4.0));
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[]), None);
    }
}
