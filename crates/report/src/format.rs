//! Figures as text.
//!
//! Purpose: one place that decides how seconds, ratios, counts and bytes are written for people. Boundaries: no locale; a
//! decimal point and commas between thousands everywhere. JSON and CSV write plain numbers.

use record::Moment;
pub(crate) use record::number::binary_size as bytes;
pub(crate) use record::plural;

/// How many decimals a column of seconds needs, so that its smallest figure still shows three digits.
pub(crate) fn decimals(seconds: impl IntoIterator<Item = f64>) -> usize {
    let smallest = seconds
        .into_iter()
        .filter(|s| *s > 0.0)
        .fold(f64::INFINITY, f64::min);
    match smallest {
        s if s >= 1.0 => 2,
        s if s >= 0.1 => 3,
        s if s >= 0.01 => 4,
        s if s.is_finite() => 5,
        _ => 2,
    }
}

/// A time with a fixed number of decimals; the column's head names the unit.
pub(crate) fn seconds(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// A dimensionless ratio: three digits, whole when large.
pub fn ratio(value: f64) -> String {
    match value {
        v if v >= 999.5 => count(v.round()),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

/// How a ratio with this interval is written: with more digits where rounding would hide that the interval excludes 1.
pub(crate) fn ratio_within(ci: Option<(f64, f64)>) -> fn(f64) -> String {
    match ci.is_some_and(is_hidden) {
        true => beside_1,
        false => ratio,
    }
}

/// Whether an interval excludes 1 and begins or ends so near to it that it would read as if it did not.
pub(crate) fn is_hidden((low, high): (f64, f64)) -> bool {
    let nearest = if low > 1.0 { low } else { high };
    (low > 1.0 || high < 1.0) && ratio(nearest) == "1.00"
}

pub(crate) fn beside_1(value: f64) -> String {
    format!("{value:.4}")
}

pub(crate) fn interval((low, high): (f64, f64), figure: impl Fn(f64) -> String) -> String {
    format!("{} to {}", figure(low), figure(high))
}

/// `0.97 to 1.40`, or one value where both ends read alike; None without values.
pub(crate) fn range(
    values: impl Iterator<Item = f64>,
    figure: impl Fn(f64) -> String,
) -> Option<String> {
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(match figure(low) == figure(high) {
        true => figure(low),
        false => interval((low, high), figure),
    })
}

/// A count with commas between its thousands; a mean or a quotient keeps decimals while it is small.
pub(crate) fn count(value: f64) -> String {
    grouped(value, ",")
}

/// A count without commas, for scripts.
pub(crate) fn plain_count(value: f64) -> String {
    grouped(value, "")
}

fn grouped(value: f64, between: &str) -> String {
    match value.abs() {
        _ if value.fract() == 0.0 => (),
        size if size < 1.0 => return format!("{value:.4}"),
        size if size < 10.0 => return format!("{value:.2}"),
        size if size < 999.95 => return format!("{value:.1}"),
        _ => (),
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let digits = format!("{:.0}", value.abs());
    format!("{sign}{}", record::separated(&digits, between))
}

/// Operations per second: whole from 1,000 on, with commas between thousands.
pub(crate) fn operations(value: f64) -> String {
    match value {
        v if v >= 1000.0 => count(v.round()),
        v => count(v),
    }
}

/// Milliseconds to three digits at least, whole from a thousand on.
pub(crate) fn milliseconds(value: f64) -> String {
    match value {
        v if v >= 999.95 => count(v.round()),
        v if v >= 100.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// Half of an interval that lies symmetrically about its figure on a log scale, in percent of it: `±2.8%`. From 100 % on it
/// is the factor, `×/÷2.4`, because downwards such an interval never reaches 100 %.
pub(crate) fn half_width(ci: (f64, f64)) -> String {
    match factor(ci) {
        factor if factor < 1.1 => format!("±{:.1}%", (factor - 1.0) * 100.0),
        factor if factor < 2.0 => format!("±{:.0}%", (factor - 1.0) * 100.0),
        factor if factor < 10.0 => format!("×/÷{factor:.1}"),
        factor => format!("×/÷{}", count(factor.round())),
    }
}

/// From the figure in the middle to either end of its interval.
fn factor((low, high): (f64, f64)) -> f64 {
    (high / low).sqrt()
}

/// A figure in its usual form; in two digits where its interval spans a factor of ten to either side, or more.
pub(crate) fn with_interval(
    value: f64,
    ci: Option<(f64, f64)>,
    figure: impl Fn(f64) -> String,
) -> String {
    match ci {
        Some(ci) if factor(ci) >= 10.0 => two_digits(value),
        _ => figure(value),
    }
}

/// `54`, `1,200`, `0.088`.
fn two_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    let places = (1.0 - rounded.abs().log10().floor()).clamp(0.0, 12.0);
    if places == 0.0 {
        count(rounded)
    } else {
        format!("{rounded:.*}", places as usize)
    }
}

/// Nanoseconds since the Unix epoch as UTC to the second.
pub(crate) fn moment(ns: i64) -> String {
    let at = Moment::from_unix(ns.div_euclid(1_000_000_000));
    format!("{} {} UTC", at.date(), at.time())
}

/// `> 600 s`: a time of which only the lower bound is known. It is never rounded up, but for the error of a geometric mean.
pub(crate) fn at_least(seconds: f64, decimals: usize) -> String {
    if seconds >= 100.0 {
        format!("> {:.0} s", (seconds * (1.0 + 1e-9)).floor())
    } else {
        format!("> {} s", self::seconds(seconds, decimals))
    }
}

/// `4.00 ms`, `100 µs`: three digits.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", ratio(s)),
        s if s >= 1e-3 => format!("{} ms", ratio(s * 1e3)),
        s => format!("{} µs", ratio(s * 1e6)),
    }
}

/// `12 %`
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The first `max` texts, and the number of the others: `a; b; and 3 more`.
pub(crate) fn first_few(mut texts: Vec<String>, max: usize, separator: &str) -> String {
    let more = texts.len().saturating_sub(max);
    texts.truncate(max);
    texts.extend((more > 0).then(|| format!("and {more} more")));
    texts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_get_more_decimals() {
        assert_eq!(decimals([361.49, 20.53]), 2);
        assert_eq!(decimals([3.0, 0.25]), 3);
        assert_eq!(decimals([0.002]), 5);
        assert_eq!(decimals([]), 2);
    }

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!(count(1_612_345.0), "1,612,345");
        assert_eq!(count(999.0), "999");
        assert_eq!(count(12.5), "12.5");
        assert_eq!(count(0.079), "0.0790");
        assert_eq!(count(-4321.0), "-4,321");
        assert_eq!(plain_count(1_612_345.0), "1612345");
    }

    #[test]
    fn what_rounds_up_to_a_thousand_is_written_as_a_thousand() {
        assert_eq!(count(999.96), "1,000");
        assert_eq!(operations(999.96), "1,000");
        assert_eq!(milliseconds(999.96), "1,000");
        assert_eq!(ratio(999.6), "1,000");
        assert_eq!([count(999.94), ratio(999.4)], ["999.9", "999"]);
    }

    #[test]
    fn ratios_have_three_digits() {
        assert_eq!(ratio(1.7), "1.70");
        assert_eq!(ratio(39.04), "39.0");
        assert_eq!(ratio(0.0123), "0.0123");
    }

    #[test]
    fn a_ratio_whose_interval_excludes_1_does_not_read_as_1() {
        let written = |value: f64, ci| ratio_within(Some(ci))(value);
        assert_eq!(written(1.0032, (1.0011, 1.0054)), "1.0032");
        assert_eq!(written(0.9968, (0.9946, 0.9989)), "0.9968");
        assert_eq!(written(1.0032, (0.9981, 1.0084)), "1.00");
        assert_eq!(written(1.02, (1.01, 1.03)), "1.02");
        assert_eq!(written(8.2, (8.1, f64::INFINITY)), "8.20");
        assert_eq!(ratio_within(None)(1.0032), "1.00");
    }

    #[test]
    fn latencies_and_rates_have_three_digits_or_more() {
        assert_eq!(milliseconds(0.0816), "0.082");
        assert_eq!(milliseconds(15.742), "15.74");
        assert_eq!(milliseconds(1579.91), "1,580");
        assert_eq!(operations(62_788.4), "62,788");
        assert_eq!(operations(412.0), "412");
    }

    #[test]
    fn a_wide_interval_is_a_factor_and_its_figure_has_two_digits() {
        assert_eq!(half_width((97.3, 102.8)), "±2.8%");
        assert_eq!(half_width((90.0, 110.0)), "±11%");
        assert_eq!(half_width((50.0, 200.0)), "×/÷2.0");
        assert_eq!(half_width((0.2, 10_854.0)), "×/÷233");
        let written = |value, ci| with_interval(value, Some(ci), milliseconds);
        assert_eq!(written(54.02, (50.0, 60.0)), "54.02");
        assert_eq!(written(54.02, (0.2, 10_854.0)), "54");
        assert_eq!(written(0.0877, (0.001, 10.0)), "0.088");
        assert_eq!(written(1234.5, (10.0, 100_000.0)), "1,200");
        assert_eq!(written(9.97, (0.1, 1000.0)), "10");
        assert_eq!(with_interval(54.02, None, milliseconds), "54.02");
    }

    #[test]
    fn a_moment_is_in_utc() {
        assert_eq!(moment(1_700_000_000_000_000_000), "2023-11-14 22:13:20 UTC");
    }
}
