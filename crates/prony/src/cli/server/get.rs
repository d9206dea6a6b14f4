//! `prony server get BUILD`

use crate::cli::failure::Failure;
use host::{Home, Leases};
use server::Cache;
use spec::BuildSpec;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Build: mysql@5.6.14, mariadb, mariadb@11.4.5, path:BASEDIR, ...
    build: BuildSpec,
    /// Verify a cached build: compare every byte with the download
    #[arg(long)]
    verify: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    let leases = Leases::open(&home).map_err(Failure::usage)?;
    let cache = Cache::new(&home);
    let progress = |text: &str| eprintln!("{text}");
    let found = match args.verify {
        true => cache.get_verified(&args.build, &leases, &progress),
        false => cache.get(&args.build, &leases, &progress),
    };
    let found = found.map_err(Failure::usage)?;
    println!(
        "{}: {} in {}",
        found.build,
        found.version_text,
        found.basedir.display()
    );
    Ok(())
}
