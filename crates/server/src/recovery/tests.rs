//! Excerpts of the logs of real servers that were killed with SIGKILL under a load of updates. The time before each line is when it
//! appeared; lines without a meaning here are left out.

use super::*;

fn read(log: &str) -> RecoveryLog {
    let line = |line: &str| {
        let (at_s, text) = line.trim().split_once(" | ")?;
        Some(LogLine {
            at_s: at_s.parse().unwrap(),
            text: text.to_string(),
        })
    };
    RecoveryLog::from_lines(&log.lines().filter_map(line).collect::<Vec<_>>())
}

fn redo(log: &str) -> (f64, u64) {
    let read = read(log);
    let redo_s = read.redo_s.unwrap();
    ((redo_s * 1000.0).round() / 1000.0, read.redo_bytes.unwrap())
}

#[test]
fn redo_of_mysql_5_5() {
    let log = "
        1.000 | InnoDB: Log scan progressed past the checkpoint lsn 81881038
        1.001 | 261122 17:49:03  InnoDB: Database was not shut down normally!
        1.002 | InnoDB: Starting crash recovery.
        1.003 | InnoDB: Reading tablespace information from the .ibd files...
        1.010 | InnoDB: Restoring possible half-written data pages from the doublewrite
        1.010 | InnoDB: buffer...
        1.120 | InnoDB: Doing recovery: scanned up to log sequence number 87123456
        1.150 | InnoDB: Doing recovery: scanned up to log sequence number 87997923
        1.200 | 261122 17:49:04  InnoDB: Starting an apply batch of log records to the database...
        2.302 | InnoDB: Apply batch completed
        2.400 | 261122 17:49:05  InnoDB: Waiting for the background threads to start
        3.410 | 261122 17:49:06 InnoDB: 5.5.34 started; log sequence number 87997923";
    assert_eq!(redo(log), (1.3, 6_116_885));
    assert_eq!(read(log).doublewrite_pages, Some(0));
}

#[test]
fn redo_and_undo_of_mysql_5_6() {
    let log = "
        0.100 | 2026-11-22 17:50:03 30022 [Note] InnoDB: Log scan progressed past the checkpoint lsn 90242042
        0.101 | 2026-11-22 17:50:03 30022 [Note] InnoDB: Database was not shutdown normally!
        0.102 | 2026-11-22 17:50:03 30022 [Note] InnoDB: Starting crash recovery.
        0.103 | 2026-11-22 17:50:03 30022 [Note] InnoDB: Restoring possible half-written data pages
        0.104 | 2026-11-22 17:50:03 30022 [Note] InnoDB: from the doublewrite buffer...
        9.000 | InnoDB: Doing recovery: scanned up to log sequence number 158398976
        14.00 | 2026-11-22 17:50:17 30022 [Note] InnoDB: Starting an apply batch of log records to the database...
        17.00 | InnoDB: Apply batch completed
        18.00 | InnoDB: Doing recovery: scanned up to log sequence number 163641856
        19.00 | InnoDB: Doing recovery: scanned up to log sequence number 167321286
        19.10 | InnoDB: 2 transaction(s) which must be rolled back or cleaned up
        19.10 | InnoDB: in total 2 row operations to undo
        19.20 | 2026-11-22 17:50:23 30022 [Note] InnoDB: Starting an apply batch of log records to the database...
        20.102 | InnoDB: Apply batch completed
        20.50 | InnoDB: Starting in background the rollback of uncommitted transactions
        20.60 | 2026-11-22 17:50:24 7f59a4f8e6c0  InnoDB: Rolling back trx with id 15896, 1 rows to undo
        20.61 | 2026-11-22 17:50:24 30022 [Note] InnoDB: 128 rollback segment(s) are active.
        20.75 | 2026-11-22 17:50:24 7f59a4f8e6c0  InnoDB: Rollback of non-prepared transactions completed
        20.80 | 2026-11-22 17:50:24 30022 [Note] InnoDB: 5.6.14 started; log sequence number 167321286";
    assert_eq!(redo(log), (20.0, 77_079_244));
    let read = read(log);
    assert_eq!((read.undo_s, read.undo_rows), (Some(0.25), Some(2)));
    assert!(!read.is_rolling_back);
}

#[test]
fn redo_of_mysql_8_0() {
    let log = "
        0.220 | 2026-11-22T17:47:07.065575Z 1 [Note] [MY-013883] [InnoDB] The latest found checkpoint is at lsn = 294233161 in redo log file ./#innodb_redo/#ib_redo78.
        0.221 | 2026-11-22T17:47:07.065628Z 1 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!
        0.225 | 2026-11-22T17:47:07.065632Z 1 [Note] [MY-012552] [InnoDB] Starting crash recovery.
        0.230 | 2026-11-22T17:47:07.076595Z 1 [Note] [MY-013086] [InnoDB] Starting to parse redo log at lsn = 294240869, whereas checkpoint_lsn = 294233161 and start_lsn = 294233088
        0.330 | 2026-11-22T17:47:07.174853Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 299475968
        1.880 | 2026-11-22T17:47:08.719526Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 381663004
        1.890 | 2026-11-22T17:47:08.725055Z 1 [Note] [MY-013083] [InnoDB] Log background threads are being started...
        2.010 | 2026-11-22T17:47:08.858245Z 1 [Note] [MY-012532] [InnoDB] Applying a batch of 3876 redo log records ...
        3.625 | 2026-11-22T17:47:10.472970Z 1 [Note] [MY-012535] [InnoDB] Apply batch completed!";
    assert_eq!(redo(log), (3.4, 87_429_843));
}

