//! How streams of statements are split, and where they are refused.

use super::*;
use proptest::prelude::*;

fn all(text: impl AsRef<[u8]>) -> Result<Vec<(u64, String)>, Cut> {
    read(Statements::new("a.sql", text.as_ref()))
}

fn read(mut statements: Statements<'_>) -> Result<Vec<(u64, String)>, Cut> {
    let mut found = Vec::new();
    while let Some(statement) = statements.next()? {
        let sql = String::from_utf8_lossy(&statement.sql).into_owned();
        found.push((statement.line, sql));
    }
    Ok(found)
}

fn sql(text: &str) -> Vec<String> {
    let statements = all(text).unwrap().into_iter();
    statements.map(|(_, sql)| sql).collect()
}

#[test]
fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
    let text = "-- a; b\n\ninsert into t values ('a;''\\';', \"b;\", `c;`) /* d; */ # e;\n ;\n/* f; */ select 1--2; select 3";
    assert_eq!(
        all(text).unwrap(),
        [
            (
                3,
                "insert into t values ('a;''\\';', \"b;\", `c;`) /* d; */ # e;".to_string()
            ),
            (5, "select 1--2".to_string()),
            (5, "select 3".to_string()),
        ]
    );
}

#[test]
fn quotes_and_comments_may_span_lines() {
    assert_eq!(
        sql("select 'a\n;\nb';\n/* c\n; */ select 2;"),
        ["select 'a\n;\nb'", "select 2"]
    );
}

#[test]
fn a_delimiter_keeps_the_semicolons_of_a_trigger() {
    let text = "DELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER t\nbegin\n set @a = 1; set @b = 2;\nend */;;\nDELIMITER ;\nselect 1;\n";
    let found = all(text).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].0, found[1].0), (2, 7));
    assert!(found[0].1.ends_with("end */"), "{}", found[0].1);
}

#[test]
fn by_lines_a_body_keeps_the_semicolons_within_lines() {
    let text = "SET a = 1;\nCREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW BEGIN\nSET NEW.a = 1; \nSET NEW.b = ';\n'; -- b;\nSET NEW.c = 3;\r\nEND;\nSET b = 2;";
    let read = |name: &str| {
        let statements = Statements::new(name, text.as_bytes());
        read(statements.by_lines(|name| name == "bodies.sql")).unwrap()
    };
    let found = read("bodies.sql");
    let lines: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2, 8]);
    let body = &found[1].1;
    assert!(body.ends_with("SET NEW.c = 3;\r\nEND"), "{body}");
    assert_eq!(found[2].1, "SET b = 2");
    assert_eq!(read("a.sql").len(), 6);
}

#[test]
fn the_sandbox_line_is_for_the_client() {
    let text = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n/*!40101 SET NAMES utf8mb4 */;\n-- Dump completed on 2026-11-22\n";
    assert_eq!(
        all(text).unwrap(),
        [(3, "/*!40101 SET NAMES utf8mb4 */".to_string())]
    );
}

#[test]
fn an_incomplete_dump_is_found_with_its_last_line() {
    let head = "-- MySQL dump 10.13  Distrib 8.0.33\nselect 1;\n";
    for (rest, line, says) in [
        (
            "insert into t values ('a\nb",
            4,
            "statement that begins in line 3",
        ),
        (
            "insert into t values (1)",
            3,
            "statement that begins in line 3",
        ),
        (
            "insert into t values (1);\n",
            3,
            "without the line \"-- Dump completed\"",
        ),
        ("/* a", 3, "statement that begins in line 3"),
    ] {
        let cut = all(format!("{head}{rest}")).unwrap_err();
        assert_eq!(cut.line, line, "{rest}");
        assert!(cut.to_string().contains(says), "{cut}");
    }
    assert!(all(format!("{head}-- Dump completed\n")).is_ok());
    assert!(all("select 1").is_ok(), "a text without the head of a dump");
}

