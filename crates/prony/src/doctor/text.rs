//! The findings as a table to paste into a ticket: plain ASCII, 80 columns.

use super::probes::{Probe, Unit};
use super::{Direct, Findings, Measured};
use host::storage::{AtomicWrites, Disk};
use host::{disk, machine};
use record::{Percentile, SAMPLES_ABOVE, SAMPLES_ABOVE_MIN};

const COLUMNS: usize = 80;
/// Of the names of facts.
const NAME_COLUMNS: usize = 15;
/// InnoDB's page.
const PAGE_BYTES: u64 = 16 << 10;

/// Every line is at most 80 columns long, but for a path that is longer.
pub(crate) fn text(findings: &Findings) -> String {
    let mut lines = vec![
        format!(
            "prony {} doctor: what this disk can do for a database",
            machine::VERSION
        ),
        ascii(&findings.directory.display().to_string()),
        String::new(),
        format!(
            "{:<32}{:>8}{:>13}{:>9}{:>9}{:>9}",
            "operation", "clients", "rate", "p50 ms", "p99 ms", "max ms"
        ),
        "-".repeat(COLUMNS),
    ];
    let rows = findings.measured.iter();
    lines.extend(rows.map(|(probe, measured)| row(probe, measured)));
    lines.push(String::new());
    for (name, fact) in facts(findings) {
        lines.extend(wrapped(name, &ascii(&fact)));
    }
    lines.push(String::new());
    for note in notes(findings) {
        lines.extend(wrapped("", &note));
    }
    lines.join("\n")
}

fn row(probe: &Probe, measured: &Measured) -> String {
    let rate = match probe.unit {
        Unit::Operations => format!("{}/s", thousands(measured.operations_per_s())),
        Unit::Bandwidth(bytes) => {
            let megabytes = measured.operations_per_s() * bytes as f64 / 1e6;
            format!("{} MB/s", thousands(megabytes))
        }
    };
    format!(
        "{:<32}{:>8}{rate:>13}{:>9}{:>9}{:>9}",
        probe.name,
        probe.clients,
        cell(measured, Percentile::P50),
        cell(measured, Percentile::P99),
        measured
            .ms(Percentile::Max)
            .map_or("-".into(), milliseconds),
    )
}

/// A percentile; `~` marks one of few samples, `-` one of too few.
fn cell(measured: &Measured, percentile: Percentile) -> String {
    let above = percentile.samples_above(measured.operations);
    let shown = measured.ms(percentile).map(milliseconds);
    match shown {
        Some(shown) if above >= SAMPLES_ABOVE => shown,
        Some(shown) if above >= SAMPLES_ABOVE_MIN => format!("~{shown}"),
        _ => "-".into(),
    }
}

/// Three significant digits.
fn milliseconds(ms: f64) -> String {
    let decimals = match ms {
        ms if ms >= 100.0 => 0,
        ms if ms >= 10.0 => 1,
        ms if ms >= 1.0 => 2,
        _ => 3,
    };
    format!("{ms:.decimals$}")
}

fn thousands(number: f64) -> String {
    record::grouped(number.round() as u64)
}

/// Names with what is known, in the order of the page.
fn facts(findings: &Findings) -> Vec<(&'static str, String)> {
    let (storage, mount) = (&findings.storage, &findings.storage.mount);
    let free = storage.free_bytes.map(disk::shown);
    let free = free.map_or_else(String::new, |free| format!(", {free} free"));
    let mut facts = vec![
        (
            "file system",
            format!("{} on {}{free}", mount.kind, mount.source),
        ),
        ("mount options", mount.all_options()),
    ];
    match &storage.disk {
        Some(disk) => facts.extend(of_disk(disk)),
        None => facts.push(("disk", "not shown by this file system".into())),
    }
    let flushes = &findings.flushes;
    facts.extend([
        ("O_DIRECT", direct(findings)),
        (
            "flushes",
            format!("{}: {}", flushes.verdict.text(), flushes.why),
        ),
        ("atomic writes", atomic(findings.atomic_writes)),
    ]);
    facts
}

