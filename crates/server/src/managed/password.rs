//! The random password of a managed server, which the server sets before it listens.
//!
//! It keeps other users of the machine out. Only `root`@`localhost` remains; accounts without a password are removed. The
//! password never appears on a command line: while the server starts, it is in an SQL file (`--init-file`, mode 0600).

use crate::builds::Flavor;

/// The statements that set the password, one per line as `--init-file` requires. They stay out of the binary log and the
/// general log.
///
/// A data folder of MariaDB or of MySQL before 5.7 has other accounts without a password. MariaDB keeps accounts in
/// `global_priv` since 10.4; there SET PASSWORD fails after FLUSH PRIVILEGES, and the log does not say so.
pub(super) fn statements(flavor: Flavor, version: (u32, u32, u32), password: &str) -> String {
    let has_alter_user = match flavor {
        Flavor::MySql => version >= (5, 7, 6),
        Flavor::MariaDb => version >= (10, 2, 0),
    };
    let password = if has_alter_user {
        format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}'")
    } else {
        format!("SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{password}')")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_version_gets_a_statement_that_it_supports() {
        let of = |flavor, version| statements(flavor, version, "p");
        let (new, old) = (
            "ALTER USER 'root'@'localhost' IDENTIFIED BY 'p';\n",
            "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('p');\n",
        );
        assert!(
            of(Flavor::MySql, (9, 7, 0)).ends_with(new)
                && of(Flavor::MariaDb, (10, 2, 11)).ends_with(new)
        );
        assert!(
            of(Flavor::MySql, (5, 5, 34)).ends_with(old)
                && of(Flavor::MariaDb, (5, 5, 68)).ends_with(old)
        );
        assert!(of(Flavor::MariaDb, (10, 11, 0)).contains("mysql.global_priv"));
    }
}
