//! Tables that a running server already has, in a schema of the user's.
//!
//! Purpose: measure them as they are: prony creates nothing, and every connection is read-only. Boundaries: only rounds of
//! queries; `created_tables` creates tables.

use crate::schema::marker;
use crate::schema::{self, definitions, preload};
use crate::{
    AllowDrop, Dataset, DatasetState, Estimate, Held, LoadError, Loaded, Preloaded, Progress,
};
use record::DatasetNote;
use server::{ServerError, Session};

/// The error code of a statement that the server cannot parse.
const NOT_PARSED: u16 = 1064;

/// More rows or bytes are not counted: InnoDB counts some millions of rows in a second, and reads some hundred megabytes.
const COUNTED_ROWS: u64 = 2_000_000;
const COUNTED_BYTES: u64 = 200 << 20;

/// A schema of the user's.
pub(super) struct Theirs {
    pub schema: String,
}

impl Dataset for Theirs {
    /// The content is unknown: servers of one run are compared as if they held the same rows.
    fn fingerprint(&self) -> String {
        DatasetNote::THEIRS.to_string() + &self.schema
    }

    fn summary(&self) -> String {
        format!("the schema {}", self.schema)
    }

    fn schema(&self) -> &str {
        &self.schema
    }

    fn estimate(&self) -> Estimate {
        Estimate::default()
    }

    fn enter(&self, session: &mut Session) -> Result<(), ServerError> {
        session.execute(&format!("USE {}", schema::quoted(&self.schema)))?;
        match session.execute("SET SESSION TRANSACTION READ ONLY") {
            Ok(_) => Ok(()),
            Err(ServerError::Refused { code: NOT_PARSED, .. }) => Err(ServerError::Unusable(
                "schema needs read-only transactions, which the server does not have (MySQL 5.6 and MariaDB 10.0 are the first): dump the schema, and measure the dump".into(),
            )),
            Err(other) => Err(other),
        }
    }

    fn is_theirs(&self) -> bool {
        true
    }

    fn state(&self, session: &mut Session) -> Result<DatasetState, ServerError> {
        Ok(if schema::exists(session, &self.schema)? {
            DatasetState::Complete(self.fingerprint())
        } else {
            DatasetState::Absent
        })
    }

    /// Counts what is counted in about a second, otherwise takes the server's estimate.
    fn held(&self, session: &mut Session) -> Result<Held, ServerError> {
        schema::ask_anew(session)?;
        let sql = format!(
            "SELECT table_name, table_rows, data_length FROM information_schema.tables WHERE table_schema = '{}' AND table_type IN ('BASE TABLE', '{VERSIONED}') ORDER BY table_name",
            self.schema
        );
        let reply = session.query(&sql)?;
        let number = |row, column| -> u64 {
            let text = reply.text(row, column);
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let tables = marker::names(&reply);
        let mut held = Held::default();
        let all = 0..reply.rows.len();
        let estimate: u64 = all.clone().map(|row| number(row, 1)).sum();
        let bytes: u64 = all.clone().map(|row| number(row, 2)).sum();
        if estimate > COUNTED_ROWS || bytes > COUNTED_BYTES {
            held.rows = estimate;
            held.is_estimated = true;
            return Ok(held);
        }
        for table in tables {
            let name = format!(
                "{}.{}",
                schema::quoted(&self.schema),
                schema::quoted(&table)
            );
            held.rows += schema::count(session, &name)?;
        }
        Ok(held)
    }

    fn create(&self, session: &mut Session, _allow: &AllowDrop) -> Result<(), LoadError> {
        let failed = LoadError::during("The schemas of the server cannot be listed");
        let sql = "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name";
        let present = marker::names(&session.query(sql).map_err(failed)?);
        Err(self.absent(&present))
    }

    fn load(
        &self,
        _connect: crate::loader::Connect<'_>,
        _progress: &(dyn Fn(Progress) + Sync),
        _cancel: &(dyn Fn() -> bool + Sync),
    ) -> Result<Loaded, LoadError> {
        // `create` has failed before.
        Err(self.absent(&[]))
    }

    fn verify(&self, _session: &mut Session) -> Result<(), LoadError> {
        Ok(())
    }

    fn collations(&self, session: &mut Session) -> Result<Vec<String>, ServerError> {
        collations(session, &self.schema)
    }

    fn definitions(&self, session: &mut Session) -> Result<Option<String>, ServerError> {
        let tables = tables(session, &self.schema)?;
        definitions::hash_of(session, &self.schema, &tables).map(Some)
    }

    fn objects(&self, session: &mut Session) -> Result<Option<String>, ServerError> {
        definitions::hash_of_objects(session, &self.schema).map(Some)
    }

    fn data_bytes(&self, session: &mut Session) -> Result<u64, ServerError> {
        data_bytes(session, &self.schema)
    }

    fn preload(&self, session: &mut Session) -> Result<Preloaded, ServerError> {
        let tables = tables(session, &self.schema)?;
        let names: Vec<&str> = tables.iter().map(String::as_str).collect();
        preload::preload(session, &self.schema, &names)
    }
}

impl Theirs {
    fn absent(&self, present: &[String]) -> LoadError {
        let cause = format!(
            "the account sees these: {}; correct schema, or grant the account SELECT on it",
            present.join(", ")
        );
        LoadError::Written {
            place: format!("schema = \"{}\"", self.schema),
            says: format!("the server has no such schema; {cause}"),
        }
    }
}

/// The type of a table whose rows have a history.
pub(super) const VERSIONED: &str = "SYSTEM VERSIONED";

/// The tables of the schema.
pub(super) fn tables(session: &mut Session, schema: &str) -> Result<Vec<String>, ServerError> {
    names(session, schema, &["BASE TABLE", VERSIONED])
}

/// The objects of these types in the schema, from information_schema.
pub(super) fn names(
    session: &mut Session,
    schema: &str,
    table_types: &[&str],
) -> Result<Vec<String>, ServerError> {
    let reply = session.query(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type IN ('{}') ORDER BY table_name",
        table_types.join("', '")
    ))?;
    Ok(marker::names(&reply))
}

