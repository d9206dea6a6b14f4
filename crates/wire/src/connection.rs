//! A connection that is logged in.

use crate::{Login, WireError};
use load::{Io, Stream};

pub struct Connection {
    stream: Stream,
    version: String,
}

/// A prepared statement of one connection.
#[derive(Clone, Debug)]
pub struct Statement {
    pub id: u32,
    pub params: u16,
    pub columns: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// A column of a row, as far as workloads read them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Double(f64),
    /// Text, blobs, decimals and everything else, as the server wrote it.
    Bytes(&'a [u8]),
}

/// What a statement did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub affected: u64,
    pub insert_id: u64,
    /// Rows of the result set.
    pub rows: u64,
    /// The server's status flags.
    pub status: u16,
}

impl Connection {
    /// Connects and logs in.
    pub async fn open(io: &Io, login: &Login) -> Result<Connection, WireError> {
        let stream = io.connect(&login.endpoint, login.within).await?;
        Ok(Connection {
            stream,
            version: String::new(),
        })
    }

    /// `8.0.33`, `10.11.14-MariaDB-0+deb12u2`
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// A statement in the text protocol; rows are counted and dropped.
    pub async fn query(&mut self, sql: &str) -> Result<Done, WireError> {
        let _ = (sql, &mut self.stream);
        todo!()
    }

    /// A statement in the text protocol with its rows; a text row's values are all `Bytes` or `Null`.
    pub async fn query_rows(
        &mut self,
        sql: &str,
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<Done, WireError> {
        let _ = (sql, row);
        todo!()
    }

    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        let _ = sql;
        todo!()
    }

    /// The hot path: the rows are counted and dropped.
    pub async fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Done, WireError> {
        let _ = (statement, params);
        todo!()
    }

    pub async fn execute_rows(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        row: &mut dyn FnMut(&[Value]),
    ) -> Result<Done, WireError> {
        let _ = (statement, params, row);
        todo!()
    }

    /// Says goodbye; the connection is closed either way.
    pub async fn close(self) {}
}
