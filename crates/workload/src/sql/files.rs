//! Rows from the user's files, by LOAD DATA LOCAL INFILE.
//!
//! Purpose: a CSV file as other programs write it needs no options, and a wrong value names its file and line. Boundaries: the
//! setup creates the tables; the server parses the rows.

use super::dump;
use super::tables::{file_name, not_opened};
use super::theirs;
use crate::loader::warnings::{self, Loss, Values};
use crate::{LoadError, marker, schema};
use server::{ServerError, Session};
use std::io::{self, BufRead as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A file with the rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    pub table: String,
    pub path: PathBuf,
    /// The clauses of LOAD DATA after the table's name; None: by the file's name.
    pub options: Option<String>,
}

/// How fields and lines end, in the syntax of LOAD DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    separator: char,
    fields: &'static str,
    /// Before the line feed.
    line_end: &'static str,
}

const CSV: Format = Format {
    separator: ',',
    fields: "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'",
    line_end: "",
};
const TSV: Format = Format {
    separator: '\t',
    fields: "FIELDS TERMINATED BY '\\t'",
    line_end: "",
};
/// As dbgen and `prony data` write it.
const TBL: Format = Format {
    separator: '|',
    fields: "FIELDS TERMINATED BY '|'",
    line_end: "|",
};

impl Format {
    /// By the ending of the name, without that of a compression.
    fn of(name: &str) -> Format {
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        match name.rsplit_once('.') {
            Some((_, "tsv" | "txt")) => TSV,
            Some((_, "tbl")) => TBL,
            _ => CSV,
        }
    }

    /// The names in the first line, if they are all columns of the table.
    fn header(&self, first: &str, columns: &[String]) -> Option<Vec<String>> {
        let first = first.trim_start_matches('\u{feff}').trim_end();
        let names = first.split(self.separator);
        let names: Vec<String> = names
            .map(|name| name.trim().trim_matches('"').to_ascii_lowercase())
            .collect();
        let is_column = |name: &String| columns.iter().any(|known| known.to_lowercase() == *name);
        names.iter().all(is_column).then_some(names)
    }

    fn clauses(&self, first: &str, header: Option<&[String]>) -> String {
        let carriage_return = if first.ends_with("\r\n") { "\\r" } else { "" };
        let lines = format!(
            "LINES TERMINATED BY '{}{carriage_return}\\n'",
            self.line_end
        );
        let header = header.map(|names| {
            let names: Vec<String> = names.iter().map(|name| schema::quoted(name)).collect();
            format!(" IGNORE 1 LINES ({})", names.join(", "))
        });
        format!("{} {lines}{}", self.fields, header.unwrap_or_default())
    }
}

impl TableFile {
    /// What identifies the loaded rows.
    pub(super) fn identity(&self) -> [String; 3] {
        let options = self.options.clone().unwrap_or_default();
        [self.table.clone(), options, dump::digest(&self.path)]
    }

