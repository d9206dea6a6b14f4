//! `prony server list`

use crate::cli::failure::Failure;
use host::Home;
use server::{Cache, Held, build_names};

pub(super) fn run() -> Result<(), Failure> {
    let home = Home::from_environment().map_err(Failure::usage)?;
    let held = Cache::new(&home).held();
    for name in build_names() {
        println!("{}", line(name, held.iter().find(|held| held.name == name)));
    }
    Ok(())
}

/// `mysql@5.6.14     cached    88 MB`
fn line(name: &str, held: Option<&Held>) -> String {
    match held {
        Some(held) => format!("{name:<16} cached {:>6} MB", held.bytes / 1_000_000),
        None => format!("{name:<16} not cached"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_which_builds_are_cached() {
        let held = Held {
            name: "mariadb".into(),
            origin: Vec::new(),
            bytes: 88_400_000,
        };
        assert_eq!(
            line("mariadb", Some(&held)),
            "mariadb          cached     88 MB"
        );
        assert_eq!(line("mysql@5.6.14", None), "mysql@5.6.14     not cached");
    }
}
