//! How exactly a limited disk is limited: what a process of the group gets against what was asked for.
//!
//! Goal: the error of read_iops and write_iops from 100 to 5,000 a second, by the measurement that each trial begins with.
//! Non-goal: the machine's own speed. It takes the folder to measure in, which lies on a disk, and needs root.
//!
//!     cargo bench -p prony --bench limits -- FOLDER [TIMES]

#[path = "../median.rs"]
mod median;

use host::{Group, Home, Leases, Limits, verify};
use std::path::Path;

const ASKED: [u64; 7] = [100, 200, 500, 1000, 2000, 3500, 5000];

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
    println!("| asked | reads: median | worst error | writes: median | worst error |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for asked in ASKED {
        let limits = Limits {
            read_iops: Some(asked),
            write_iops: Some(asked),
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
            "| {asked} | {} | {} |",
            shown(asked, reads),
            shown(asked, writes)
        );
    }
}

/// The median, and the largest error of one measurement in percent.
fn shown(asked: u64, measured: Vec<f64>) -> String {
    let error = |one: &f64| (one / asked as f64 - 1.0) * 100.0;
    let worst = measured.iter().map(error);
    let worst = worst
        .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        .unwrap_or(0.0);
    format!(
        "{:.1} | {worst:+.1} %",
        median::median(measured.into_iter())
    )
}
