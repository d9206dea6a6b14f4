//! What the user's tables are made from, and what identifies them.
//!
//! Boundaries: `section` reads the keys of the file, `loading` runs the statements.

use super::dump::{self, Filter, Origin, Statements};
use super::table_file::TableFile;
use super::user_file::{file_name, not_opened};
use crate::LoadError;
use crate::loader::warnings::Values;
use crate::schema::marker;
use crate::sql_text::statements;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The version of the rules of loading. Snapshots of other rules may hold other rows, and are not used.
const RULES: &str = "rules 9";
/// Bytes in a server for each byte of a compressed file: it expands first.
const EXPANDED_BYTES_PER_BYTE: u64 = 6;

/// The statements that create the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Creation {
    /// `file`: where they come from, if not from the experiment file.
    Setup {
        sql: String,
        file: Option<String>,
        /// Where the files lie that they read.
        folder: Option<PathBuf>,
    },
    Dump(PathBuf),
}

/// The character set of prony's schema, for tables that name none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// That of the dump's CREATE DATABASE, else utf8mb4, else utf8.
    #[default]
    OfDump,
    /// The server's own default.
    OfServer,
    Named(String),
}

/// Where the tables come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    pub creation: Creation,
    /// Loaded after the statements, in this order.
    pub files: Vec<TableFile>,
    /// Texts that are replaced in the statements of a dump, but not in its rows.
    pub replace: Vec<(String, String)>,
    pub charset: Charset,
    /// Whether values may be stored other than they are given.
    pub accept_warnings: bool,
    /// Whether tables that a load has changed are dropped and loaded anew before each trial on a running server.
    pub reload: bool,
}

impl Creation {
    /// How messages call it.
    pub(super) fn name(&self) -> String {
        match self {
            Creation::Setup { file, .. } => file.clone().unwrap_or_else(|| "setup".into()),
            Creation::Dump(path) => file_name(path),
        }
    }

    /// A setup may compute its values; those of a dump are written down.
    pub(super) fn values(&self) -> Values {
        match self {
            Creation::Setup { .. } => Values::Computed,
            Creation::Dump(_) => Values::Given,
        }
    }

    /// The rows of each table by the program that wrote them; empty if it does not say.
    pub(super) fn rows(&self) -> BTreeMap<String, u64> {
        match self {
            Creation::Setup { .. } => BTreeMap::new(),
            Creation::Dump(path) => dump::rows(path),
        }
    }

    /// Where the files lie that it reads.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match self {
            Creation::Setup { folder, .. } => folder.clone(),
            Creation::Dump(path) if path.is_dir() => Some(path.clone()),
            Creation::Dump(path) => path.parent().map(Path::to_path_buf),
        }
    }

    /// Its statements. `read` counts the bytes of files.
    pub(super) fn statements(&self, read: &Arc<AtomicU64>) -> Result<Statements<'_>, LoadError> {
        let name = self.name();
        let statements = match self {
            Creation::Setup { sql, .. } => Statements::new(&name, sql.as_bytes()),
            Creation::Dump(path) if path.is_dir() => {
                let script = dump::script(path).map_err(|cause| not_opened(path, &cause))?;
                let statements = Statements::new(&name, std::io::Cursor::new(script));
                statements.by_lines(dump::has_bodies)
            }
            Creation::Dump(path) => {
                let opened = dump::open(path, Arc::clone(read));
                Statements::new(&name, opened.map_err(|cause| not_opened(path, &cause))?)
            }
        };
        Ok(statements.beside(self.folder(), Arc::clone(read)))
    }

    /// The content, with that of the files that it may read.
    fn identity(&self) -> Vec<String> {
        let included = |path: &Path| match self.folder() {
            Some(folder) => dump::included(path, &folder),
            None => Vec::new(),
        };
        let (own, others) = match self {
            Creation::Setup { sql, .. } => match self.folder() {
                Some(folder) => (sql.clone(), dump::included_in(sql.as_bytes(), &folder)),
                None => (sql.clone(), Vec::new()),
            },
            Creation::Dump(path) if path.is_dir() => (String::new(), files_of(path)),
            Creation::Dump(path) => (dump::digest(path), included(path)),
        };
        let digest = |path: &PathBuf| format!("{} {}", file_name(path), dump::digest(path));
        let digests = others.iter().map(digest);
        std::iter::once(own).chain(digests).collect()
    }
}

