//! Measures the accuracy of disk limits: the IOPS that a limited process gets against the configured limit.
//!
//! Goal: the error of read_iops and write_iops from 100 to 5,000 IOPS, with the measurement that starts each trial.
//! Non-goal: the speed of the disk itself. FOLDER must be on a disk. Requires root.
//!
//!     cargo bench -p prony --bench limits -- FOLDER [TIMES]

#[path = "../median.rs"]
mod median;

use host::{Group, Home, Leases, Limits, verify};
use std::path::Path;

const LIMITS_IOPS: [u64; 7] = [100, 200, 500, 1000, 2000, 3500, 5000];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|one| one != "--bench");
    let Some(folder) = arguments.next() else {
        println!("usage: cargo bench -p prony --bench limits -- FOLDER [TIMES]");
        return;
    };
    let times = arguments
        .next()
        .map_or(5, |times| times.parse().expect("a number"));
    let home = Home::at(Path::new(&folder).join("home")).expect("a folder that can be written");
    let leases = Leases::open(&home).expect("a journal");
    let data = leases.temporary("data").expect("a folder");
    std::fs::write(data.path().join("file"), vec![1; 64 << 20]).expect("64 MiB");
    println!("| limit (IOPS) | reads: median | worst error | writes: median | worst error |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for limit in LIMITS_IOPS {
        let limits = Limits {
            read_iops: Some(limit),
            write_iops: Some(limit),
            ..Limits::default()
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let group = Group::make(&limits, data.path(), &leases).expect("a control group");
            let scratch = data.path().join("scratch");
            let verified = verify(&limits, &group, data.path(), &scratch, &leases);
            let verified = verified.expect("limits that are in force");
            reads.push(verified[0].measured);
            writes.push(verified[1].measured);
        }
        println!(
            "| {limit} | {} | {} |",
            row(limit, reads),
            row(limit, writes)
        );
    }
}

/// The median, and the largest error of one measurement in percent.
fn row(limit: u64, measured: Vec<f64>) -> String {
    let error = |one: &f64| (one / limit as f64 - 1.0) * 100.0;
    let worst = measured.iter().map(error);
    let worst = worst
        .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        .unwrap_or(0.0);
    format!(
        "{:.1} | {worst:+.1} %",
        median::median(measured.into_iter())
    )
}
