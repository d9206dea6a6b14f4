//! Whether the first line of a file has the names of columns.

use super::TableFile;
use super::columns::Column;
use super::read::{Form, Mistake, Reader};
use std::io::BufRead;

/// The columns that the first record names, in its order; None: it is a row.
///
/// # Errors
/// The header has a name that is no column, or names a column twice.
pub(super) fn read<R: BufRead>(
    first: &Reader<R>,
    columns: &[Column],
    file: &TableFile,
) -> Result<Option<Vec<Column>>, Mistake> {
    let texts = first.fields().map(|(text, _)| {
        let text = String::from_utf8_lossy(text);
        without_table(text.trim(), &file.table).to_string()
    });
    let mut names: Vec<String> = texts.collect();
    // A line of a .tbl file ends with the separator.
    if names.len() > 1 && names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    let named: Vec<Option<&Column>> = names
        .iter()
        .map(|name| {
            let mut columns = columns.iter();
            columns.find(|column| column.name.to_lowercase() == name.to_lowercase())
        })
        .collect();
    let unknown = names
        .iter()
        .zip(&named)
        .find(|(_, column)| column.is_none());
    let is_any = named.iter().any(Option::is_some) || are_alike(&names, columns);
    match (file.header, unknown) {
        (Some(false), _) => Ok(None),
        (_, None) if !names.is_empty() => {
            let named: Vec<Column> = named.into_iter().flatten().cloned().collect();
            match twice(&named) {
                Some(name) => Err(first.mistake(format!(
                    "the header names {name:?} twice, and servers would keep one of the fields; remove the other one"
                ))),
                None => Ok(Some(named)),
            }
        }
        (None, _) if !is_any => Ok(None),
        (_, Some((name, _))) => Err(first.mistake(mistaken(name, columns, file))),
        (_, None) => Ok(None),
    }
}

/// The name of the column in `orders.id`, as Hive writes it.
fn without_table<'n>(name: &'n str, table: &str) -> &'n str {
    match name.split_once('.') {
        Some((own, column)) if own.eq_ignore_ascii_case(table) => column,
        _ => name,
    }
}

/// Whether the line seems to have headings that differ from names of columns in spaces and signs alone. Values do so too, as `C-1` from
/// `c1`: one alone with a digit is no heading, and none is beside a number.
fn are_alike(names: &[String], columns: &[Column]) -> bool {
    let is_value = |name: &String| name.starts_with(|c: char| c.is_numeric() || "+-.".contains(c));
    let alike = names.iter().filter(|name| is_alike(name, columns));
    let have_digits: Vec<bool> = alike.map(|name| name.contains(char::is_numeric)).collect();
    !names.iter().any(is_value) && (have_digits.len() > 1 || have_digits.contains(&false))
}

