//! The seconds of all cells side by side: a box and the seconds themselves, and the mean of each block.
//!
//! Boundaries: which cell is faster is decided by intervals over blocks, in the tables. A box shows how steady the seconds are.

use crate::build::loads::grid::cell::Cell as Point;
use crate::document::{Block, Boxes, Chart, Charts, Section, Series};
use crate::names;
use record::done_series;

/// Seconds that are drawn of a page, over all cells; evenly chosen where there are more.
const SECONDS_MAX: usize = 12_000;

pub(crate) fn section(cells: &[&Point]) -> Option<Section> {
    let (open, closed): (Vec<&Point>, Vec<&Point>) = cells.iter().partition(|cell| cell.open);
    let charts: Vec<Charts> = [open, closed]
        .iter()
        .filter_map(|own| charts(own))
        .collect();
    let about = "Each box spans the middle half of the seconds of the measured part, of all blocks; its line is their median and its ends are the minimum and the maximum. Dots are single seconds, spread out so that they do not hide each other. Diamonds are the means of the blocks. Boxes show how steady a cell is; they are not confidence intervals.";
    let remark = (!charts.is_empty()).then(|| Block::remark(about).page());
    let charts = charts
        .into_iter()
        .map(|charts| Block::Charts(charts).page());
    Section::unless_empty("boxes", "Seconds by cell", charts.chain(remark).collect())
}

/// The chart of the cells of one loop; none for a single cell.
fn charts(cells: &[&Point]) -> Option<Charts> {
    if cells.len() < 2 {
        return None;
    }
    let series = Shown::of(cells);
    let of_loop = names::load_loop(cells[0].open);
    let title = format!("{}, {of_loop}", series.title);
    let chart = Chart {
        name: format!("boxes-{}", of_loop.replace(' ', "-")),
        title: title.clone(),
        series: Series::Boxes(boxes(cells, &series)),
    };
    let label = "Throughput of each second by cell; the table of the next section has minimum, median and maximum";
    Some(Charts::single(title, label, chart))
}

/// The series that is drawn: what a standard counts, otherwise all operations.
struct Shown {
    name: String,
    title: String,
}

impl Shown {
    fn of(cells: &[&Point]) -> Shown {
        let mut blocks = cells.iter().flat_map(|cell| &cell.blocks);
        let counted = blocks.find_map(|block| {
            let conformance = block.summary.conformance.as_ref()?;
            Some(conformance.counted.clone())
        });
        match counted {
            Some(counted) => Shown {
                name: done_series(&counted),
                title: format!("{counted}/s"),
            },
            None => Shown {
                name: "throughput".to_string(),
                title: "ops/s".to_string(),
            },
        }
    }
}

fn boxes(cells: &[&Point], series: &Shown) -> Boxes {
    let all: usize = cells
        .iter()
        .map(|cell| cell.values(&series.name).len())
        .sum();
    let every = all.div_ceil(SECONDS_MAX).max(1);
    let mut drawn = Boxes {
        figure: series.title.clone(),
        categories: cells.iter().map(|cell| cell.name.clone()).collect(),
        boxes: Vec::new(),
        seconds: Vec::new(),
        blocks: Vec::new(),
    };
    for (place, cell) in cells.iter().enumerate() {
        let values = cell.values(&series.name);
        drawn.boxes.push(five(values.clone()));
        let chosen = values.into_iter().step_by(every);
        drawn.seconds.extend(chosen.map(|value| (place, value)));
        for block in &cell.blocks {
            if let Some(mean) = stats::mean(&block.values(&series.name)) {
                drawn.blocks.push((place, mean));
            }
        }
    }
    drawn
}

/// Minimum, quartiles and maximum; None of no value.
fn five(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let (below, above) = (
            values[place.floor() as usize],
            values[place.ceil() as usize],
        );
        below + (above - below) * place.fract()
    };
    Some([0.0, 0.25, 0.5, 0.75, 1.0].map(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_neighbouring_values() {
        let of = |values: &[f64]| five(values.to_vec());
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some([1.0, 1.75, 2.5, 3.25, 4.0]));
        assert_eq!(of(&[7.0]), Some([7.0; 5]));
        assert_eq!(of(&[]), None);
    }
}
