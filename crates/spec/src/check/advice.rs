//! Advice about a valid file, shown before it runs.
//!
//! Boundaries: mistakes, which stop a run, are in `file::mistake`.

use super::traces;
use crate::experiment::{Experiment, FactorSpec, LevelSpec, RoundKind, ServerSpec};
use crate::load::ArrivalsSpec;
use crate::text::unit::duration_text;
use record::LoadFactor;

/// Returns advice about a valid experiment, one sentence each.
pub fn advice(experiment: &Experiment) -> Vec<String> {
    let series = LoadFactor::ALL.into_iter().filter(|one| one.is_count());
    let series = series.filter_map(|factor| begins_above_one(experiment, factor.name()));
    let cut = traces::cut(experiment);
    let remarks = experiment.remarks.iter().cloned();
    remarks
        .chain(series)
        .chain(needless_series(experiment))
        .chain(begins_hot(experiment))
        .chain(same_servers(experiment))
        .chain(cut)
        .chain(cut_ramps(experiment))
        .collect()
}

/// Ramps that are longer than their load, which ends before it has the rate that they name.
fn cut_ramps(experiment: &Experiment) -> Vec<String> {
    let ends = experiment.protocol.driven();
    let arrivals = traces::arrivals(experiment).into_iter();
    let cut = arrivals.filter_map(|(_, arrivals)| match arrivals {
        ArrivalsSpec::Ramp { to, over } if over > ends => Some(format!(
            "the ramp does not reach {to} operations per second: it takes {}, and the load ends after {}",
            duration_text(over),
            duration_text(ends)
        )),
        _ => None,
    });
    cut.collect()
}

/// Nothing has read the data before the first hot round.
fn begins_hot(experiment: &Experiment) -> Option<String> {
    let first = experiment.protocol.rounds.first();
    (!experiment.protocol.is_timed() && first == Some(&RoundKind::Hot)).then(|| {
        "the rounds begin with a hot one: where it finds its data on disk, it runs once more and is not counted"
            .to_string()
    })
}

/// The first two servers that differ in their names alone, and that no level tells apart.
fn same_servers(experiment: &Experiment) -> Option<String> {
    let of_servers = |level: &LevelSpec| {
        let mut only = level.only.iter();
        !level.on.is_empty() || only.any(|(factor, _)| factor == "server")
    };
    let mut levels = experiment.factors.iter().flat_map(|factor| &factor.levels);
    if levels.any(of_servers) {
        return None;
    }
    let mut servers = experiment.servers.iter().enumerate();
    servers.find_map(|(place, one)| {
        let is_same = |other: &&ServerSpec| {
            let renamed = ServerSpec {
                name: one.name.clone(),
                dataset_from: one.dataset_from.clone(),
                ..(*other).clone()
            };
            renamed == *one && have_one_dataset(one, other)
        };
        let other = experiment.servers[..place].iter().find(is_same)?;
        Some(format!(
            "the servers \"{}\" and \"{}\" are the same, {}, with the same settings: a difference between them is noise (A/A); if you mean another server, write its build or DSN",
            other.name, one.name, one.build
        ))
    })
}

/// A series of one load is a single trial. The command line may have left one of several.
fn needless_series(experiment: &Experiment) -> Option<String> {
    let is_list =
        |factor: &FactorSpec| LoadFactor::named(&factor.name).is_some() && factor.levels.len() > 1;
    let has_several = experiment.search().is_some() || experiment.factors.iter().any(is_list);
    (experiment.protocol.series && !has_several).then(|| {
        "series = true has no effect: only trials of a list of clients, workers or rates share a started server"
            .to_string()
    })
}

/// Whether neither of two servers that are alike begins with what a third one has loaded, or both do.
fn have_one_dataset(one: &ServerSpec, other: &ServerSpec) -> bool {
    let is_of_both = |server: &ServerSpec| {
        let from = server.dataset_from.as_ref();
        from.is_none_or(|from| [&one.name, &other.name].contains(&from))
    };
    one.dataset_from == other.dataset_from || is_of_both(one) && is_of_both(other)
}

/// Without a trial with one client there is no baseline for how well the others scale.
fn begins_above_one(experiment: &Experiment, factor: &str) -> Option<String> {
    let spec = experiment.factors.iter().find(|spec| spec.name == factor)?;
    let several = spec.levels.len() > 1 && spec.levels.iter().all(|level| level.name != "1");
    several.then(|| {
        format!("the series of {factor} does not begin at 1, so it does not show how much a single one achieves")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::read_on_server;

    #[test]
    fn two_servers_that_differ_in_their_names_alone_are_named() {
        let notes = |a: &str, b: &str, levels: &str| {
            let source = format!(
                "title = 't'\n[server.a]\n{a}\n[server.b]\n{b}\n{levels}\n[workload.oltp]\n[protocol]\ntime = '60s'\n"
            );
            advice(&read_on_server(&source).unwrap()).join("\n")
        };
        let (dsn, build) = ("build = 'mysql://u:secret@h/s'", "build = 'mariadb'");
        let said = notes(dsn, dsn, "");
        let expected = "the servers \"a\" and \"b\" are the same, mysql://u@h:3306/s, with";
        assert!(
            said.contains(expected) && !said.contains("secret"),
            "{said}"
        );
        assert!(notes(build, build, "").contains("(A/A)"));
        assert_eq!(notes(dsn, "build = 'mysql://u@other/s'", ""), "");
        let sized = "build = 'mariadb'\nsettings = { sort_buffer_size = '1M' }";
        assert_eq!(notes(build, sized, ""), "");
        let of_c = format!("dataset_from = 'c'\n{build}\n[server.c]\n{sized}");
        assert_eq!(notes(build, &of_c, ""), "");
        let of_a = format!("dataset_from = 'a'\n{build}");
        assert!(notes(build, &of_a, "").contains("(A/A)"));
        let level = "[factor.f.x]\non.b.settings = { sort_buffer_size = '1M' }\n";
        assert_eq!(notes(build, build, level), "");
    }

    #[test]
    fn a_ramp_that_is_longer_than_its_load_is_named() {
        let notes = |over: &str| {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n[load.open]\nrate = 100\n\
                 arrivals = {{ ramp = {{ to = 2000, over = '{over}' }} }}\n[protocol]\ntime = '60s'\n"
            );
            advice(&read_on_server(&source).unwrap()).join("\n")
        };
        let says = "the ramp does not reach 2000 operations per second: it takes 2m, and the load ends after 1m";
        assert_eq!(notes("120s"), says);
        assert_eq!(notes("60s"), "");
    }

    #[test]
    fn a_series_of_one_load_has_no_effect() {
        let notes = |load: &str| {
            let source = format!(
                "title = 't'\n[server.a]\nbuild = 'mariadb'\n[workload.oltp]\n{load}\n\
                 [protocol]\ntime = '60s'\nseries = true\n"
            );
            let advice = advice(&read_on_server(&source).unwrap()).into_iter();
            advice.filter(|note| note.contains("series = true")).count()
        };
        assert_eq!(notes(""), 1);
        assert_eq!(notes("[factor.crowd.big]\nload = { clients = 64 }"), 1);
        assert_eq!(notes("[load.closed]\nclients = [1, 8]"), 0);
        assert_eq!(notes("[load.open]\nrate = '60% of max'"), 0);
        let search = "find = { max_rate = [1, 2], where = 'p99 <= 10ms' }";
        assert_eq!(notes(&format!("[load.open]\n{search}")), 0);
    }
}
