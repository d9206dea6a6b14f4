//! Rows from the user's files: prony reads the file and sends each row by LOAD DATA LOCAL INFILE.
//!
//! Purpose: the server holds what the file says, to the last row and letter, or the line that is wrong is named. A CSV file as other
//! programs write it needs no options. Boundaries: the setup creates the tables; with `options` the server reads the file itself, and
//! only the rows are counted.

mod check;
mod columns;
mod encode;
mod exact;
mod header;
mod raw;
mod read;

pub(super) use raw::unsaid;

use super::dump;
use super::losses;
use super::user_file::{file_name, not_opened};
use crate::loader::warnings::{self, Values};
use crate::sql_text::lexer::{Lexer, Quoting};
use crate::{LoadError, held, schema};
use check::Check;
use columns::Column;
use encode::{Escapes, Rows, Sent};
use read::{Mistake, Reader, Syntax, ending};
use server::{ServerError, Session};
use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// A file with the rows of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableFile {
    pub table: String,
    pub path: PathBuf,
    /// The clauses of LOAD DATA after the table's name; None: prony reads the file, by its name.
    pub options: Option<String>,
    /// Whether the first line has the names of columns; None: if it looks like that.
    pub header: Option<bool>,
    /// The field without quotes that is NULL; None: `\N`.
    pub null: Option<String>,
    /// What separates the fields, whose form is that of CSV; None: by the file's name.
    pub separator: Option<u8>,
}

/// The sent text has the form that LOAD DATA expects by default, whatever the file has.
const CLAUSES: &str =
    "CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";
/// A 0 in an AUTO_INCREMENT column stays 0, and a value that does not fit is no other one.
const MODE: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'";
/// The same where values may be stored other than they are in the file.
const MODE_ACCEPTING: &str = "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'";
/// The 0 stays, and the server's modes decide the rest.
const MODE_OF_ZERO: &str = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')";

/// The error code of a value that is no geometry in the server's own form.
const NO_GEOMETRY: u16 = 1416;

/// The ends of names of files whose form is another one.
const OTHER_FORMS: [&str; 5] = ["json", "jsonl", "ndjson", "xml", "sql"];

impl TableFile {
    /// What identifies the loaded rows.
    pub(super) fn identity(&self) -> [String; 7] {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        [
            self.table.clone(),
            or_empty(&self.options),
            format!("{:?}", self.header),
            format!("{:?}", self.null),
            format!("{:?}", self.syntax()),
            format!("{:?}", self.separator),
            dump::digest(&self.path),
        ]
    }

    /// Loads the rows, and compares them with what the server has then. `read` counts the bytes of the file; `accepts`: values may be
    /// stored other than they are in the file. Returns the rows of the table.
    ///
    /// # Errors
    /// A line that is wrong, what the server says of it, or rows and texts that are not there.
    pub(super) fn load(
        &self,
        session: &mut Session,
        read: Arc<AtomicU64>,
        accepts: bool,
    ) -> Result<u64, LoadError> {
        let is_other = OTHER_FORMS.contains(&ending(&self.name()).as_str());
        if is_other && self.options.is_none() && self.separator.is_none() {
            return Err(self.says(
                "prony reads rows from CSV, text with tabs and .tbl; write the file as CSV (for JSON jq -r '[.id, .name] | @csv'), or name a file of SQL as the dump (--dump)".into(),
            ));
        }
        let columns = columns::read(session, self)?;
        losses::show_all(session)?;
        let mode = match (&self.options, accepts) {
            (Some(_), _) => MODE_OF_ZERO,
            (None, true) => MODE_ACCEPTING,
            (None, false) => MODE,
        };
        let set = session.execute(mode);
        set.map_err(|cause| self.refused(&cause))?;
        if let Some(options) = &self.options {
            return self.load_raw(session, read, (options, &columns), accepts);
        }
        self.load_rows(session, read, &columns, accepts)
    }

