//! The series of the charts, without saying how they are drawn.

use stats::Estimate;

/// Charts that share a place on the page: the reader chooses one of them.
pub struct Charts {
    /// Above the chart; may be empty.
    pub caption: String,
    /// The text alternative: what it shows, and where the same figures are as text.
    pub label: String,
    /// What the reader chooses: `cell`.
    pub choice: &'static str,
    /// The charts, at least one. The first is shown.
    pub list: Vec<Chart>,
}

impl Charts {
    pub fn single(caption: impl Into<String>, label: impl Into<String>, chart: Chart) -> Charts {
        Charts {
            caption: caption.into(),
            label: label.into(),
            choice: "",
            list: vec![chart],
        }
    }
}

pub struct Chart {
    /// Unique in the document.
    pub name: String,
    pub title: String,
    pub series: Series,
}

pub enum Series {
    Bars(Bars),
    Lines(Lines),
    Quantiles(Quantiles),
    Seconds(Seconds),
    Boxes(Boxes),
}

/// What a chart shows of the spread of an estimate.
pub struct Spread<'e> {
    /// None if it is wider than a factor of [`INTERVAL_MAX`]: it would say nothing, and the axis would follow it.
    pub interval: Option<(f64, f64)>,
    /// The values of single blocks, where there are few of them or no interval is shown; empty with one block.
    pub blocks: &'e [f64],
}

/// An interval is drawn up to this ratio of its ends.
const INTERVAL_MAX: f64 = 3.0;
/// From this number of blocks on, only the interval is shown.
const BLOCKS_FEW: u32 = 4;

impl Spread<'_> {
    pub fn of(estimate: &Estimate) -> Spread<'_> {
        let narrow = |(low, high): &(f64, f64)| high / low <= INTERVAL_MAX;
        let interval = estimate.ci.filter(narrow);
        let has_several = estimate.blocks > 1 && !estimate.at_least;
        let blocks = if has_several && (estimate.blocks < BLOCKS_FEW || interval.is_none()) {
            estimate.values.as_slice()
        } else {
            &[]
        };
        Spread { interval, blocks }
    }
}

/// Seconds as bars with whiskers.
pub struct Bars {
    pub horizontal: bool,
    pub categories: Vec<String>,
    /// Name, and an estimate for each category.
    pub series: Vec<(String, Vec<Option<Estimate>>)>,
}

/// Curves with intervals.
pub struct Lines {
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
    /// A place on the x axis with its name.
    pub mark: Option<(f64, &'static str)>,
}

pub struct Curve {
    pub name: String,
    /// Which of the colours; two curves of one may differ in their dashes.
    pub colour: usize,
    pub dashed: bool,
    /// (x, estimate)
    pub points: Vec<(f64, Estimate)>,
}

#[derive(Clone, Copy)]
pub struct Axis {
    pub name: &'static str,
    pub scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    /// Logarithmic, with labels at the powers of this base.
    Log(u32),
}

/// Latency by percentile.
pub struct Quantiles {
    /// Name, and points of (1 / (1 - q), ms at the quantile q).
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// One cell second by second: panels below each other, with what happened marked in the first.
pub struct Seconds {
    /// The length of the longest block.
    pub seconds: usize,
    pub panels: Vec<Panel>,
    /// Seconds that do not count; 0: none.
    pub warm_up_s: u32,
    pub stalls: Vec<Span>,
    /// Level shifts, which have no end, and the drops of a period.
    pub shapes: Vec<Span>,
    pub events: Vec<Span>,
}

/// The values of several categories as boxes, with the values themselves and the mean of each block.
pub struct Boxes {
    /// What is drawn: `ops/s`.
    pub figure: String,
    pub categories: Vec<String>,
    /// For each category: minimum, quartiles and maximum.
    pub boxes: Vec<Option<[f64; 5]>>,
    /// (category, value)
    pub seconds: Vec<(usize, f64)>,
    /// (category, mean)
    pub blocks: Vec<(usize, f64)>,
}

pub struct Panel {
    pub name: &'static str,
    pub log: bool,
    /// Seconds of a point.
    pub width: usize,
    pub curves: Vec<Band>,
}

/// A curve of one value a point, or of the minimum, median and maximum of all blocks.
pub struct Band {
    pub name: &'static str,
    pub colour: usize,
    pub points: Vec<Option<[f64; 3]>>,
}

/// Seconds since the start of the load.
pub struct Span {
    pub from_s: f64,
    /// None if it has no end.
    pub until_s: Option<f64>,
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64], ci: (f64, f64)) -> Estimate {
        Estimate {
            mean: 50.0,
            ci: Some(ci),
            min: 40.0,
            max: 60.0,
            blocks: values.len() as u32,
            values: values.to_vec(),
            at_least: false,
        }
    }

    #[test]
    fn an_interval_wider_than_a_factor_of_three_gives_way_to_the_blocks() {
        let five = [40.0, 45.0, 50.0, 55.0, 60.0];
        let wide = estimate(&five, (28.0, 85.0));
        assert!(Spread::of(&wide).interval.is_none());
        assert_eq!(Spread::of(&wide).blocks, five);
        let narrow = estimate(&five, (30.0, 90.0));
        assert_eq!(Spread::of(&narrow).interval, Some((30.0, 90.0)));
        assert!(Spread::of(&narrow).blocks.is_empty());
    }

    #[test]
    fn fewer_than_four_blocks_are_shown_themselves() {
        let three = estimate(&[40.0, 50.0, 60.0], (45.0, 55.0));
        assert_eq!(Spread::of(&three).blocks, [40.0, 50.0, 60.0]);
        assert!(Spread::of(&three).interval.is_some());
        assert!(
            Spread::of(&estimate(&[50.0], (45.0, 55.0)))
                .blocks
                .is_empty()
        );
    }
}
