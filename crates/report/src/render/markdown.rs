//! A run as Markdown, fit for pasting into an issue.
//!
//! Purpose: pipe tables that GitHub and its like draw. Every text of the record is escaped, so that a name can neither break a
//! table nor bring in HTML.

use crate::document::{
    Block, Cell, Column, ColumnContent, Comparison, Document, Head, Headline, Node, Section, Table,
};
use crate::gate::{Check, Gate};
use record::visible::visible;

pub fn markdown(document: &Document) -> String {
    written_whole(&document.head(), &document.sections)
}

/// A comparison of runs as Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    written_whole(&comparison.head(), &comparison.sections)
}

/// A gate, short enough for the summary of a build.
pub fn gate_markdown(gate: &Gate) -> String {
    let row = |check: &Check| {
        let cells = [check.result.text(), &check.name, &check.text];
        cells.map(Cell::text).to_vec()
    };
    let columns = Column::list(&[(ColumnContent::Words, &["result", "check", "measured"])]);
    let checks = Table::new("", columns, gate.checks.iter().map(row));
    let invalid = gate.invalid.iter();
    let invalid = invalid.map(|why| format!("invalid trial: {}", safe(why)));
    let faults = gate.missing.iter().map(|why| safe(why)).chain(invalid);
    let parts = [
        format!("## prony: {}\n", safe(&gate.headline())),
        paragraph(&format!(
            "{}, recorded by prony {}",
            gate.subject, gate.prony
        )),
        table(&checks),
        items(faults),
    ];
    parts.join("\n").trim_end().to_string() + "\n"
}

fn written_whole(head: &Head, sections: &[Section]) -> String {
    let about = [head.question, head.subtitle, head.measured_on].into_iter();
    let about = about.filter(|about| !about.is_empty()).map(paragraph);
    let mut parts = vec![
        format!("## {}\n", safe(head.title)),
        format!("{}\n", headline(head.headline)),
    ];
    parts.extend(about);
    for section in sections {
        let body = nodes(&section.nodes);
        if !body.is_empty() {
            parts.push(format!("### {}\n", safe(&section.title)));
            parts.extend(body);
        }
    }
    parts.join("\n")
}

fn headline(headline: &Headline) -> String {
    let parts = headline.parts().into_iter();
    let written = parts.map(|(text, is_stressed)| match is_stressed {
        true => format!("**{}**", safe(text)),
        false => safe(text),
    });
    written.collect()
}

fn nodes(nodes: &[Node]) -> Vec<String> {
    let shown = nodes.iter().filter(|node| node.forms.markdown);
    shown.flat_map(|node| block(&node.block)).collect()
}

/// Paragraphs, each with its line end.
fn block(block: &Block) -> Vec<String> {
    match block {
        Block::Heading(text) => vec![format!("#### {}\n", safe(text))],
        Block::Text(text) | Block::Remark(text) => vec![paragraph(text)],
        Block::List(list) => vec![items(list.items.iter().map(|item| safe(item)))],
        Block::Notes(notes) => {
            let numbered = notes.iter().enumerate();
            let note =
                |(place, note): (usize, &String)| format!("\\[{}\\] {}\n", place + 1, safe(note));
            numbered.map(note).collect()
        }
        Block::Facts(facts) => {
            let fact =
                |(name, value): &(String, String)| format!("{} = {}", safe(name), safe(value));
            vec![items(facts.iter().map(fact))]
        }
        Block::Tables(tables) => tables.iter().map(table).collect(),
        Block::Verbatim(text) => {
            let lines = text.lines().map(|line| format!("    {line}\n"));
            vec![lines.collect()]
        }
        Block::Fold {
            summary, nodes: of, ..
        } => std::iter::once(paragraph(summary))
            .chain(nodes(of))
            .collect(),
        Block::Charts(_) | Block::Compare(_) => Vec::new(),
    }
}

fn paragraph(text: &str) -> String {
    format!("{}\n", safe(text))
}

fn items(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("- {item}\n")).collect()
}

fn table(table: &Table) -> String {
    let mut text = if table.caption.is_empty() {
        String::new()
    } else {
        format!("{}:\n\n", safe(&table.caption))
    };
    let columns = || table.columns.iter();
    text.push_str(&line(columns().map(|column| safe(&column.head))));
    let rules = columns().map(|column| match column.kind {
        ColumnContent::Figure => "---:".to_string(),
        _ => "---".to_string(),
    });
    text.push_str(&line(rules));
    for row in table.rows.iter().take(table.most.markdown) {
        let cells = row.cells.iter().zip(columns());
        text.push_str(&line(
            cells.map(|(cell, column)| safe(&written(cell, column.kind))),
        ));
    }
    text
}

fn written(cell: &Cell, kind: ColumnContent) -> String {
    match (kind, &cell.sentence) {
        (ColumnContent::Figure, None) => cell.on_a_line(),
        (ColumnContent::Figure, Some(sentence)) => {
            let marks = crate::document::marks(&cell.marks);
            [marks.as_str(), sentence].join(" ").trim().to_string()
        }
        _ => cell.in_words(),
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Text without meaning to Markdown, on one line. Control characters, and those that reorder the text around them, are escapes.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
