//! Flags: caveats on a trial's figures.

use crate::text::word::words;
use serde::{Deserialize, Serialize};

/// A caveat on the figures, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    pub kind: FlagKind,
    pub text: String,
}

words! {
    /// What a flag is about; a stable word in JSON and SQLite.
    FlagKind {
        /// The audit after the load failed: the target's data is inconsistent.
        AuditFailed = "audit_failed",
        /// The server reads the statements of sessions in another character set than the UTF-8 that they are in.
        CharsetIgnored = "charset_ignored",
        /// The clients' network link was full, so the server was not the limit.
        ClientsLink = "clients_link",
        ClientsLost = "clients_lost",
        /// The wall clock was set during the trial.
        ClockStepped = "clock_stepped",
        /// Text columns have other collations on the servers that are compared.
        CollationsDiffer = "collations_differ",
        /// The hypervisor took more than 1 % of the CPU time.
        CpuSteal = "cpu_steal",
        /// On an external server, the tables are not quite those that were loaded.
        DataMoved = "data_moved",
        /// The buffer pool was sized to hold the data, and did not.
        DataNotHeld = "data_not_held",
        /// The clients keep more operations in flight than the queue of the device holds.
        DeeperThanQueue = "deeper_than_queue",
        /// Direct I/O went through the page cache or never reached the device, so the disk was not measured.
        DirectIoCached = "direct_io_cached",
        EngineLimit = "engine_limit",
        EventFailed = "event_failed",
        /// An event left the server changed, so that no other trial may use it.
        EventLeft = "event_left",
        EventMissed = "event_missed",
        /// Events of the user's tables did not run during the measurement.
        EventsOff = "events_off",
        /// Files that should grow, or have unwritten blocks, were written over.
        FilesOverwritten = "files_overwritten",
        /// Other clients used the server during the load, or a proxy sent statements to other servers: its counters are not those of the load.
        ForeignClients = "foreign_clients",
        /// The frequency governor or its limit changed, or heat slowed a CPU down.
        FrequencyChanged = "frequency_changed",
        /// The load generator itself did not run for a part of the load.
        GeneratorStalled = "generator_stalled",
        /// More than 1 % of the operations of a name changed no row or found none, or a query of the user's found none in any round.
        NoEffect = "no_effect",
        /// More than 1 % of the operations of a name caused warnings.
        OperationsWarned = "operations_warned",
        /// The server's query cache answered.
        QueryCache = "query_cache",
        HintIgnored = "hint_ignored",
        /// Some warehouses have no terminal, so a part of the data is hardly used.
        HomesUnused = "homes_unused",
        LimitLost = "limit_lost",
        LimitNotReached = "limit_not_reached",
        /// The run was started with `--no-limits`, and this trial would have had limits.
        LimitsNotApplied = "limits_not_applied",
        /// The data lay on a separate file system on a loop device.
        LoopVolume = "loop_volume",
        /// A round that should have been cold was not.
        Lukewarm = "lukewarm",
        /// The trial did not run at the niceness of its run.
        NiceChanged = "nice_changed",
        NoPlan = "no_plan",
        NotAnalyzed = "not_analyzed",
        /// The server lacks what the trial needs.
        NotAvailable = "not_available",
        /// The data was not compared with what the clients wrote.
        NotAudited = "not_audited",
        /// prony's account may not read a part of the figures.
        NotPermitted = "not_permitted",
        NotPreloaded = "not_preloaded",
        /// The throughput did not return after an outage while it was measured.
        NotRecovered = "not_recovered",
        /// An operation takes longer than the whole load.
        OperationTooLong = "operation_too_long",
        /// More than 1 % of the operations failed, were lost or did not finish.
        OperationsFailed = "operations_failed",
        /// Servers that took turns in slices differ in a setting about time, so that their pauses matter.
        PausesMatter = "pauses_matter",
        /// A query had another plan than before in the same row.
        PlanChanged = "plan_changed",
        PlanUnmet = "plan_unmet",
        /// What brought the device to its steady state, and whether that was reached.
        Preconditioned = "preconditioned",
        QueryFailed = "query_failed",
        /// A query reached the time limit: its time is a lower bound.
        QueryTimedOut = "query_timed_out",
        /// At the end of the load too few nodes ran to continue.
        QuorumLost = "quorum_lost",
        SamplerAbsent = "sampler_absent",
        /// The answer of a search for the maximum rate.
        Search = "search",
        SettingAdjusted = "setting_adjusted",
        /// Somebody changed a setting of a server that prony does not configure.
        SettingChanged = "setting_changed",
        /// A setting of the file is not in force on a server that prony does not configure.
        SettingNotApplied = "setting_not_applied",
        /// Another prony process was loading or measuring. Invalid unless the experiment allows it; older records count such trials.
        SharedMachine = "shared_machine",
        /// One of the shards of the load is missing, began late, or ended early.
        ShardIncomplete = "shard_incomplete",
        /// It took turns with other cells on one server.
        SharedServer = "shared_server",
        /// Operations were not short beside the slices that they ran in.
        SlicesShort = "slices_short",
        /// Buffered I/O on files that the machine's memory holds.
        SmallerThanCaches = "smaller_than_caches",
        Stopped = "stopped",
        SwitchIgnored = "switch_ignored",
        /// The rounds took turns with those of other servers, query by query.
        TookTurns = "took_turns",
        TrialFailed = "trial_failed",
        /// The data lay on a volatile volume, whose speed says nothing about a real disk.
        VolatileVolume = "volatile_volume",
        /// The first hot round was preceded by a pass that read the data into memory and is not counted.
        Warming = "warming",
        /// Operations of the warm-up were still waiting when measuring began.
        WarmUpBacklog = "warm_up_backlog",
        WrongAnswer = "wrong_answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_keeps_its_word_in_json_even_if_it_is_unknown() {
        let read = |json: &str| serde_json::from_str::<Flag>(json).unwrap();
        let known = r#"{"kind":"no_plan","text":""}"#;
        assert_eq!(read(known).kind, FlagKind::NoPlan);
        let other = r#"{"kind":"of_tomorrow","text":""}"#;
        assert_eq!(read(other).kind, FlagKind::Other("of_tomorrow".into()));
        for json in [known, other] {
            assert_eq!(serde_json::to_string(&read(json)).unwrap(), json);
        }
    }
}
