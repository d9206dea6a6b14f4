//! The series of the charts, without saying how they are drawn.

use record::stats::Estimate;

/// Charts that share a place on the page: the reader chooses one of them.
pub struct Charts {
    /// Above the chart; may be empty.
    pub caption: String,
    /// The text alternative: what it shows, and where the same figures are as text.
    pub label: String,
    /// What the reader chooses: `cell`.
    pub choice: &'static str,
    /// At least one; the first is shown.
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
    /// With labels at the powers of this base.
    Log(u32),
}

/// Latency by percentile.
pub struct Quantiles {
    /// Name, and points of (1 / (1 - q), ms at the quantile q).
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// One cell second by second: panels below each other, with what happened marked in the first.
pub struct Seconds {
    /// Of the longest block.
    pub seconds: usize,
    pub panels: Vec<Panel>,
    /// Seconds that do not count; 0: none.
    pub warm_up_s: u32,
    pub stalls: Vec<Span>,
    pub events: Vec<Span>,
}

/// The values of several categories as boxes, with the values themselves and the mean of each block.
pub struct Boxes {
    /// What is drawn: `ops/s`.
    pub figure: String,
    pub categories: Vec<String>,
    /// By category: minimum, quartiles and maximum.
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
    /// None where it has no end.
    pub until_s: Option<f64>,
    pub name: String,
}