#[test]
fn a_dump_without_comments_or_of_another_program_has_a_last_line_too() {
    for (head, end) in [
        (
            "/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;",
            "/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;",
        ),
        (
            "/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;",
            "/*!40111 SET SQL_NOTES=IFNULL(@OLD_SQL_NOTES, 1) */;",
        ),
        (
            "/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;",
            "/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */;",
        ),
        (
            "SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0;",
            "SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS;",
        ),
        (
            "-- Dump created by MySQL pump utility, version: 8.0.33, Linux (x86_64)",
            "-- Dump end time: Fri Nov 27 02:30:00 2026",
        ),
    ] {
        let cut = format!("{head}\ninsert into t values (1);\n");
        let says = all(&cut).unwrap_err().to_string();
        let named = &end[..end.find([':', '=']).unwrap()];
        assert!(says.contains(named), "{head}: {says}");
        assert!(all(format!("{cut}{end}\n")).is_ok(), "{head}");
    }
}

#[test]
fn exports_of_adminer_and_navicat_end_with_a_line_of_their_own() {
    let navicat = "/*\n Navicat Premium Data Transfer\n*/\n";
    let checks = "SET FOREIGN_KEY_CHECKS = 0;\nselect 1;\n";
    for (head, end) in [
        ("-- Adminer 4.8.1 MySQL dump\n", "-- 2026-01-05 10:00:00"),
        (navicat, "SET FOREIGN_KEY_CHECKS = 1;"),
    ] {
        let cut = format!("{head}{checks}");
        let says = all(&cut).unwrap_err().to_string();
        assert!(says.contains("ends without the line"), "{head}: {says}");
        assert!(all(format!("{cut}{end}\n")).is_ok(), "{head}");
    }
    assert_eq!(all(checks).unwrap().len(), 2, "a text of somebody else");
}

#[test]
fn a_byte_order_mark_between_joined_files_is_no_text() {
    let dump = "\u{feff}-- MySQL dump 10.13\nselect 1;\n-- Dump completed\n";
    assert_eq!(sql(&dump.repeat(2)), ["select 1", "select 1"]);
    let cut = dump.repeat(2).replace("-- Dump completed\n", "");
    assert!(all(cut).is_err(), "the heads are seen");
    let text = "insert into t values ('\n\u{feff}');";
    assert_eq!(sql(text), ["insert into t values ('\n\u{feff}')"]);
}

#[test]
fn a_script_of_workbench_that_goes_on_may_end_without_a_delimiter() {
    let script = "SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS;\nSET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS;\n";
    assert_eq!(all(format!("{script}select 1")).unwrap().len(), 3);
}

#[test]
fn an_export_of_phpmyadmin_ends_with_a_commit() {
    let head = "-- phpMyAdmin SQL Dump\nSTART TRANSACTION;\nselect 1;\n";
    let says = all(head).unwrap_err().to_string();
    assert!(says.contains("no COMMIT behind its START"), "{says}");
    assert_eq!(all(format!("{head}COMMIT;\n")).unwrap().len(), 3);
    let old = head.replace("START TRANSACTION;\n", "");
    assert!(all(old).is_ok(), "earlier versions have no transaction");
}

#[test]
fn dumps_of_two_schemas_in_one_file_are_refused() {
    let dump = |schema: &str| {
        format!(
            "-- MySQL dump 10.13\n-- Host: a    Database: {schema}\nselect 1;\n-- Dump completed\n"
        )
    };
    assert_eq!(all(dump("a") + &dump("a")).unwrap().len(), 2);
    let cut = all(dump("a") + &dump("b")).unwrap_err();
    assert_eq!(cut.line, 6);
    assert!(cut.to_string().contains("the schemas a and b"), "{cut}");
}

#[test]
fn dumps_of_two_schemas_that_one_file_sources_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for schema in ["a", "b"] {
        let dump = format!(
            "-- MySQL dump 10.13\n-- Host: x    Database: {schema}\nselect 1;\n-- Dump completed\n"
        );
        std::fs::write(folder.path().join(format!("{schema}.sql")), dump).unwrap();
    }
    let sourced = |text: &str| {
        let statements = Statements::new("all.sql", text.as_bytes());
        let folder = Some(folder.path().to_path_buf());
        read(statements.beside(folder, Arc::default()))
    };
    assert_eq!(sourced("source a.sql\nsource a.sql\n").unwrap().len(), 2);
    let cut = sourced("source a.sql\nsource b.sql\n").unwrap_err();
    assert_eq!((&*cut.file, cut.line), ("b.sql", 2));
    assert!(cut.to_string().contains("the schemas a and b"), "{cut}");
}