#[test]
fn redo_of_mysql_9_7() {
    let log = "
        1.400 | 2026-11-22T17:49:37.120797Z 1 [Note] [MY-013883] [InnoDB] The latest found checkpoint is at lsn = 101421483 in redo log file ./#innodb_redo/#ib_redo19.
        1.405 | 2026-11-22T17:49:37.120857Z 1 [Note] [MY-012552] [InnoDB] Starting crash recovery.
        7.450 | 2026-11-22T17:49:43.171631Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 142557860
        8.855 | 2026-11-22T17:49:44.568984Z 1 [Note] [MY-012535] [InnoDB] Apply batch completed!
        8.970 | 2026-11-22T17:49:44.684239Z 1 [Note] [MY-013083] [InnoDB] Log background threads are being started...";
    assert_eq!(redo(log), (7.45, 41_136_377));
}

#[test]
fn redo_of_mariadb_10_2() {
    let log = "
        0.100 | 2026-11-22 17:48:40 140609923409728 [Note] InnoDB: Starting crash recovery from checkpoint LSN=90582382
        2.000 | 2026-11-22 17:48:42 140609923409728 [Note] InnoDB: Starting final batch to recover 4943 pages from redo log.
        3.100 | 2026-11-22 17:48:43 140609923409728 [Note] InnoDB: 128 out of 128 rollback segments are active.
        3.300 | 2026-11-22 17:48:43 140609923409728 [Note] InnoDB: Waiting for purge to start
        3.310 | 2026-11-22 17:48:43 140609923409728 [Note] InnoDB: 5.7.20 started; log sequence number 97409846";
    assert_eq!(redo(log), (3.0, 6_827_464));
}

#[test]
fn redo_of_mariadb_10_11_and_later() {
    let of_10_11 = "
        0.150 | 2026-11-22 17:47:29 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=79993667
        0.900 | 2026-11-22 17:47:30 0 [Note] InnoDB: End of log at LSN=156869405
        0.905 | 2026-11-22 17:47:30 0 [Note] InnoDB: To recover: 5083 pages
        1.250 | 2026-11-22 17:47:30 0 [Note] InnoDB: 128 rollback segments are active.
        1.400 | 2026-11-22 17:47:30 0 [Note] InnoDB: log sequence number 156869405; transaction id 196256";
    assert_eq!(redo(of_10_11), (1.1, 76_875_738));
    let of_11_8 = "
        0.150 | 2026-11-22 17:48:18 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=79952202
        1.100 | 2026-11-22 17:48:19 0 [Note] InnoDB: End of log at LSN=153713640
        1.105 | 2026-11-22 17:48:19 0 [Note] InnoDB: To recover: 5928 pages
        2.000 | 2026-11-22 17:48:20 0 [Note] InnoDB: Opened 3 undo tablespaces
        2.050 | 2026-11-22 17:48:20 0 [Note] InnoDB: 128 rollback segments in 3 undo tablespaces are active.";
    assert_eq!(redo(of_11_8), (1.9, 73_761_438));
}

#[test]
fn undo_of_mariadb() {
    let of_10_2 = "
        0.100 | 2026-11-22 17:54:31 140043710670656 [Note] InnoDB: Starting crash recovery from checkpoint LSN=90582382
        1.000 | 2026-11-22 17:54:32 140043710670656 [Note] InnoDB: 1 transaction(s) which must be rolled back or cleaned up in total 2 row operations to undo
        2.000 | 2026-11-22 17:54:33 140042862941888 [Note] InnoDB: Starting in background the rollback of recovered transactions
        2.010 | 2026-11-22 17:54:33 140042862941888 [Note] InnoDB: Rolling back trx with id 20803, 2 rows to undo
        2.125 | 2026-11-22 17:54:33 140042862941888 [Note] InnoDB: Rollback of non-prepared transactions completed";
    let read_10_2 = read(of_10_2);
    assert_eq!(
        (read_10_2.undo_s, read_10_2.undo_rows),
        (Some(0.125), Some(2))
    );
    let of_11_8 = "
        0.100 | 2026-11-22 17:54:54 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=79952202
        0.500 | 2026-11-22 17:54:55 0 [Note] InnoDB: 3 transaction(s) which must be rolled back or cleaned up in total 5 row operations to undo
        0.625 | 2026-11-22 17:54:55 0 [Note] InnoDB: 128 rollback segments in 3 undo tablespaces are active.
        0.750 | 2026-11-22 17:54:55 0 [Note] InnoDB: Starting in background the rollback of recovered transactions
        0.800 | 2026-11-22 17:54:55 0 [Note] InnoDB: Rolled back recovered transaction 10144
        1.000 | 2026-11-22 17:54:55 0 [Note] InnoDB: Rollback of non-prepared transactions completed";
    let read_11_8 = read(of_11_8);
    assert_eq!(
        (read_11_8.undo_s, read_11_8.undo_rows),
        (Some(0.25), Some(5))
    );
}

#[test]
fn a_clean_start_has_no_recovery() {
    let log = "
        0.1 | 2026-11-22 17:47:19 0 [Note] InnoDB: 128 rollback segments are active.
        0.2 | 2026-11-22 17:47:19 0 [Note] InnoDB: log sequence number 59264; transaction id 38";
    assert_eq!(read(log), RecoveryLog::default());
    assert!(read(log).numbers().is_empty());
}

#[test]
fn numbers_that_the_log_does_not_give_are_absent() {
    let log = "
        0.1 | InnoDB: Starting crash recovery.
        0.2 | InnoDB: Starting in background the rollback of uncommitted transactions";
    let read = read(log);
    assert!(read.is_rolling_back);
    let names: Vec<String> = read.numbers().into_keys().collect();
    assert_eq!(names, ["doublewrite_pages"]);
}
