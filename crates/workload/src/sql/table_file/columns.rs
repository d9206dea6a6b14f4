//! The columns of a table, as far as loading a file needs them.

use super::TableFile;
use super::exact::{Exact, word_and_rest};
use crate::LoadError;
use crate::sql::own_schema;
use crate::sql::user_file::file_name;
use server::Session;

/// How a text is compared after it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Any text stays as it is.
    Text,
    /// Spaces at the end are not kept: CHAR.
    Padded,
    Bytes,
    /// The server gives the value another form.
    Not,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub compared: Compared,
    pub exact: Exact,
    /// LOAD DATA would store the digits themselves in a BIT column: 5 as the 53 of its letter.
    pub is_bit: bool,
    /// A TIMESTAMP that is NOT NULL, where servers store the current time for NULL, depending on explicit_defaults_for_timestamp.
    pub is_stamped: bool,
    /// Computed by the server, which takes no value for it.
    pub is_generated: bool,
    /// Not in `SELECT *`.
    pub is_invisible: bool,
}

impl Column {
    /// `column_type` (`char(9)`) and `extra` as information_schema has them.
    pub(super) fn new(name: &str, column_type: &str, extra: &str) -> Column {
        let (data_type, _) = word_and_rest(column_type);
        let compared = match data_type.to_ascii_lowercase().as_str() {
            "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Compared::Text,
            "char" => Compared::Padded,
            "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Compared::Bytes,
            _ => Compared::Not,
        };
        // MySQL 8 calls a default that is an expression DEFAULT_GENERATED.
        let extra = extra.to_ascii_uppercase().replace("DEFAULT_GENERATED", "");
        let generated = ["GENERATED", "VIRTUAL", "PERSISTENT"];
        let is_generated = generated.iter().any(|word| extra.contains(word));
        Column {
            name: name.to_string(),
            compared,
            exact: if is_generated {
                Exact::Any
            } else {
                Exact::from_column_type(column_type)
            },
            is_bit: data_type.eq_ignore_ascii_case("bit"),
            is_stamped: false,
            is_generated,
            is_invisible: extra.contains("INVISIBLE"),
        }
    }

    /// In a file with tabs a BIT column has the bytes of its number, as servers write them.
    pub(super) fn takes_bytes(&mut self) {
        if self.is_bit && !self.is_generated {
            self.exact = Exact::Bits;
        }
    }
}

/// # Errors
/// The setup has not created the table.
pub(super) fn read(session: &mut Session, file: &TableFile) -> Result<Vec<Column>, LoadError> {
    let failed = LoadError::during("The columns of the table cannot be read");
    let sql = format!(
        "SELECT column_name, column_type, extra, is_nullable FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '{}' ORDER BY ordinal_position",
        file.table
    );
    let reply = session.query(&sql).map_err(&failed)?;
    let text = |row, column| reply.text(row, column).unwrap_or_default();
    let column = |row| {
        let is_timestamp = text(row, 1).to_ascii_lowercase().starts_with("timestamp");
        let column = Column::new(&text(row, 0), &text(row, 1), &text(row, 2));
        Column {
            is_stamped: is_timestamp && text(row, 3) == "NO" && !column.is_generated,
            ..column
        }
    };
    let columns: Vec<Column> = (0..reply.rows.len()).map(column).collect();
    if !columns.is_empty() {
        return Ok(columns);
    }
    let tables = own_schema::loaded_tables(session).map_err(failed)?;
    Err(LoadError::Written {
        place: format!("load.{}", file.table),
        says: format!(
            "there is no such table for {}; the setup or the dump created {}",
            file_name(&file.path),
            if tables.is_empty() {
                "none".to_string()
            } else {
                tables.join(", ")
            }
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    #[test]
    fn a_timestamp_that_is_not_null_is_stamped() {
        let row = |cells: [&str; 4]| cells.map(|cell| Some(cell.as_bytes().to_vec())).to_vec();
        let rows = vec![
            row(["a", "timestamp", "", "NO"]),
            row(["b", "timestamp(3)", "", "YES"]),
            row(["c", "datetime", "", "NO"]),
        ];
        let mut session = Session::Scripted(Box::new(move |_: &str| {
            Ok(Reply {
                rows: rows.clone(),
                ..Reply::default()
            })
        }));
        let file = TableFile {
            table: "t".into(),
            path: "t.csv".into(),
            ..TableFile::default()
        };
        let columns = read(&mut session, &file).unwrap();
        let stamped: Vec<bool> = columns.iter().map(|column| column.is_stamped).collect();
        assert_eq!(stamped, [true, false, false]);
    }
}
