//! Which requests a timed load issues.

use record::LoadFactor;
use spec::plan::PlannedTrial;

/// Of the hash FNV-1a with 64 bits, which is the same in every version of prony.
const PRIME: u64 = 0x0100_0000_01b3;

/// The seed of a trial's requests. The trials of a block get the same ones, which makes their ratio less noisy, but for those that find the
/// data as another trial left it: a further load of a series, and any load on a server that prony does not start. The same updates again
/// would set what is already there, and change nothing.
pub(super) fn seed(of_run: u64, planned: &PlannedTrial) -> u64 {
    let key = &planned.key;
    let of_block = of_run.wrapping_add(u64::from(key.block));
    let server = planned.server.as_ref();
    let is_external = server.is_some_and(|server| server.build.is_external());
    let is_of_series = |factor: &str| planned.continues && LoadFactor::named(factor).is_some();
    let levels = key.levels.iter();
    let levels = levels.filter(|(factor, _)| is_external || is_of_series(factor));
    let control = (is_external && key.is_control()).then_some("control");
    let words = levels.flat_map(|(factor, level)| [factor.as_str(), level.as_str()]);
    let bytes = words.chain(control).flat_map(str::bytes);
    bytes.fold(of_block, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Role;

    /// The seeds of the trials of a block and of their controls, each with its server and its clients.
    fn seeds(build: &str, protocol: &str) -> Vec<(String, u64)> {
        let source = format!(
            "title = 't'\n[server.a]\n{build}\n[server.b]\n{build}\n[workload.oltp]\noperations = 'read-write'\n\
             [load.closed]\nclients = [1, 8]\n[protocol]\ntime = '20s'\n{protocol}"
        );
        let experiment = spec::parse("t", "t.toml", &source, &workload::check).unwrap();
        let trials = spec::plan::expand(&experiment, 1).unwrap();
        let block = trials.into_iter().filter(|trial| trial.key.block == 0);
        let both = block.flat_map(|mut trial| {
            let name = format!("{} {}", trial.server_name(), trial.key.levels[0].1);
            let own = seed(7, &trial);
            trial.key.role = Role::Control;
            let control = (format!("{name} control"), seed(7, &trial));
            [(name, own), control]
        });
        both.collect()
    }

    fn of(seeds: &[(String, u64)], name: &str) -> u64 {
        seeds.iter().find(|(found, _)| found == name).unwrap().1
    }

    #[test]
    fn trials_on_fresh_data_get_the_same_requests() {
        let found = seeds("build = 'mariadb'", "");
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|(_, seed)| *seed == 7), "{found:?}");
    }

    #[test]
    fn a_further_load_of_a_series_gets_requests_of_its_own_and_the_same_on_each_server() {
        let found = seeds("build = 'mariadb'", "series = true");
        for server in ["a", "b"] {
            assert_eq!(of(&found, &format!("{server} 1")), 7);
            assert_ne!(of(&found, &format!("{server} 8")), 7);
        }
        assert_eq!(of(&found, "a 8"), of(&found, "b 8"));
    }

    #[test]
    fn every_load_on_an_external_server_gets_requests_of_its_own() {
        let found = seeds("build = 'mysql://u@127.0.0.1:3306'", "");
        let of_a = found.iter().filter(|(name, _)| name.starts_with('a'));
        let mut of_a: Vec<u64> = of_a.map(|(_, seed)| *seed).collect();
        let all = of_a.len();
        of_a.sort();
        of_a.dedup();
        assert_eq!(of_a.len(), all, "{found:?}");
        assert_eq!(of(&found, "a 1"), of(&found, "b 1"));
    }
}
