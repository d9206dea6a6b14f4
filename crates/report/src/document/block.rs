//! What a section consists of.

use super::chart::Charts;
use super::table::{Most, Table};
use std::collections::{BTreeMap, BTreeSet};

/// A titled part of the report.
pub struct Section {
    /// Its name in the page's markup.
    pub id: &'static str,
    pub title: String,
    pub nodes: Vec<Node>,
}

impl Section {
    /// None if there is nothing to show.
    pub fn unless_empty(
        id: &'static str,
        title: impl Into<String>,
        nodes: Vec<Node>,
    ) -> Option<Section> {
        let title = title.into();
        (!nodes.is_empty()).then_some(Section { id, title, nodes })
    }
}

/// A block and the forms of the report that show it.
pub struct Node {
    pub forms: Forms,
    pub block: Block,
    /// Whether the terminal shows it without `--verbose`.
    pub first_screen: bool,
}

impl Node {
    pub(crate) fn on_first_screen(self) -> Node {
        Node {
            first_screen: true,
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    pub terminal: bool,
    pub markdown: bool,
    pub page: bool,
}

impl Forms {
    pub const ALL: Forms = Forms::new(true, true, true);
    pub const PAGE: Forms = Forms::new(false, false, true);
    pub(crate) const MARKDOWN: Forms = Forms::new(false, true, false);
    pub(crate) const TERMINAL: Forms = Forms::new(true, false, false);
    /// Without the terminal.
    pub(crate) const WRITTEN: Forms = Forms::new(false, true, true);
    /// Without the page.
    pub const TEXT: Forms = Forms::new(true, true, false);

    const fn new(terminal: bool, markdown: bool, page: bool) -> Forms {
        Forms {
            terminal,
            markdown,
            page,
        }
    }
}

pub enum Block {
    Heading(String),
    Text(String),
    /// A remark in small print: how a figure was made.
    Remark(String),
    List(List),
    /// Footnotes; the first is number 1.
    Notes(Vec<String>),
    /// Name and value.
    Facts(Vec<(String, String)>),
    /// Tables with the same rows, drawn in the same way.
    Tables(Vec<Table>),
    Verbatim(String),
    Charts(Charts),
    /// Counters of any two rows.
    Compare(Compare),
    /// Folded away on the page; text forms show what is in it.
    Fold {
        summary: String,
        open: bool,
        nodes: Vec<Node>,
    },
}

pub struct List {
    pub items: Vec<String>,
    pub most: Most,
}

/// What the page needs to compare the counters of any two rows; it opens with `of` and `to`.
pub struct Compare {
    pub rows: Vec<String>,
    /// Places in `rows`.
    pub of: Option<usize>,
    pub to: Option<usize>,
    pub round: String,
    pub rounds: BTreeSet<String>,
    /// For each row, the mean per query by the name of the rounds and the counter.
    pub means: Vec<BTreeMap<String, BTreeMap<String, f64>>>,
    pub meanings: BTreeMap<String, &'static str>,
    /// Counters that may count rows twice, and by row the names of the rounds in which they do.
    pub doubled: (&'static [&'static str], Vec<Vec<String>>),
}

impl Block {
    pub fn everywhere(self) -> Node {
        self.shown(Forms::ALL)
    }

    pub fn page(self) -> Node {
        self.shown(Forms::PAGE)
    }

    pub fn shown(self, forms: Forms) -> Node {
        Node {
            forms,
            block: self,
            first_screen: false,
        }
    }

    pub fn text(text: impl Into<String>) -> Block {
        Block::Text(text.into())
    }

    pub fn remark(text: impl Into<String>) -> Block {
        Block::Remark(text.into())
    }

    pub fn table(table: Table) -> Block {
        Block::Tables(vec![table])
    }

    /// A list of which the terminal shows `most`.
    pub fn list(items: Vec<String>, most: usize) -> Block {
        let most = Most::in_terminal(most);
        Block::List(List { items, most })
    }

    pub fn fold(summary: impl Into<String>, open: bool, nodes: Vec<Node>) -> Block {
        Block::Fold {
            summary: summary.into(),
            open,
            nodes,
        }
    }
}