fn of_disk(about: &Disk) -> Vec<(&'static str, String)> {
    let unknown = || "unknown".to_string();
    let model = about.model.iter().cloned();
    let size = about.bytes.map(disk::shown);
    let words = [about.name.clone()].into_iter().chain(model);
    let words = words.chain([about.kind.text().to_string()]).chain(size);
    let blocks = about.logical_block_bytes.zip(about.physical_block_bytes);
    let blocks =
        blocks.map(|(logical, physical)| format!("blocks of {logical} B (physical {physical} B)"));
    let requests = about
        .requests
        .map(|requests| format!("{requests} requests"));
    let scheduler = about.scheduler.clone().unwrap_or_else(unknown);
    let queue = [scheduler].into_iter().chain(requests);
    let cache = about.write_cache.map(|cache| cache.text().to_string());
    vec![
        ("disk", words.chain(blocks).collect::<Vec<_>>().join(", ")),
        ("scheduler", queue.collect::<Vec<_>>().join(", ")),
        ("write cache", cache.unwrap_or_else(unknown)),
    ]
}

fn direct(findings: &Findings) -> String {
    match findings.direct {
        Direct::Works => {
            let aligned = findings.direct_alignment;
            let aligned = aligned.map(|bytes| format!(" (offsets in multiples of {bytes} B)"));
            format!(
                "works{}: the page cache held nothing of the file afterwards",
                aligned.unwrap_or_default()
            )
        }
        Direct::Ignored { resident_bytes } => format!(
            "ignored: the file system accepts it, but the page cache held {} of the file; the figures are those of memory",
            disk::shown(resident_bytes)
        ),
        Direct::Refused => {
            "refused by the file system: the figures are those of the page cache".to_string()
        }
        Direct::Unknown => {
            "unknown: ZFS has a cache of its own, so the figures may be those of memory".to_string()
        }
    }
}

/// Whether InnoDB's doublewrite buffer could go.
fn atomic(writes: Option<AtomicWrites>) -> String {
    let Some(writes) = writes else {
        return "not offered by this file system or kernel: the doublewrite buffer must stay"
            .into();
    };
    let (least, most) = (writes.unit_min_bytes, writes.unit_max_bytes);
    let offered = format!(
        "{} to {} are never torn",
        spec::size_text(least),
        spec::size_text(most)
    );
    if (least..=most).contains(&PAGE_BYTES) {
        format!(
            "{offered}: a server that writes 16 KiB pages with RWF_ATOMIC could do without its doublewrite buffer"
        )
    } else {
        format!("{offered}, which excludes pages of 16 KiB: the doublewrite buffer must stay")
    }
}

/// How to read the figures.
fn notes(findings: &Findings) -> Vec<String> {
    let (data, memory) = (findings.data_bytes, findings.memory_bytes);
    let mut notes = vec![format!(
        "A look of {:.0} s at a file of {}; the disk was not purged, and its own cache may hold the file. For a benchmark: prony bench fileio.",
        findings.elapsed.as_secs_f64(),
        disk::shown(data)
    )];
    let is_cached = matches!(findings.direct, Direct::Ignored { .. } | Direct::Refused);
    if is_cached && data < memory {
        notes.push(format!(
            "The file is smaller than the memory ({}), so reads and writes did not wait for the disk.",
            disk::shown(memory)
        ));
    }
    let mut percentiles = findings
        .measured
        .iter()
        .map(|(_, measured)| cell(measured, Percentile::P99));
    if percentiles.any(|shown| !shown.starts_with(|first: char| first.is_ascii_digit())) {
        notes.push(format!(
            "~ fewer than {SAMPLES_ABOVE} operations lie above this percentile, - fewer than {SAMPLES_ABOVE_MIN}"
        ));
    }
    notes
}