    /// Reads the file here.
    fn load_rows(
        &self,
        session: &mut Session,
        read: Arc<AtomicU64>,
        columns: &[Column],
        accepts: bool,
    ) -> Result<u64, LoadError> {
        let mistaken = |mistake: Mistake| self.mistaken(&mistake);
        let file = dump::open(&self.path, read).map_err(|cause| not_opened(&self.path, &cause))?;
        let syntax = self.syntax();
        let separator = self.separator.unwrap_or(b',');
        let mut reader = Reader::new(file, syntax).separated_by(separator);
        reader.read_first().map_err(mistaken)?;
        let named = header::read(&reader, columns, self).map_err(mistaken)?;
        let is_header = named.is_some();
        let mut wanted = match named {
            Some(named) => named,
            None => header::all(&reader, columns).map_err(mistaken)?,
        };
        if syntax == Syntax::Tsv {
            wanted.iter_mut().for_each(Column::takes_bytes);
        }
        // A header or the line `sep=,` says that commas separate the fields.
        let is_unsaid = self.separator.is_none() && !is_header && reader.line == 1;
        let check = Check::new(session, self, &wanted)?;
        let before = check.read(session)?;
        let sent = Arc::new(Mutex::new(Sent::new(&wanted)));
        let rows = Rows {
            reader,
            is_header,
            null: self.null.as_deref().unwrap_or("\\N").into(),
            is_null_in_doubt: self.null.is_none(),
            are_quotes_in_doubt: syntax == Syntax::Tsv,
            are_commas_in_doubt: syntax == Syntax::Csv && is_unsaid,
            escapes: (syntax == Syntax::Csv && self.null.is_none()).then(Escapes::default),
            columns: wanted.clone(),
            accepts,
            sent: Arc::clone(&sent),
        };
        let sql = self.statement(&format!("{CLAUSES} {}", targets(&wanted, syntax)));
        let loaded = session.load(&sql, Box::new(rows.producer()));
        let sent = std::mem::take(&mut *held(&sent));
        if let Some(mistake) = &sent.mistake {
            return Err(self.mistaken(mistake));
        }
        loaded.map_err(|cause| self.refused(&cause))?;
        if !accepts {
            self.no_warnings(session, |row| sent.line_of(row))?;
        }
        let after = check.read(session)?;
        if !accepts {
            check.compare(self, &before, &after, &sent)?;
        }
        if sent.records == 0 && sent.has_bytes {
            return Err(self.without_rows());
        }
        Ok(after.rows)
    }

    /// Lets the server read the file.
    fn load_raw(
        &self,
        session: &mut Session,
        read: Arc<AtomicU64>,
        (options, columns): (&str, &[Column]),
        accepts: bool,
    ) -> Result<u64, LoadError> {
        let failed = LoadError::during("The rows of the table cannot be counted");
        let opened = dump::open(&self.path, read);
        let mut file = opened.map_err(|cause| not_opened(&self.path, &cause))?;
        let start = file.fill_buf();
        let start = start.map_err(|cause| not_opened(&self.path, &cause))?;
        let has_bytes = !start.is_empty();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if let Some(says) = unsaid(options, start, &names) {
            return Err(self.says(format!(
                "{says} to the options, or write separator = \";\" in place of them"
            )));
        }
        let table = schema::quoted(&self.table);
        let before = schema::count(session, &table).map_err(&failed)?;
        let sql = self.statement(&with_charset(options));
        let loaded = session.load(&sql, Box::new(move |to| io::copy(&mut file, to).map(drop)));
        let loaded = loaded.map_err(|cause| self.refused(&cause))?;
        if !accepts {
            self.no_warnings(session, |row| row)?;
        }
        let after = schema::count(session, &table).map_err(failed)?;
        if loaded == 0 && has_bytes {
            return Err(self.without_rows());
        }
        if !session.is_scripted() && after != before + loaded {
            Err(self.says(format!(
                "the server took {loaded} rows, and {} more are in {}",
                after.saturating_sub(before),
                self.table
            )))
        } else {
            Ok(after)
        }
    }

    fn syntax(&self) -> Syntax {
        match self.separator {
            Some(_) => Syntax::Csv,
            None => Syntax::from_name(&self.name()),
        }
    }

    fn name(&self) -> String {
        file_name(&self.path)
    }

