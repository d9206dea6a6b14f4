//! `prony server get BUILD`

use crate::cli::failure::Failure;
use crate::screen::say;
use host::Home;
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
    let leases = crate::cli::leases(&home)?;
    let cache = Cache::new(&home);
    let found = if args.verify {
        cache.get_verified(&args.build, &leases, &say)
    } else {
        cache.get(&args.build, &leases, &say)
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