/// Tickets do not agree on encodings.
fn ascii(text: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_graphic() || letter == ' ' {
            letter
        } else {
            '?'
        }
    };
    text.chars().map(plain).collect()
}

/// Lines of at most 80 columns, with the name before the first one. Breaks at spaces, and at commas of words that are too long.
fn wrapped(name: &str, text: &str) -> Vec<String> {
    let indent = if name.is_empty() { 0 } else { NAME_COLUMNS };
    let width = COLUMNS - indent;
    let mut lines = vec![String::new()];
    for word in text.split(' ').flat_map(|word| pieces(word, width)) {
        let last = lines.last_mut().expect("there is a first line");
        let space = usize::from(word.starts_a_word && !last.is_empty());
        if !last.is_empty() && last.len() + space + word.text.len() > width {
            lines.push(word.text.to_string());
        } else {
            last.push_str(&" "[..space]);
            last.push_str(word.text);
        }
    }
    let named = |(n, line): (usize, &String)| {
        let name = if n == 0 { name } else { "" };
        format!("{name:<indent$}{line}").trim_end().to_string()
    };
    lines.iter().enumerate().map(named).collect()
}

/// A part of a text between which lines can be broken.
struct Piece<'t> {
    text: &'t str,
    starts_a_word: bool,
}

fn pieces(word: &str, width: usize) -> Vec<Piece<'_>> {
    let parts: Vec<&str> = if word.len() > width {
        word.split_inclusive(',').collect()
    } else {
        vec![word]
    };
    let piece = |(n, text)| Piece {
        text,
        starts_a_word: n == 0,
    };
    parts.into_iter().enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    #[test]
    fn the_table_is_plain_ascii_of_at_most_80_columns() {
        let text = text(&findings());
        for line in text.lines() {
            assert!(line.len() <= COLUMNS && line.is_ascii(), "{line}");
            assert_eq!(line, line.trim_end(), "no space at the end");
        }
        let body = text.split_once('\n').unwrap().1;
        insta::assert_snapshot!(body);
    }

    #[test]
    fn long_mount_options_break_at_commas() {
        let options = ["noatime"; 20].join(",");
        let lines = wrapped("mount options", &format!("{options} end"));
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= COLUMNS));
        let joined: String = lines
            .iter()
            .map(|line| line[NAME_COLUMNS..].trim_end())
            .collect();
        assert_eq!(joined, format!("{options} end").replace(", ", ","));
    }

    #[test]
    fn figures_have_three_significant_digits() {
        assert_eq!(
            [0.0417, 1.0, 12.34, 1234.5].map(milliseconds),
            ["0.042", "1.00", "12.3", "1234"]
        );
        assert_eq!(
            [0.4, 999.0, 1_234.0, 1_234_567.0].map(thousands),
            ["0", "999", "1,234", "1,234,567"]
        );
    }

    #[test]
    fn direct_io_on_a_file_system_with_a_cache_of_its_own_is_unknown() {
        let hidden = Findings {
            direct: Direct::Unknown,
            ..findings()
        };
        let text = text(&hidden);
        assert!(text.contains("unknown: ZFS has a cache"), "{text}");
        assert!(!text.contains("smaller than the memory"), "{text}");
    }

    #[test]
    fn the_doublewrite_buffer_can_only_go_where_16_kib_are_never_torn() {
        let of = |unit_min_bytes, unit_max_bytes| {
            atomic(Some(AtomicWrites {
                unit_min_bytes,
                unit_max_bytes,
            }))
        };
        assert!(of(4 << 10, 64 << 10).contains("could do without its doublewrite buffer"));
        assert!(of(4 << 10, 4 << 10).ends_with("the doublewrite buffer must stay"));
        assert!(atomic(None).ends_with("the doublewrite buffer must stay"));
    }
}
