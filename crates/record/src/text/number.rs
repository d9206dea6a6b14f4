//! Numbers as text for people.

/// A count with commas between its thousands: `11,772`.
pub fn grouped(count: u64) -> String {
    separated(&count.to_string(), ",")
}

/// Decimal digits with `between` between the thousands.
pub fn separated(digits: &str, between: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push_str(between);
        }
        text.push(digit);
    }
    text
}

/// A rate: whole with commas from 1,000 on, below that with these decimals.
pub fn rate(per_s: f64, decimals: usize) -> String {
    // What rounds up to a thousand is written as one.
    let half = 0.5 / 10f64.powi(decimals as i32);
    if per_s + half >= 1000.0 {
        grouped(per_s.round() as u64)
    } else {
        format!("{per_s:.decimals$}")
    }
}

/// A share in percent, with a decimal below 10: `3.4 %`, `17 %`.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A size in binary units, as the settings of servers are: `1.5 GiB`.
pub fn binary_size(bytes: u64) -> String {
    size(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A size in powers of 1000, as those of disks are: `1.4 GB`.
pub fn metric_size(bytes: u64) -> String {
    size(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB", "PB"])
}

fn size(bytes: u64, base: f64, units: [&str; 6]) -> String {
    let mut scaled = bytes as f64;
    let mut unit = 0;
    // What rounds to the base is one of the next unit.
    while scaled >= base - 0.05 && unit + 1 < units.len() {
        scaled /= base;
        unit += 1;
    }
    let decimals = usize::from(unit > 0);
    format!("{scaled:.decimals$} {}", units[unit])
}

/// The form of a word that a count takes: `is` for one, `are` for any other number.
pub fn for_count<'w>(count: usize, one: &'w str, many: &'w str) -> &'w str {
    if count == 1 { one } else { many }
}

/// `1 trial`, `3 trials`.
pub fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", for_count(count, "", "s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!([0, 999, 1000].map(grouped), ["0", "999", "1,000"]);
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn high_rates_are_whole_and_low_ones_have_decimals() {
        assert_eq!(rate(43_210.6, 1), "43,211");
        assert_eq!([rate(0.32, 1), rate(412.3, 0)], ["0.3", "412"]);
        assert_eq!([rate(999.7, 0), rate(999.96, 1)], ["1,000", "1,000"]);
        assert_eq!([rate(999.4, 0), rate(999.94, 1)], ["999", "999.9"]);
    }

    #[test]
    fn sizes_are_in_units_of_1024_or_1000_and_what_rounds_up_to_a_unit_is_one() {
        assert_eq!([0, 512, 1023].map(binary_size), ["0 B", "512 B", "1023 B"]);
        assert_eq!(
            [(1 << 20) - 1, 128 << 20, 3 << 39].map(binary_size),
            ["1.0 MiB", "128.0 MiB", "1.5 TiB"]
        );
        assert_eq!(
            [0, 999, 1_000, 999_960, 1_440_000_000].map(metric_size),
            ["0 B", "999 B", "1.0 kB", "1.0 MB", "1.4 GB"]
        );
    }

    #[test]
    fn one_is_singular_and_none_is_plural() {
        assert_eq!(
            [0, 1, 2].map(|count| plural(count, "trial")),
            ["0 trials", "1 trial", "2 trials"]
        );
    }

    #[test]
    fn small_shares_have_a_decimal() {
        assert_eq!(
            [0.012, 0.0996, 0.5].map(percent),
            ["1.2 %", "10.0 %", "50 %"]
        );
    }
}
