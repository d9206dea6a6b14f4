//! Warnings of statements that load: values that the server did not store as they were given.
//!
//! Purpose: a number that was clipped or a name that was cut is an error, in strict mode or not. Boundaries: the caller names the file
//! and the line.

use server::{Reply, ServerError, Session};

/// Warnings that concern the wording of a statement, or objects that are there or not, never the stored rows.
const HARMLESS: [u16; 20] = [
    1050, // the table exists
    1051, // unknown table in DROP IF EXISTS
    1246, // a column was converted to a type of its size
    1280, // the name of a primary key is ignored
    1287, // deprecated syntax
    1305, // unknown routine in DROP IF EXISTS
    1360, // unknown trigger in DROP IF EXISTS
    1449, // the definer does not exist
    1592, // unsafe for the binary log
    1618, // an option that the server ignores
    1681, // deprecated
    1831, // duplicate index
    1911, // unknown option
    3090, // a change of sql_mode is deprecated
    3129, // sql_mode was changed
    3135, // modes that belong to strict mode
    3674, // a spatial index that the optimizer does not use
    3719, // utf8 is an alias
    3720, // NATIONAL is an alias
    3778, // a deprecated collation
];
/// A table option that the engine ignores: harmless, unless a setting is the reason, and the table is stored in another row format or
/// without compression.
///
/// Source: `storage/innobase/handler/ha_innodb.cc` of MySQL 5.6.
const OPTION_IGNORED: u16 = 1478;
/// As in "InnoDB: ROW_FORMAT=COMPRESSED requires innodb_file_format > Antelope."
const BY_SETTING: &str = "requires innodb_file";
/// Data truncated for a column. As a note: digits or a time of day that the column has no place for.
const TRUNCATED: u16 = 1265;

/// Bytes that are no text of the connection: written down, as for a BLOB; a text column that does not take them has 1366. Where they are
/// computed, as by CONVERT(a USING utf8mb4), the result is NULL.
const NO_TEXT: u16 = 1300;

/// Warnings of older codes are in [`HARMLESS`].
const NEW: u16 = 3000;

/// Where the values of a statement come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// They are written down, so they are to be stored as they are.
    Given,
    /// A setup may compute them; a result that is rounded to its column is what was requested.
    Computed,
}

/// What the server says of a value that it did not store as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub code: u16,
    pub message: String,
}

/// The first loss of the last statement.
///
/// # Errors
/// The warnings cannot be read.
pub(crate) fn loss(session: &mut Session, values: Values) -> Result<Option<Loss>, ServerError> {
    if session.warnings() == 0 {
        return Ok(None);
    }
    let shown = session.control(|session| session.query("SHOW WARNINGS"))?;
    Ok(first(&shown, values))
}

/// # Errors
/// A generated value was not stored as it is.
pub(super) fn refuse_losses(session: &mut Session) -> Result<(), ServerError> {
    match loss(session, Values::Given)? {
        None => Ok(()),
        Some(Loss { code, message }) => Err(ServerError::Refused { code, message }),
    }
}

fn first(shown: &Reply, values: Values) -> Option<Loss> {
    if shown.rows.is_empty() {
        return Some(Loss {
            code: 0,
            message: "the statement has warnings, and the server does not show them (max_error_count = 0)".into(),
        });
    }
    let losses = (0..shown.rows.len()).filter_map(|row| {
        let (level, message) = (shown.text(row, 0)?, shown.text(row, 2)?);
        let code: u16 = shown.text(row, 1)?.parse().ok()?;
        let is_loss = match level.as_str() {
            "Note" => values == Values::Given && code == TRUNCATED,
            _ if code == OPTION_IGNORED => message.contains(BY_SETTING),
            _ if code == NO_TEXT => values == Values::Computed,
            _ => !HARMLESS.contains(&code) && !is_about_syntax(code, &message),
        };
        is_loss.then_some(Loss { code, message })
    });
    losses.into_iter().next()
}

/// Whether a warning says that something is deprecated. A value or a column may have the word too.
fn is_about_syntax(code: u16, message: &str) -> bool {
    code >= NEW && message.contains("deprecated") && !message.contains("for column")
}