/// The collations of all text columns. utf8 and utf8mb3 are one character set.
pub(super) fn collations(session: &mut Session, schema: &str) -> Result<Vec<String>, ServerError> {
    let sql = format!(
        "SELECT DISTINCT collation_name FROM information_schema.columns WHERE table_schema = '{schema}' AND table_name <> '{}' AND collation_name IS NOT NULL ORDER BY collation_name",
        marker::TABLE
    );
    let names = marker::names(&session.query(&sql)?).into_iter();
    let names = names.map(|name| match name.strip_prefix("utf8_") {
        Some(rest) => format!("utf8mb3_{rest}"),
        None => name,
    });
    Ok(names.collect())
}

/// Bytes of all tables of the schema with their indexes, as the server reports them.
pub(super) fn data_bytes(session: &mut Session, schema: &str) -> Result<u64, ServerError> {
    let tables = tables(session, schema)?;
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    if tables.is_empty() {
        Ok(0)
    } else {
        schema::data_bytes(session, schema, &tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Reply;

    /// A server that refuses the statements with this word.
    fn refusing(word: &'static str, code: u16) -> Session {
        Session::Scripted(Box::new(move |sql: &str| {
            if sql.contains(word) {
                Err(ServerError::Refused {
                    code,
                    message: "no".into(),
                })
            } else {
                Ok(Reply::default())
            }
        }))
    }

    fn shop() -> Theirs {
        Theirs {
            schema: "shop".into(),
        }
    }

    #[test]
    fn every_connection_is_read_only() {
        assert!(shop().enter(&mut refusing("nothing", 0)).is_ok());
        let refused = shop().enter(&mut refusing("READ ONLY", 1064)).unwrap_err();
        assert!(refused.to_string().contains("MySQL 5.6"), "{refused}");
    }

    fn row(cells: &[&str]) -> Vec<Option<Vec<u8>>> {
        let cells = cells.iter();
        cells.map(|cell| Some(cell.as_bytes().to_vec())).collect()
    }

    #[test]
    fn every_table_counts_and_no_estimate_is_of_yesterday() {
        let mut is_anew = false;
        let mut session = Session::Scripted(Box::new(move |sql: &str| {
            let rows = if sql.contains("stats_expiry = 0") {
                is_anew = true;
                Vec::new()
            } else if sql.contains("COUNT(*)") {
                vec![row(&["3"])]
            } else if is_anew && sql.contains("'SYSTEM VERSIONED'") {
                vec![row(&["a", "3", "16384"]), row(&["b", "3", "16384"])]
            } else {
                vec![row(&["a", "9000000", "16384"])]
            };
            Ok(Reply {
                rows,
                ..Reply::default()
            })
        }));
        let held = shop().held(&mut session).unwrap();
        assert_eq!((held.rows, held.is_estimated), (6, false));
    }

    #[test]
    fn the_collations_of_the_schema_are_named() {
        let mut session = Session::Scripted(Box::new(|sql: &str| {
            let is_of_columns = sql.contains("collation_name") && sql.contains("'shop'");
            let names = ["utf8_bin", "utf8mb4_bin"].map(|name| row(&[name]));
            Ok(Reply {
                rows: if is_of_columns {
                    names.to_vec()
                } else {
                    Vec::new()
                },
                ..Reply::default()
            })
        }));
        let collations = shop().collations(&mut session).unwrap();
        assert_eq!(collations, ["utf8mb3_bin", "utf8mb4_bin"]);
    }

    #[test]
    fn nothing_is_created() {
        let mut session = refusing("CREATE", 1);
        let refused = shop().create(&mut session, &AllowDrop::Pronys);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("no such schema"), "{refused}");
        assert!(shop().is_theirs());
    }
}
