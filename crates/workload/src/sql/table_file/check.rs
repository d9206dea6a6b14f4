//! Compares the rows and the texts of a table with what was sent.

use super::TableFile;
use super::columns::{Column, Compared};
use super::encode::{Sent, Texts};
use crate::{LoadError, schema};
use server::{ServerError, Session};

/// The error code of: Unknown character set.
const NO_CHARSET: u16 = 1115;

/// What is compared.
pub(super) struct Check {
    table: String,
    /// The columns of the file.
    columns: Vec<Column>,
    /// A trigger may change the texts.
    has_triggers: bool,
    /// No server answers in tests.
    is_real: bool,
    /// The character set of all texts.
    charset: &'static str,
}

/// A table at one time.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub rows: u64,
    texts: Vec<Option<Texts>>,
}

impl Check {
    pub(super) fn new(
        session: &mut Session,
        file: &TableFile,
        columns: &[Column],
    ) -> Result<Check, LoadError> {
        let failed = LoadError::during("The triggers of the table cannot be read");
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = DATABASE() AND event_object_table = '{}'",
            file.table
        );
        let triggers = session.query(&sql).map_err(&failed)?.first_text();
        let charset = match session.execute("SELECT CONVERT('a' USING utf8mb4)") {
            Ok(_) => "utf8mb4",
            Err(ServerError::Refused { code, .. }) if code == NO_CHARSET => "utf8",
            Err(other) => return Err(failed(other)),
        };
        Ok(Check {
            table: schema::quoted(&file.table),
            columns: columns.to_vec(),
            has_triggers: triggers.is_some_and(|count| count != "0"),
            is_real: !session.is_scripted(),
            charset,
        })
    }

    /// Reads the number of rows, and of each text column the sum of its checksums: the whole table once.
    pub(super) fn read(&self, session: &mut Session) -> Result<Held, LoadError> {
        let failed = LoadError::during("The rows of the table cannot be counted");
        let rows = schema::count(session, &self.table).map_err(&failed)?;
        let mut texts = Texts::none_of(&self.columns);
        if rows == 0 || self.has_triggers || texts.iter().all(Option::is_none) {
            return Ok(Held { rows, texts });
        }
        let reply = session.query(&self.sums()).map_err(failed)?;
        let cell = |at: usize| reply.text(0, at).unwrap_or_default();
        for (n, text) in texts.iter_mut().flatten().enumerate() {
            text.count = cell(2 * n).parse().unwrap_or(0);
            text.sum = cell(2 * n + 1).parse().unwrap_or(0);
        }
        Ok(Held { rows, texts })
    }

    fn sums(&self) -> String {
        let sums = self.columns.iter().filter_map(|column| {
            let name = schema::quoted(&column.name);
            let text = match column.compared {
                Compared::Not => return None,
                Compared::Bytes => name.clone(),
                Compared::Text | Compared::Padded => {
                    format!("CONVERT({name} USING {})", self.charset)
                }
            };
            Some(format!("COUNT({name}), SUM(CRC32({text}))"))
        });
        let sums: Vec<String> = sums.collect();
        format!("SELECT {} FROM {}", sums.join(", "), self.table)
    }

    /// # Errors
    /// Rows are missing or too many, or the texts of a column are not those of the file.
    pub(super) fn compare(
        &self,
        file: &TableFile,
        before: &Held,
        after: &Held,
        sent: &Sent,
    ) -> Result<(), LoadError> {
        if !self.is_real {
            return Ok(());
        }
        if after.rows != before.rows + sent.records {
            return Err(file.says(format!(
                "the file has {} rows, and {} has {} more than before",
                sent.records,
                file.table,
                after.rows.saturating_sub(before.rows)
            )));
        }
        if self.has_triggers {
            return Ok(());
        }
        for (n, column) in self.columns.iter().enumerate() {
            let (Some(before), Some(after), Some(sent)) =
                (before.texts[n], after.texts[n], sent.texts[n])
            else {
                continue;
            };
            if (after.count, after.sum) != (before.count + sent.count, before.sum + sent.sum) {
                return Err(file.says(format!(
                    "the texts of the column {} are not those of the file: its character set may lack letters, or it is too short",
                    column.name
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_stay_as_they_are_have_a_sum() {
        let column = |name, data_type| Column::new(name, data_type, "");
        let check = Check {
            table: "`t`".into(),
            columns: vec![
                column("a", "varchar"),
                column("b", "int"),
                column("c", "blob"),
                column("d", "json"),
            ],
            has_triggers: false,
            is_real: true,
            charset: "utf8mb4",
        };
        assert_eq!(
            check.sums(),
            "SELECT COUNT(`a`), SUM(CRC32(CONVERT(`a` USING utf8mb4))), COUNT(`c`), SUM(CRC32(`c`)) FROM `t`"
        );
    }
}
