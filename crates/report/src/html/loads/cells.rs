//! The cells that were measured, with what the charts take from their trials.
//!
//! Goal: a histogram is unpacked in one place. Non-goal: drawing.

use crate::loads::Grid;
use crate::names;
use record::histogram::merged;
use record::stats::{self, Percentiles, Summary};
use record::{Kind, Loaded, Trial};

/// One cell of a grid.
pub struct Measured<'t> {
    /// `5.6 · large pool · 8 clients`
    pub name: String,
    pub open: bool,
    /// The labels of its line: its curve in charts of several cells.
    pub line: String,
    pub level: String,
    pub blocks: Vec<Block<'t>>,
}

pub struct Block<'t> {
    pub trial: &'t Trial,
    pub load: &'t Loaded,
    pub summary: Summary,
}

/// In the order of the tables.
pub fn measured<'t>(grids: &[Grid<'t>]) -> Vec<Measured<'t>> {
    let mut cells = Vec::new();
    for grid in grids {
        for line in &grid.lines {
            for (place, cell) in line.cells.iter().enumerate() {
                let blocks = cell.counted.iter().filter_map(|(trial, summary)| {
                    Some(Block {
                        trial,
                        load: trial.load.as_deref()?,
                        summary: summary.clone().into_owned(),
                    })
                });
                let blocks: Vec<Block> = blocks.collect();
                if blocks.is_empty() {
                    continue;
                }
                let level = grid
                    .across
                    .as_ref()
                    .map(|across| names::level(&across.factor, &across.levels[place]));
                cells.push(Measured {
                    name: cell.name.clone(),
                    open: grid.open,
                    line: line.labels.join(" · "),
                    level: level.unwrap_or_else(|| "all".to_string()),
                    blocks,
                });
            }
        }
    }
    cells
}

/// A part of the seconds: the least, the median and the most of all blocks' values.
#[derive(Clone, Copy)]
pub struct Envelope {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Envelope {
    /// None of no value.
    pub fn of(mut values: Vec<f64>) -> Option<Envelope> {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        Some(Envelope {
            least: *values.first()?,
            median: (values[(count - 1) / 2] + values[count / 2]) / 2.0,
            most: *values.last()?,
        })
    }
}

impl Measured<'_> {
    pub fn loop_words(&self) -> &'static str {
        if self.open {
            "open loop"
        } else {
            "closed loop"
        }
    }

    /// Seconds of the longest block.
    pub fn seconds(&self) -> usize {
        let seconds = self
            .blocks
            .iter()
            .map(|block| block.load.seconds("throughput").len());
        seconds.max().unwrap_or(0)
    }

    /// A value of each second of each block, by the block and the second.
    pub fn envelopes(
        &self,
        width: usize,
        value: impl Fn(&Block, usize) -> Option<f64>,
    ) -> Vec<Option<Envelope>> {
        let spans = (0..self.seconds()).step_by(width.max(1));
        spans
            .map(|from| {
                let seconds = || from..from + width.max(1);
                let values = self
                    .blocks
                    .iter()
                    .flat_map(|block| seconds().filter_map(|second| value(block, second)));
                Envelope::of(values.collect())
            })
            .collect()
    }

    /// The values of a series in the measured parts of all blocks.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let of_block = |block: &Block| {
            let steady = &block.summary.steady;
            let seconds = block
                .load
                .seconds(name)
                .iter()
                .take(steady.until_s as usize);
            seconds
                .skip(steady.from_s as usize)
                .flatten()
                .copied()
                .collect::<Vec<f64>>()
        };
        self.blocks.iter().flat_map(of_block).collect()
    }

    /// The mean of a series over the measured parts; none where it is not in the record.
    pub fn mean(&self, name: &str) -> Option<f64> {
        let values = self.values(name);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The response of all blocks in spans of so many seconds, by adding counts.
    pub fn responses(&self, width: usize) -> Vec<Option<Percentiles>> {
        let spans = (0..self.seconds()).step_by(width.max(1));
        spans
            .map(|from| {
                let within = from as u32..(from + width.max(1)) as u32;
                let notes = self.blocks.iter().flat_map(|block| &block.load.histograms);
                let notes = notes.filter(|note| {
                    note.operation.is_none()
                        && note.kind == Kind::Response
                        && note.every_s == 1
                        && within.contains(&note.start_s)
                });
                Percentiles::of(&merged(notes.map(|note| &note.nanoseconds))?)
            })
            .collect()
    }

    /// (1 / (1 - q), milliseconds at the quantile q) of the response in the measured parts, as far as 100 operations lie
    /// above it; eight points for each tenth, hundredth, ...
    pub fn quantiles(&self) -> Vec<(f64, f64)> {
        let notes = self.blocks.iter().flat_map(|block| {
            stats::measured(block.load, &block.summary.steady, None, Kind::Response)
        });
        let Some(all) = merged(notes.map(|note| &note.nanoseconds)) else {
            return Vec::new();
        };
        let counted = (0..=48).map(|eighths| 10f64.powf(f64::from(eighths) / 8.0));
        counted
            .take_while(|one_in| all.len() as f64 / one_in >= stats::SAMPLES_ABOVE)
            .map(|one_in| {
                (
                    one_in,
                    all.value_at_quantile(1.0 - 1.0 / one_in) as f64 / 1e6,
                )
            })
            .collect()
    }

    pub fn unstable(&self) -> bool {
        let mut offered = self
            .blocks
            .iter()
            .filter_map(|block| block.summary.offered.as_ref());
        offered.any(|offered| offered.unstable.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_values_lies_between_the_two_in_the_middle() {
        let median = |values: &[f64]| Envelope::of(values.to_vec()).map(|e| e.median);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 9.0]), Some(4.0));
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[]), None);
    }
}
