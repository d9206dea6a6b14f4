//! Explains load failures to the user.

use super::Table;
use super::tally::Tally;
use super::watch::Outcome;
use crate::LoadError;
use server::ServerError;

pub(super) struct Faults<'a> {
    pub tables: &'a [Table],
    pub tally: &'a Tally,
    pub data_bytes: u64,
}

impl Faults<'_> {
    pub(super) fn unless_done(&self, outcome: Outcome) -> Result<(), LoadError> {
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Cancelled => Err(self.cancelled()),
            Outcome::Stalled { idle_s } => Err(self.stalled(idle_s)),
            Outcome::Failed(failure) => Err(self.explain(failure.table, failure.error)),
        }
    }

    pub(super) fn explain(&self, table: usize, error: ServerError) -> LoadError {
        let (name, rows, rows_total) = (
            self.tables[table].name.clone(),
            self.tally.sent_of(table),
            self.tables[table].rows,
        );
        let cause = error.to_string();
        match error {
            ServerError::Refused { code, message } if is_full(code, &message) => LoadError::Full {
                table: name,
                rows,
                rows_total,
                cause,
                need_mb: self.need_mb(),
            },
            ServerError::Refused { .. } => LoadError::Refused {
                table: name,
                rows,
                rows_total,
                cause,
            },
            ServerError::Lost(_) | ServerError::Unusable(_) | ServerError::NotStarted { .. } => {
                LoadError::Died {
                    table: name,
                    rows,
                    rows_total,
                    cause,
                }
            }
        }
    }

    pub(super) fn cancelled(&self) -> LoadError {
        LoadError::Cancelled {
            rows: self.tally.sent(),
            rows_total: self.tally.total(),
        }
    }

    pub(super) fn stalled(&self, idle_s: f64) -> LoadError {
        let table = self.tally.at();
        LoadError::Stalled {
            table: self.tables[table].name.clone(),
            rows: self.tally.sent_of(table),
            rows_total: self.tables[table].rows,
            idle_s,
        }
    }

    /// Compares the rows that the server reported with those generated, since LOCAL silently drops duplicate keys.
    pub(super) fn all_rows_are_in(&self) -> Result<(), LoadError> {
        for (n, table) in self.tables.iter().enumerate() {
            let rows = self.tally.done_of(n);
            if rows != table.rows {
                let says = format!("the server stored {rows} of {} rows", table.rows);
                return Err(LoadError::Wrong {
                    table: table.name.clone(),
                    says,
                });
            }
        }
        Ok(())
    }

    /// Disk space for the remaining rows; without any, for the index build, which takes up to half of the data with its sort.
    fn need_mb(&self) -> u64 {
        let left = self.tally.total().saturating_sub(self.tally.sent());
        let share = match left {
            0 => 0.5,
            rows => rows as f64 / self.tally.total() as f64,
        };
        (self.data_bytes as f64 * share / 1e6).ceil() as u64
    }
}

/// ENOSPC as servers report it: 1114 (InnoDB: table is full), 1021 (MyISAM), 13 (SQLite), or the number 28
/// in the text of an error of the file layer or of the storage engine ([`names_enospc`]).
fn is_full(code: u16, message: &str) -> bool {
    matches!(code, 13 | 1021 | 1114) || names_enospc(message)
}

/// Whether a server's message, or a line of its log, names ENOSPC, which is number 28.
pub fn names_enospc(text: &str) -> bool {
    ["rrcode: 28", "error 28", "No space left", "errno: 28"]
        .iter()
        .any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(error: ServerError) -> String {
        let tables = [Table {
            name: "lineorder".into(),
            columns: 17,
            rows: 6_001_171,
        }];
        let tally = Tally::new(vec![6_001_171]);
        Faults {
            tables: &tables,
            tally: &tally,
            data_bytes: 1_200_000_000,
        }
        .explain(0, error)
        .to_string()
    }

    #[test]
    fn a_full_disk_is_recognised_in_every_form() {
        for (code, message) in [
            (1114, "The table 'lineorder' is full"),
            (
                1021,
                "Disk full (/tmp/#sql); waiting for someone to free some space...",
            ),
            (1030, "Got error 28 from storage engine"),
            (
                3,
                "Error writing file './prony_ssb/lineorder.MYD' (Errcode: 28)",
            ),
            (
                1026,
                "Error writing file 'lineorder' (errno: 28 - No space left on device)",
            ),
            (13, "database or disk is full"),
        ] {
            let message = explain(ServerError::Refused {
                code,
                message: message.into(),
            });
            assert!(
                message.starts_with(
                    "the server is out of disk space: lineorder had 0 of 6001171 rows"
                ),
                "{message}"
            );
            assert!(message.contains("Free about 1200 MB"), "{message}");
        }
    }

    #[test]
    fn other_refusals_keep_the_message_of_the_server() {
        let message = explain(ServerError::Refused {
            code: 1142,
            message: "INSERT command denied".into(),
        });
        assert_eq!(
            message,
            "the server refused lineorder after 0 of 6001171 rows: 1142 INSERT command denied"
        );
    }

    #[test]
    fn a_server_that_dies_is_reported_with_the_loaded_rows() {
        let message = explain(ServerError::Lost("connection reset".into()));
        assert!(message.starts_with("the server was lost while loading lineorder, after 0 of 6001171 rows (connection reset)"), "{message}");
    }
}
