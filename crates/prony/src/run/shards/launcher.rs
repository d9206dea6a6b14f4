//! Which shard this process is, by the variables of the launcher that started it: `--shard auto`.
//!
//! Purpose: one command line for all processes of a job under Slurm, MPI or Kubernetes. Outside this module: what a shard does. The
//! variables are read with `auto` only, because a plain batch script has them too.
//!
//! Sources: <https://slurm.schedmd.com/srun.html> (output environment variables), <https://docs.open-mpi.org> (mpirun), the PMI of MPICH, and
//! <https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode>.

use spec::{SHARDS_MAX, Shard};

/// The total of a Kubernetes Job, which Kubernetes passes to no container itself.
const TOTAL: &str = "PRONY_SHARDS";

/// The variables of one launcher. Numbers count from 0.
struct Launcher {
    number: &'static str,
    of: &'static str,
    /// The way out where the second one is not set.
    fix: &'static str,
}

#[rustfmt::skip]
const LAUNCHERS: [Launcher; 4] = [
    Launcher { number: "SLURM_PROCID", of: "SLURM_NTASKS", fix: "start prony with srun -n N" },
    Launcher { number: "OMPI_COMM_WORLD_RANK", of: "OMPI_COMM_WORLD_SIZE", fix: "start prony with mpirun -n N" },
    Launcher { number: "PMI_RANK", of: "PMI_SIZE", fix: "start prony with mpiexec -n N" },
    Launcher { number: "JOB_COMPLETION_INDEX", of: TOTAL, fix: "set it to the number of completions in the Job's manifest" },
];

/// Finds the shard in the variables that `variable` returns.
///
/// # Errors
/// No launcher, variables that are incomplete or no numbers, or launchers that disagree: each with the variables and the fix.
pub(crate) fn shard(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let mut found: Option<(&Launcher, Shard)> = None;
    for launcher in &LAUNCHERS {
        let Some(shard) = launcher.shard(variable)? else {
            continue;
        };
        match found {
            None => found = Some((launcher, shard)),
            Some((_, same)) if same == shard => {}
            Some((other, another)) => {
                return Err(format!(
                    "--shard auto: {} and {} say shard {another}, but {} and {} say shard {shard}; unset those of the launcher that did not start prony (env -u {} -u {} ...), or give --shard K/N",
                    other.number, other.of, launcher.number, launcher.of, other.number, other.of
                ));
            }
        }
    }
    found.map(|(_, shard)| shard).ok_or_else(|| {
        let pairs = LAUNCHERS.map(|launcher| format!("{} and {}", launcher.number, launcher.of));
        format!(
            "--shard auto: no launcher has started this process: none of {} is set; start it with srun, mpirun or as an Indexed Job, or give --shard K/N",
            pairs.join(", ")
        )
    })
}

impl Launcher {
    fn shard(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Shard>, String> {
        let Launcher { number, of, fix } = self;
        let Some(index) = variable(number) else {
            return Ok(None);
        };
        let total = variable(of).ok_or_else(|| {
            format!(
                "--shard auto: {number} is {index}, but {of} is not set: {fix}, or give --shard K/N"
            )
        })?;
        let shard = match (index.trim().parse::<u32>(), total.trim().parse::<u32>()) {
            (Ok(index), Ok(total)) if index < total && total <= SHARDS_MAX => Shard {
                number: index + 1,
                of: total,
            },
            _ => {
                return Err(format!(
                    "--shard auto: {number} is \"{index}\" and {of} is \"{total}\": the first has to be a number from 0 and below the second, which is at most {SHARDS_MAX}; {fix}, or give --shard K/N"
                ));
            }
        };
        Ok(Some(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_string())
        };
        shard(&variable).map(|shard| shard.to_string())
    }

    #[test]
    fn each_launcher_numbers_its_processes_from_0() {
        for launcher in &LAUNCHERS {
            let shard = found(&[(launcher.number, "0"), (launcher.of, "4")]);
            assert_eq!(shard.unwrap(), "1/4", "{}", launcher.number);
        }
    }

    #[test]
    fn launchers_that_agree_are_no_contradiction() {
        let both = [
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
            ("PMI_RANK", "2"),
            ("PMI_SIZE", "4"),
        ];
        assert_eq!(found(&both).unwrap(), "3/4");
    }

    #[test]
    fn mpirun_inside_a_batch_script_is_a_contradiction_with_its_way_out() {
        let says = found(&[
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "4"),
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ])
        .unwrap_err();
        assert!(
            says.contains("SLURM_PROCID and SLURM_NTASKS say shard 1/4, but OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say shard 4/4"),
            "{says}"
        );
        assert!(
            says.contains("env -u SLURM_PROCID -u SLURM_NTASKS"),
            "{says}"
        );
    }

    #[test]
    fn no_launcher_half_a_launcher_and_no_number_are_refused() {
        let says = found(&[]).unwrap_err();
        assert!(says.contains("no launcher") && says.contains("JOB_COMPLETION_INDEX"));
        let says = found(&[("JOB_COMPLETION_INDEX", "1")]).unwrap_err();
        assert!(says.contains("PRONY_SHARDS is not set"), "{says}");
        for (index, total) in [("4", "4"), ("x", "4"), ("0", ""), ("-1", "4"), ("0", "0")] {
            let says = found(&[("PMI_RANK", index), ("PMI_SIZE", total)]).unwrap_err();
            assert!(
                says.contains("PMI_RANK") && says.contains("PMI_SIZE"),
                "{says}"
            );
        }
    }
}