    fn statement(&self, clauses: &str) -> String {
        format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE {} {clauses}",
            sent_name(&self.name()),
            schema::quoted(&self.table)
        )
    }

    /// With LOCAL, values that do not fit and rows that are skipped are warnings, even in strict mode. `line_of` maps a row of the
    /// statement to a line of the file.
    fn no_warnings(
        &self,
        session: &mut Session,
        line_of: impl Fn(u64) -> u64,
    ) -> Result<(), LoadError> {
        let skipped = session.skipped_rows();
        let failed = LoadError::during("The warnings of LOAD DATA cannot be read");
        match warnings::loss(session, Values::Given).map_err(failed)? {
            None if skipped == 0 => Ok(()),
            None => Err(self.says(format!(
                "{skipped} rows have a key that an earlier row of {} has",
                self.table
            ))),
            Some(loss) => {
                let line = loss.row().map(line_of);
                let place = line.map_or(self.name(), |line| format!("{}:{line}", self.name()));
                let empty = if loss.message.contains(": ''") {
                    "; an empty field is an empty text: for NULL write \\N, or null = \"\""
                } else {
                    ""
                };
                Err(LoadError::Written {
                    place,
                    says: format!("{}{empty}", loss.says()),
                })
            }
        }
    }

    fn says(&self, says: String) -> LoadError {
        LoadError::Written {
            place: self.name(),
            says,
        }
    }

    fn mistaken(&self, mistake: &Mistake) -> LoadError {
        LoadError::Written {
            place: format!("{}:{}", self.name(), mistake.line),
            says: mistake.says.clone(),
        }
    }

    fn without_rows(&self) -> LoadError {
        self.says(format!(
            "the file has text, and no row of {} came of it; with a header, the rows are missing; with options, the file has another form",
            self.table
        ))
    }

    fn refused(&self, cause: &ServerError) -> LoadError {
        let fix = match cause {
            _ if cause.is_local_infile_refused() => {
                "; ask its owner to SET GLOBAL local_infile = 1, or give the rows in a dump"
            }
            ServerError::Refused { code, .. } if *code == NO_GEOMETRY => {
                "; for text such as POINT(1 2) write options = \"... (id, @c) SET place = ST_GeomFromText(@c)\""
            }
            _ => "",
        };
        self.says(format!(
            "the server says {cause}, to the rows of {}{fix}",
            self.table
        ))
    }
}

/// Where the fields go: `(a, b)`. A BIT column has a number, and in the servers' own text the bytes of its value. The value of a generated
/// column goes nowhere.
fn targets(columns: &[Column], syntax: Syntax) -> String {
    let (mut fields, mut sets) = (Vec::new(), Vec::new());
    for (n, column) in columns.iter().enumerate() {
        let name = schema::quoted(&column.name);
        if column.is_generated {
            fields.push(format!("@generated{n}"));
        } else if column.is_bit && syntax != Syntax::Tsv {
            fields.push(format!("@bit{n}"));
            sets.push(format!("{name} = CAST(@bit{n} AS UNSIGNED)"));
        } else {
            fields.push(name);
        }
    }
    let fields = format!("({})", fields.join(", "));
    if sets.is_empty() {
        fields
    } else {
        format!("{fields} SET {}", sets.join(", "))
    }
}

/// The clauses with the character set of the file: their own, which comes first, or that of most files.
fn with_charset(options: &str) -> String {
    let first = Lexer::new(options.as_bytes(), Quoting::default()).next();
    match first.is_some_and(|first| first.is_one_of(&["CHARACTER", "CHAR", "CHARSET"])) {
        true => options.to_string(),
        false => format!("CHARACTER SET utf8mb4 {options}"),
    }
}

