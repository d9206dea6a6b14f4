//! A server on an empty data folder, with an option file for clients: the common part of `start` and `shell`.
//!
//! Purpose: nothing is left when it ends, and the password is in one file that only this user can read.

use crate::cli::failure::{Failure, Status};
use crate::cli::setting::setting;
use crate::run::prepare::layout::of_files;
use crate::screen::say;
use host::{Home, Lease, Leases, interrupt};
use server::{Cache, Distribution};
use server::{Managed, Node, ServerError, StartRequest};
use spec::BuildSpec;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Build: mysql@5.6.14, mariadb, mariadb@11.4.5, path:BASEDIR, ...
    build: BuildSpec,
    /// Setting that the server starts with; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
}

/// A server that runs until it is stopped or dropped.
pub(super) struct Instance {
    pub server: Managed,
    pub distribution: Distribution,
    /// Holds all files of the instance. Removed when the instance ends.
    folder: Lease,
}

impl Instance {
    /// Gets the build, creates a data folder below `work/NAME-...` and starts the server. Ctrl-C and SIGTERM then request a stop.
    pub(super) fn start(args: &Args, name: &str) -> Result<Instance, Failure> {
        interrupt::install().map_err(Failure::failed)?;
        let home = Home::from_environment().map_err(Failure::usage)?;
        let leases = crate::cli::leases(&home)?;
        let begun = Instance::begin(args, name, &home, &leases);
        // An error after an interruption is a result of the interruption.
        begun.map_err(|mut failure| {
            if interrupt::asked() {
                failure.status = Status::Interrupted;
            }
            failure
        })
    }

    fn begin(args: &Args, name: &str, home: &Home, leases: &Leases) -> Result<Instance, Failure> {
        let distribution = Cache::new(home)
            .get(&args.build, leases, &say)
            .map_err(Failure::usage)?;
        let folder = leases.temporary(name).map_err(Failure::failed)?;
        let data_folder = folder.path().join("data");
        distribution
            .initialise(leases, &data_folder, &of_files(&args.set))
            .map_err(Failure::failed)?;
        let server = Managed::new(
            distribution.clone(),
            leases.clone(),
            folder.path().join("instance"),
        );
        server
            .start(&StartRequest {
                data_folder,
                settings: args.set.clone(),
                groups: Vec::new(),
            })
            .map_err(Failure::failed)?;
        let instance = Instance {
            server,
            distribution,
            folder,
        };
        instance
            .server
            .write_option_file(&instance.option_file())
            .map_err(Failure::failed)?;
        Ok(instance)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Holds user, password and socket for the server's clients (mode 0600).
    pub(super) fn option_file(&self) -> PathBuf {
        self.folder.path().join("client.cnf")
    }

    /// Shuts the server down cleanly. Fails if the server had already ended.
    pub(super) fn stop(self) -> Result<(), ServerError> {
        self.server.stop()
    }
}