impl Loss {
    /// The row of the statement or the file, from `... at row 3`, `Row 3 was truncated`.
    pub(crate) fn row(&self) -> Option<u64> {
        let is_sign = |sign: char| !sign.is_ascii_alphanumeric();
        let words: Vec<&str> = self.message.split(is_sign).collect();
        let mut rows = words.windows(2).rev();
        rows.find_map(|pair| {
            if pair[0].eq_ignore_ascii_case("row") {
                pair[1].parse().ok()
            } else {
                None
            }
        })
    }

    /// A sentence with the way out.
    pub(crate) fn says(&self) -> String {
        let fix = match self.code {
            OPTION_IGNORED => {
                "write innodb_file_format = \"Barracuda\" and innodb_file_per_table = 1 into the settings of this server, or remove the option from the table"
            }
            _ => "correct the value or the column",
        };
        format!(
            "the server says {} {}: what it stored differs from what is written; {fix}, or accept it with --accept-warnings (accept_warnings = true)",
            self.code, self.message
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[(&str, &str, &str)]) -> Reply {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        Reply {
            rows: rows
                .iter()
                .map(|(level, code, message)| vec![cell(level), cell(code), cell(message)])
                .collect(),
            ..Reply::default()
        }
    }

    fn code(rows: &[(&str, &str, &str)], values: Values) -> Option<u16> {
        first(&shown(rows), values).map(|loss| loss.code)
    }

    #[test]
    fn a_value_that_was_changed_is_a_loss_and_words_about_the_statement_are_none() {
        let harmless = [
            ("Note", "1051", "Unknown table 't'"),
            ("Warning", "1681", "Integer display width is deprecated"),
            ("Warning", "1478", "InnoDB: assuming ROW_FORMAT=COMPACT."),
            (
                "Warning",
                "3674",
                "The spatial index on column 'p' will not be used by the query optimizer",
            ),
            ("Warning", "9999", "'x' is deprecated and will be removed"),
        ];
        assert_eq!(code(&harmless, Values::Given), None);
        for lost in ["1264", "1265", "1366", "1406", "1292", "1062", "1048"] {
            let rows = [&harmless[..], &[("Warning", lost, "at row 1")]].concat();
            assert_eq!(code(&rows, Values::Computed), lost.parse().ok());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_a_loss_where_they_are_computed() {
        let warned = [("Warning", "1300", "Invalid utf8 character string: 'FF'")];
        assert_eq!(code(&warned, Values::Given), None);
        assert_eq!(code(&warned, Values::Computed), Some(1300));
    }

    #[test]
    fn a_column_or_a_value_may_have_the_word_deprecated() {
        for (lost, message) in [
            ("1265", "Data truncated for column 'deprecated' at row 1"),
            ("1292", "Truncated incorrect INTEGER value: 'deprecated'"),
            ("3140", "Invalid JSON text for column 'deprecated'"),
        ] {
            let rows = [("Warning", lost, message)];
            assert_eq!(code(&rows, Values::Given), lost.parse().ok());
        }
    }

    #[test]
    fn a_row_format_that_a_setting_forbids_is_a_loss_with_the_setting() {
        let says = "InnoDB: ROW_FORMAT=COMPRESSED requires innodb_file_format > Antelope.";
        let warned = [("Warning", "1478", says)];
        let loss = first(&shown(&warned), Values::Computed).unwrap();
        assert!(loss.says().contains("Barracuda"), "{}", loss.says());
    }

    #[test]
    fn digits_without_a_place_are_a_loss_unless_they_were_computed() {
        let note = [("Note", "1265", "Data truncated for column 'a' at row 1")];
        assert_eq!(code(&note, Values::Given), Some(1265));
        assert_eq!(code(&note, Values::Computed), None);
    }

    #[test]
    fn warnings_that_the_server_does_not_show_are_a_loss() {
        assert_eq!(code(&[], Values::Computed), Some(0));
    }

    #[test]
    fn the_row_is_the_one_that_the_message_ends_with() {
        let row = |message: &str| {
            let loss = Loss {
                code: 1366,
                message: message.into(),
            };
            loss.row()
        };
        assert_eq!(
            row("Incorrect value: 'row 9' for column 'a' at row 3"),
            Some(3)
        );
        assert_eq!(row("Row 7 was truncated"), Some(7));
        assert_eq!(row("Something else"), None);
    }
}