#[test]
fn warnings_of_programs_that_were_redirected_into_the_file_are_passed_over() {
    for line in [
        "mysqldump: [Warning] Using a password on the command line interface can be insecure.",
        "Warning: Using a password on the command line interface can be insecure.",
        "WARNING: option --ssl-verify-server-cert is disabled, because of an insecure passwordless login.",
        "C:\\mysql\\bin\\mysqldump.exe: [Warning] A partial dump from a server that has GTIDs.",
        "Enter password: \r",
        "/usr/bin/mysqldump: Deprecated program name. It will be removed in a future release, use '/usr/bin/mariadb-dump' instead",
    ] {
        assert_eq!(sql(&format!("{line}\nselect 1;\n")), ["select 1"]);
    }
    for line in ["mysqldump: Got error: 1045", "/opt/mysqldump: Error 2013"] {
        let cut = all(format!("{line}\n")).unwrap_err().to_string();
        assert!(cut.contains("a message, not SQL"), "{cut}");
    }
    for line in ["-- of /usr/bin/mysql: x", "/* of /usr/bin/mysql: x */"] {
        assert_eq!(sql(&format!("{line}\nselect 1;")), ["select 1"]);
    }
}

#[test]
fn files_of_other_programs_are_named() {
    for (text, says) in [
        (
            "--\n-- PostgreSQL database dump\n",
            "of PostgreSQL or SQLite",
        ),
        ("PRAGMA foreign_keys=OFF;\n", "of PostgreSQL or SQLite"),
        ("<?xml version=\"1.0\"?>\n", "without --xml"),
        ("{\"a\": 1}\n", "is JSON"),
        ("set @a = 1;\r-- b\rselect 1;\r", "carriage return alone"),
        (
            "Tcp port: 3306  Unix socket: /run/mysqld.sock\nTime                 Id Command    Argument\n260105 10:00:00\t    8 Query\tselect 1\n",
            "the general log of a server",
        ),
    ] {
        let cut = all(text).unwrap_err().to_string();
        assert!(cut.contains(says), "{cut}");
    }
    assert!(all("select 1\n< 2;").is_ok(), "within a statement");
}

#[test]
fn a_slow_log_is_a_text_of_statements() {
    let log = "/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n# Time: 2026-01-05T10:00:00.000000Z\n# User@Host: app[app] @ localhost []  Id:     8\n# Query_time: 0.000300  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0\nuse shop;\nSET timestamp=1767607200;\nselect 1;\n# administrator command: Quit;\n";
    assert_eq!(
        sql(log),
        ["USE shop", "SET timestamp=1767607200", "select 1"]
    );
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let mut statements = Statements::new(
        "a.sql",
        &b"insert into t values (_binary '\xff\xfe;\\'');\n"[..],
    );
    let statement = statements.next().unwrap().unwrap();
    assert_eq!(
        statement.sql,
        b"insert into t values (_binary '\xff\xfe;\\'')"
    );
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        " ",
        "\n",
        "';'",
        "'it''s'",
        "\"\\\";\"",
        "`x;y`",
        "/* ; */",
        "-- ;\n",
        "# ; '\n",
        "/*!50003 b */",
    ])
}

proptest! {
    #[test]
    fn a_stream_is_split_as_a_text_is(
        parts in prop::collection::vec(prop::collection::vec(piece(), 0..6), 1..5)
    ) {
        let parts: Vec<String> = parts.iter().map(|pieces| format!("x {}", pieces.concat())).collect();
        let text = parts.join("\n;");
        let streamed: Vec<String> = sql(&text);
        let whole: Vec<&str> = crate::sql_text::statements(&text).unwrap();
        prop_assert_eq!(streamed, whole);
    }
}