/// The name of the file in LOAD DATA. The server requests the file by it, and some servers lack characters in names.
fn sent_name(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_graphic() && !matches!(c, '\'' | '\\');
    name.chars()
        .map(|c| if is_plain(&c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    #[test]
    fn the_number_of_a_bit_column_is_computed() {
        let column = |name: &str, data_type: &str| Column::new(name, data_type, "");
        let plain = [column("a", "int"), column("b", "text")];
        assert_eq!(targets(&plain, Syntax::Csv), "(`a`, `b`)");
        let bits = [column("a", "int"), column("b", "bit")];
        assert_eq!(
            targets(&bits, Syntax::Csv),
            "(`a`, @bit1) SET `b` = CAST(@bit1 AS UNSIGNED)"
        );
        assert_eq!(targets(&bits, Syntax::Tsv), "(`a`, `b`)");
    }

    #[test]
    fn a_file_of_another_form_is_refused_by_its_name_also_compressed() {
        let mut session = Session::Scripted(Box::new(|_: &str| Ok(Reply::default())));
        for name in ["t.jsonl.GZ", "t.sql"] {
            let loaded = file(name.into(), None).load(&mut session, Arc::default(), false);
            let says = loaded.unwrap_err().to_string();
            assert!(says.contains("write the file as CSV"), "{says}");
        }
    }

    #[test]
    fn a_geometry_that_is_text_is_refused_with_the_way() {
        let cause = ServerError::Refused {
            code: NO_GEOMETRY,
            message: "Cannot get geometry object".into(),
        };
        let says = file("t.csv".into(), None).refused(&cause).to_string();
        assert!(says.contains("ST_GeomFromText(@c)"), "{says}");
    }

    #[test]
    fn the_field_of_a_generated_column_goes_nowhere() {
        let columns = [
            Column::new("a", "int", ""),
            Column::new("b", "bit", "VIRTUAL GENERATED"),
            Column::new("c", "int", "DEFAULT_GENERATED"),
        ];
        assert_eq!(targets(&columns, Syntax::Csv), "(`a`, @generated1, `c`)");
    }

    fn file(path: PathBuf, options: Option<&str>) -> TableFile {
        TableFile {
            table: "t".into(),
            path,
            options: options.map(String::from),
            ..TableFile::default()
        }
    }

    /// The statements by which a file with this text is loaded into two columns.
    fn sent(text: &str, options: Option<&str>, accepts: bool) -> Result<Vec<String>, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let statements = Arc::clone(&seen);
        let mut session = Session::Scripted(Box::new(move |sql: &str| {
            statements.lock().unwrap().push(sql.to_string());
            let row = |cells: [&str; 4]| cells.map(|cell| Some(cell.as_bytes().to_vec())).to_vec();
            let id = row(["id", "int", "auto_increment", "NO"]);
            let name = row(["name", "text", "", "YES"]);
            Ok(Reply {
                rows: vec![id, name],
                ..Reply::default()
            })
        }));
        file(path, options).load(&mut session, Arc::default(), accepts)?;
        let seen = seen.lock().unwrap().clone();
        Ok(seen)
    }

    #[test]
    fn a_0_stays_0_also_where_the_server_reads_the_file_or_values_are_accepted() {
        for (options, accepts, mode) in [
            (None, false, MODE),
            (None, true, MODE_ACCEPTING),
            (Some("LINES STARTING BY ''"), false, MODE_OF_ZERO),
        ] {
            let sent = sent("0,a\n", options, accepts).unwrap();
            let at = |word: &str| sent.iter().position(|sql| sql.starts_with(word)).unwrap();
            assert!(at(mode) < at("LOAD DATA"), "{sent:?}");
        }
    }

    #[test]
    fn the_character_set_that_options_name_is_the_only_one() {
        for (options, clauses) in [
            ("LINES STARTING BY ''", "CHARACTER SET utf8mb4 LINES"),
            (
                "CHARACTER SET latin1 LINES STARTING BY ''",
                "CHARACTER SET latin1 LINES",
            ),
            ("charset binary", "charset binary"),
        ] {
            let sent = sent("1\ta\n", Some(options), false).unwrap();
            let load = format!("INTO TABLE `t` {clauses}");
            assert!(sent.iter().any(|sql| sql.contains(&load)), "{sent:?}");
        }
    }

    #[test]
    fn commas_are_in_no_doubt_behind_a_header_or_a_line_that_names_the_separator() {
        for text in ["sep=;\n1;2,5\n", "sep=,\n1;2,5\n", "id,name\n1;2,5\n"] {
            assert!(sent(text, None, true).is_ok(), "{text}");
        }
        assert!(sent("1;2,5\n", None, true).is_err());
    }

    #[test]
    fn a_name_with_other_characters_is_sent_with_underscores() {
        assert_eq!(sent_name("größe 'a'.csv"), "gr__e__a_.csv");
    }
}