impl Charset {
    fn identity(&self) -> &str {
        match self {
            Charset::OfDump => "of the dump",
            Charset::OfServer => "of the server",
            Charset::Named(name) => name,
        }
    }
}

impl Sources {
    /// Whether neither statements nor files make tables.
    pub(super) fn is_empty(&self) -> bool {
        let says_nothing =
            matches!(&self.creation, Creation::Setup { sql, .. } if sql.trim().is_empty());
        says_nothing && self.files.is_empty()
    }

    /// What becomes of its statements.
    pub(super) fn filter(&self) -> Filter {
        let origin = match self.creation {
            Creation::Setup { .. } => Origin::Setup,
            Creation::Dump(_) => Origin::Dump,
        };
        Filter::new(origin, &self.replace, self.charset != Charset::OfDump)
    }

    pub(super) fn fingerprint(&self) -> String {
        let mut parts = vec![RULES.to_string(), self.charset.identity().to_string()];
        parts.extend(self.creation.identity());
        for file in &self.files {
            parts.extend(file.identity());
        }
        for (from, to) in &self.replace {
            parts.extend([from.clone(), to.clone()]);
        }
        // Rows that were accepted as they were stored may not be those of the files.
        if self.accept_warnings {
            parts.push("accepts warnings".to_string());
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        format!("sql-{}", marker::hash(&parts))
    }

    pub(super) fn summary(&self) -> String {
        let mut parts = Vec::new();
        match &self.creation {
            Creation::Setup { sql, .. } => match statements(sql).unwrap_or_default().len() {
                0 => parts.push("no tables".to_string()),
                many => parts.push(format!("tables of {}", record::plural(many, "statement"))),
            },
            Creation::Dump(path) => parts.push(format!("the dump {}", file_name(path))),
        }
        parts.extend(self.files.iter().map(|file| file_name(&file.path)));
        parts.join(" and ")
    }

    /// The bytes of all texts and files, as they are and expanded (an estimate).
    pub(super) fn bytes(&self) -> (u64, u64) {
        let of_creation = match &self.creation {
            Creation::Setup { sql, .. } => (sql.len() as u64, sql.len() as u64),
            Creation::Dump(path) if path.is_dir() => {
                let files = files_of(path).into_iter().map(|file| file_bytes(&file));
                files.fold((0, 0), |sum, bytes| (sum.0 + bytes.0, sum.1 + bytes.1))
            }
            Creation::Dump(path) => file_bytes(path),
        };
        let files = self.files.iter().map(|file| file_bytes(&file.path));
        files.fold(of_creation, |sum, bytes| (sum.0 + bytes.0, sum.1 + bytes.1))
    }

    pub(super) fn method(&self) -> &'static str {
        match (&self.creation, self.files.is_empty()) {
            (_, false) => "LOAD DATA LOCAL INFILE",
            (Creation::Setup { .. }, true) => "setup",
            (Creation::Dump(_), true) => "dump",
        }
    }
}