    /// Loads the rows. `read` counts the bytes of the file; `accepts`: values may be stored other than they are in the file.
    pub(super) fn load(
        &self,
        session: &mut Session,
        read: Arc<AtomicU64>,
        accepts: bool,
    ) -> Result<(), LoadError> {
        let name = file_name(&self.path);
        let unreadable = |cause: io::Error| not_opened(&self.path, &cause);
        let mut file = dump::open(&self.path, read).map_err(unreadable)?;
        let mut first = Vec::new();
        file.read_until(b'\n', &mut first).map_err(unreadable)?;
        let columns = self.columns(session)?;
        let line = String::from_utf8_lossy(&first);
        let format = Format::of(&name);
        let header = format.header(&line, &columns);
        let clauses = match &self.options {
            Some(options) => options.clone(),
            None => format.clauses(&line, header.as_deref()),
        };
        let sql = format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE {} CHARACTER SET utf8mb4 {clauses}",
            sent_name(&name),
            schema::quoted(&self.table)
        );
        let mut rows = io::Cursor::new(first).chain(file);
        let loaded = session.load(&sql, Box::new(move |to| io::copy(&mut rows, to).map(drop)));
        loaded.map_err(|cause| self.refused(&name, &cause))?;
        let skipped = session.skipped_rows();
        let failed = LoadError::during("The warnings of LOAD DATA cannot be read");
        match warnings::loss(session, Values::Given).map_err(failed)? {
            _ if accepts => Ok(()),
            None if skipped == 0 => Ok(()),
            None => Err(LoadError::Written {
                place: name,
                says: format!(
                    "{skipped} rows have a key that an earlier row of {} has",
                    self.table
                ),
            }),
            Some(loss) => {
                let before = u64::from(self.options.is_none() && header.is_some());
                Err(wrong_row(&name, before, &loss))
            }
        }
    }

    /// # Errors
    /// The setup has not created the table.
    fn columns(&self, session: &mut Session) -> Result<Vec<String>, LoadError> {
        let failed = LoadError::during("The columns of the table cannot be read");
        let sql = format!(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '{}' ORDER BY ordinal_position",
            self.table
        );
        let columns = marker::names(&session.query(&sql).map_err(&failed)?);
        if !columns.is_empty() {
            return Ok(columns);
        }
        let mut tables =
            theirs::names(session, super::tables::SCHEMA, "BASE TABLE").map_err(failed)?;
        tables.retain(|name| name != marker::TABLE);
        Err(LoadError::Written {
            place: format!("load.{}", self.table),
            says: format!(
                "there is no such table for {}; the setup or the dump created {}",
                file_name(&self.path),
                match tables.is_empty() {
                    true => "none".to_string(),
                    false => tables.join(", "),
                }
            ),
        })
    }

    fn refused(&self, name: &str, cause: &ServerError) -> LoadError {
        let fix = match cause.is_local_infile_refused() {
            true => "; ask its owner to SET GLOBAL local_infile = 1, or give the rows in a dump",
            false => "",
        };
        LoadError::Written {
            place: name.to_string(),
            says: format!(
                "the server says {cause}, to the rows of {}{fix}",
                self.table
            ),
        }
    }
}

/// The name of the file in LOAD DATA. The server requests the file by it, and some servers lack characters in names.
fn sent_name(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_graphic() && !matches!(c, '\'' | '\\');
    name.chars()
        .map(|c| if is_plain(&c) { c } else { '_' })
        .collect()
}

/// A row that the server could not store as it is. With LOCAL that is a warning, even in strict mode.
/// `before`: the lines before the first row.
fn wrong_row(name: &str, before: u64, loss: &Loss) -> LoadError {
    let place = match loss.row() {
        Some(row) => format!("{name}:{}", row + before),
        None => name.to_string(),
    };
    LoadError::Written {
        place,
        says: loss.says(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<String> {
        ["id", "Region", "price"].map(String::from).to_vec()
    }

    #[test]
    fn the_name_decides_the_format() {
        for (name, format) in [
            ("orders.csv", CSV),
            ("orders.CSV.gz", CSV),
            ("orders", CSV),
            ("orders.tsv.zst", TSV),
            ("orders.tbl", TBL),
        ] {
            assert_eq!(Format::of(name), format, "{name}");
        }
    }

    #[test]
    fn a_first_line_of_column_names_is_a_header_and_gives_their_order() {
        let header = |line: &str| CSV.header(line, &columns());
        let names = header("\u{feff}\"price\",ID\r\n").unwrap();
        assert_eq!(names, ["price", "id"]);
        assert_eq!(header("1,north,2.5\n"), None);
        assert_eq!(
            CSV.clauses("price,id\r\n", Some(&names)),
            "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n' IGNORE 1 LINES (`price`, `id`)"
        );
        assert_eq!(
            TBL.clauses("1|a|\n", None),
            "FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n'"
        );
    }

    #[test]
    fn a_wrong_value_names_the_line_of_the_file() {
        let says = |before, message: &str| {
            let message = message.to_string();
            let loss = Loss {
                code: 1366,
                message,
            };
            wrong_row("orders.csv", before, &loss).to_string()
        };
        let wrong = says(1, "Incorrect integer value: 'x' for column 'id' at row 3");
        assert!(
            wrong.starts_with("orders.csv:4: the server says 1366 Incorrect integer value: 'x' for column 'id' at row 3: what it stored differs"),
            "{wrong}"
        );
        assert!(says(0, "Row 7 was truncated").starts_with("orders.csv:7: "));
        assert!(says(0, "Something else").starts_with("orders.csv: "));
    }
}
