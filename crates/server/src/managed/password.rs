//! A fresh password for each start, set by the server itself before it listens.
//!
//! Goal: nobody else on the machine logs in to a server of prony's. Non-goals: other users than `root`@`localhost`, who are
//! removed where they could log in without a password.
//!
//! The password never stands in an argument: a file of statements (`--init-file`, mode 0600) holds it while the server
//! starts.

use crate::ServerError;
use crate::builds::Flavor;
use host::random_hex;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Mixed kinds of characters, for servers with `validate_password`.
pub fn draw() -> Result<String, ServerError> {
    let digits = random_hex(16)
        .map_err(|error| ServerError::Unusable(format!("cannot read /dev/urandom: {error}")))?;
    Ok(format!("Pr-{digits}"))
}

/// The statements, one a line as `--init-file` wants them. They stay out of the binary log and the general log.
///
/// A data folder of before MySQL 5.7 and of MariaDB has accounts without a password beside `root`@`localhost`. MariaDB keeps
/// its accounts in `global_priv` from 10.4 on, and there SET PASSWORD fails after FLUSH PRIVILEGES, without a word in the log.
pub fn statements(flavor: Flavor, version: (u32, u32, u32), password: &str) -> String {
    let has_alter_user = match flavor {
        Flavor::MySql => version >= (5, 7, 6),
        Flavor::MariaDb => version >= (10, 2, 0),
    };
    let password = match has_alter_user {
        true => format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}'"),
        false => format!("SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{password}')"),
    };
    let accounts = match flavor {
        Flavor::MariaDb if version >= (10, 4, 0) => "global_priv",
        Flavor::MySql | Flavor::MariaDb => "user",
    };
    format!(
        "SET SESSION sql_log_bin = 0;\n\
         SET SESSION sql_log_off = 1;\n\
         DELETE FROM mysql.{accounts} WHERE User = '' OR (User = 'root' AND Host <> 'localhost');\n\
         FLUSH PRIVILEGES;\n\
         {password};\n"
    )
}

/// Writes a file that only this user can read; an older one is replaced.
pub fn write(path: &Path, statements: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?
        .write_all(statements.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_generation_of_servers_gets_the_statement_that_it_knows() {
        let says = |flavor, version| statements(flavor, version, "p");
        let (new, old) = (
            "ALTER USER 'root'@'localhost' IDENTIFIED BY 'p';\n",
            "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('p');\n",
        );
        assert!(
            says(Flavor::MySql, (9, 7, 0)).ends_with(new)
                && says(Flavor::MariaDb, (10, 2, 11)).ends_with(new)
        );
        assert!(
            says(Flavor::MySql, (5, 5, 34)).ends_with(old)
                && says(Flavor::MariaDb, (5, 5, 68)).ends_with(old)
        );
        assert!(says(Flavor::MariaDb, (10, 11, 0)).contains("mysql.global_priv"));
    }

    #[test]
    fn the_file_with_the_password_can_be_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("first.sql");
        std::fs::write(&path, "open to all").unwrap();
        write(&path, "secret").unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
    }
}