/// Whether spaces and signs alone distinguish the name from that of a column: `Order ID` for `order_id`.
fn is_alike(name: &str, columns: &[Column]) -> bool {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(|sign| sign.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let own = letters(name);
    !own.is_empty() && columns.iter().any(|column| letters(&column.name) == own)
}

/// A column that comes more than once.
fn twice(named: &[Column]) -> Option<&str> {
    let mut later = named.iter().enumerate();
    let (_, column) = later.find(|(at, column)| {
        let earlier = &named[..*at];
        earlier.iter().any(|known| known.name == column.name)
    })?;
    Some(&column.name)
}

fn mistaken(name: &str, columns: &[Column], file: &TableFile) -> String {
    let columns: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let way = match file.header {
        Some(_) => String::new(),
        None => format!(
            "; if the line is a row, write load.{} = {{ file = \"...\", header = false }}",
            file.table
        ),
    };
    format!(
        "the header names {name:?}, which is not a column of {}; it has {}{way}",
        file.table,
        columns.join(", ")
    )
}

/// The columns of a file without a header, from its first record.
///
/// # Errors
/// The record has as many fields as `SELECT *` returns, with those of generated columns: only a header says which they are.
pub(super) fn all<R: BufRead>(
    first: &Reader<R>,
    columns: &[Column],
) -> Result<Vec<Column>, Mistake> {
    let shown = columns.iter().filter(|column| !column.is_invisible);
    let (generated, given): (Vec<Column>, Vec<Column>) =
        shown.cloned().partition(|column| column.is_generated);
    // An empty field at the end may be that of a separator behind the last one.
    let is_whole = first.len() == given.len() + generated.len()
        && first.fields().last() != Some((b"", Form::Plain));
    match generated.first().filter(|_| is_whole) {
        None => Ok(given),
        Some(column) => Err(first.mistake(format!(
            "the line has a field for the generated column {} too, and its place is not certain: write the names of the columns into a line above, and prony passes over that field",
            column.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Syntax;
    use super::*;

    fn header(line: &str, header: Option<bool>) -> Result<Option<Vec<String>>, String> {
        header_of(line, header, &["id", "Region", "price"])
    }

    fn header_of(
        line: &str,
        header: Option<bool>,
        columns: &[&str],
    ) -> Result<Option<Vec<String>>, String> {
        let column = |name: &&str| Column::new(name, "varchar", "");
        let columns: Vec<Column> = columns.iter().map(column).collect();
        let mut reader = Reader::new(line.as_bytes(), Syntax::Csv);
        reader.read().unwrap();
        let file = TableFile {
            table: "orders".into(),
            path: "orders.csv".into(),
            header,
            ..TableFile::default()
        };
        let named = read(&reader, &columns, &file).map_err(|mistake| mistake.says)?;
        Ok(named.map(|columns| columns.into_iter().map(|column| column.name).collect()))
    }

    #[test]
    fn a_first_line_of_column_names_is_a_header_and_gives_their_order() {
        let names = Some(vec!["price".to_string(), "id".to_string()]);
        assert_eq!(header("\"price\", ID\r\n", None), Ok(names.clone()));
        assert_eq!(header("orders.price,Orders.id\n", None), Ok(names));
        assert_eq!(header("1,north,2.5\n", None), Ok(None));
        assert_eq!(header("id,price\n", Some(false)), Ok(None));
    }

    #[test]
    fn a_header_with_a_name_that_is_no_column_is_refused() {
        let says = header("id,title,price\n", None).unwrap_err();
        assert!(
            says.contains("\"title\", which is not a column of orders; it has id, Region, price")
                && says.contains("header = false"),
            "{says}"
        );
        assert!(header("a,b,c\n", Some(true)).is_err());
        let says = header("Re-gion,Unit price\n", None).unwrap_err();
        assert!(
            says.contains("\"Re-gion\", which is not a column"),
            "{says}"
        );
        assert_eq!(header("a,-,\n", None), Ok(None));
    }

    #[test]
    fn values_that_are_nearly_names_are_no_header() {
        let of = |line: &str| header_of(line, None, &["c1", "c2", "order_id"]);
        for line in ["C-1\n", "C-1,north,A 7\n", "Order ID,2,north\n"] {
            assert_eq!(of(line), Ok(None), "{line}");
        }
        for line in ["C 1,C 2,Order\n", "Order ID,C 1,North\n", ",Order ID\n"] {
            assert!(of(line).is_err(), "{line}");
        }
        assert!(of("'order_id','x'\n").is_err());
    }

    #[test]
    fn a_header_that_names_a_column_twice_is_refused() {
        let says = header("id,price,Price\n", None).unwrap_err();
        assert!(says.contains("names \"price\" twice"), "{says}");
    }

    #[test]
    fn columns_that_the_server_fills_have_no_field() {
        let column = |name, extra| Column::new(name, "int", extra);
        let columns = [
            column("id", "auto_increment"),
            column("a", "VIRTUAL GENERATED"),
            column("b", "DEFAULT_GENERATED"),
            column("c", "PERSISTENT"),
        ];
        let all = |line: &str| {
            let mut reader = Reader::new(line.as_bytes(), Syntax::Csv);
            reader.read().unwrap();
            let all = super::all(&reader, &columns).map_err(|mistake| mistake.says)?;
            let names = all.into_iter().map(|column| column.name);
            Ok::<Vec<String>, String>(names.collect())
        };
        let given = vec!["id".to_string(), "b".to_string()];
        for line in ["1,2\n", "1,2,3\n", "1,2,,\n", ""] {
            assert_eq!(all(line).as_ref(), Ok(&given), "{line}");
        }
        let says = all("1,2,3,4\n").unwrap_err();
        assert!(says.contains("the generated column a too"), "{says}");
    }
}