/// The files in a folder, by their names.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn file_bytes(path: &Path) -> (u64, u64) {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let is_compressed = path
        .extension()
        .is_some_and(|extension| extension == "gz" || extension == "zst");
    match is_compressed {
        true => (bytes, bytes * EXPANDED_BYTES_PER_BYTE),
        false => (bytes, bytes),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::sql) fn of_setup(sql: &str, file: Option<&str>) -> Sources {
        Sources {
            creation: Creation::Setup {
                sql: sql.into(),
                file: file.map(String::from),
                folder: None,
            },
            files: Vec::new(),
            replace: Vec::new(),
            charset: Charset::OfDump,
            accept_warnings: false,
            reload: false,
        }
    }

    pub(in crate::sql) fn dump(text: &str) -> (tempfile::TempDir, Sources) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.sql");
        std::fs::write(&path, text).unwrap();
        let sources = Sources {
            creation: Creation::Dump(path),
            ..of_setup("", None)
        };
        (folder, sources)
    }

    #[test]
    fn a_trigger_with_a_body_in_a_folder_of_mydumper_is_one_statement() {
        let folder = tempfile::tempdir().unwrap();
        let trigger = "CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW BEGIN\nSET NEW.a = 1; \nSET NEW.b = 2; \nEND";
        let triggers = format!("{trigger};\nSELECT 3;\n");
        for (name, text) in [
            ("metadata", ""),
            ("shop-schema-create.sql", ""),
            ("shop.orders-schema.sql", "SELECT 1; SELECT 2;\n"),
            ("shop.orders-schema-triggers.sql", triggers.as_str()),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let creation = Creation::Dump(folder.path().to_path_buf());
        let mut statements = creation.statements(&Arc::default()).unwrap();
        let mut found = Vec::new();
        while let Some(statement) = statements.next().unwrap() {
            found.push(String::from_utf8(statement.sql).unwrap());
        }
        assert_eq!(found[2..], ["SELECT 1", "SELECT 2", trigger, "SELECT 3"]);
    }

    #[test]
    fn the_fingerprint_follows_the_content_of_the_dump() {
        let fingerprint = |text: &str| dump(text).1.fingerprint();
        let (_folder, one) = dump("select 1;");
        let (_other, same) = dump("select 1;");
        assert_eq!(one.fingerprint(), same.fingerprint());
        assert_ne!(one.fingerprint(), fingerprint("select 2;"));
    }

    #[test]
    fn the_fingerprint_follows_every_file_that_is_read() {
        let (folder, sources) = dump(
            "source a.sql;\nload data local infile 'rows.tsv' into table t; load data local infile \"more.tsv\" into table u;\ndelimiter //\nsource c.sql //\n",
        );
        let mut seen = vec![sources.fingerprint()];
        for (file, text) in [
            ("a.sql", "\\. b.sql\n"),
            ("b.sql", "select 1;"),
            ("b.sql", "select 2;"),
            ("rows.tsv", "1\n"),
            ("more.tsv", "1\n"),
            ("c.sql", "select 1;"),
        ] {
            std::fs::write(folder.path().join(file), text).unwrap();
            seen.push(sources.fingerprint());
        }
        seen.dedup();
        assert_eq!(seen.len(), 7, "{seen:?}");
    }

    #[test]
    fn the_fingerprint_follows_the_character_set() {
        let with = |charset| {
            let sources = of_setup("select 1", None);
            Sources { charset, ..sources }.fingerprint()
        };
        assert_ne!(with(Charset::OfDump), with(Charset::OfServer));
        assert_ne!(with(Charset::OfDump), with(Charset::Named("latin1".into())));
    }

    #[test]
    fn the_fingerprint_follows_what_is_accepted_and_how_a_file_is_read() {
        let strict = of_setup("create table t (a text)", None);
        let accepts = Sources {
            accept_warnings: true,
            ..strict.clone()
        };
        assert_ne!(strict.fingerprint(), accepts.fingerprint());
        let folder = tempfile::tempdir().unwrap();
        let of_file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "C:\\temp\n").unwrap();
            let file = TableFile {
                table: "t".into(),
                path,
                ..TableFile::default()
            };
            let sources = Sources {
                files: vec![file],
                ..strict.clone()
            };
            sources.fingerprint()
        };
        assert_eq!(of_file("a.csv"), of_file("b.csv"));
        assert_ne!(of_file("a.csv"), of_file("a.tsv"));
    }

    #[test]
    fn the_fingerprint_tells_where_a_replacement_ends() {
        let fingerprint = |from: &str, to: &str| {
            let sources = Sources {
                replace: vec![(from.into(), to.into())],
                ..of_setup("", None)
            };
            sources.fingerprint()
        };
        assert_ne!(fingerprint("ab", "c"), fingerprint("a", "bc"));
    }
}
