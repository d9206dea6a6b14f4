//! A run in the terminal.
//!
//! Purpose: the answer first, then one table and the verdicts; the rest where it is wanted. ANSI colours and signs beyond ASCII where
//! the reader has them. Boundaries: charts are in the page.

mod table;
mod text;

use crate::document::{
    Badge, Block, Comparison, Document, Head, Headline, List, Most, Node, Section,
};
use record::visible::visible;
pub use text::{in_ascii, width, wrapped};

/// Narrower terminals get lines of this width.
const WIDTH_MIN: usize = 40;

/// What the text is written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns that no line exceeds; at least 40.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
    /// Signs beyond ASCII.
    pub unicode: bool,
    /// All sections, not only the answer, its table and the verdicts.
    pub verbose: bool,
}

/// The document for a terminal.
pub fn terminal(document: &Document, screen: &Screen) -> String {
    written(&document.head(), &document.sections, screen)
}

/// A comparison of runs for the terminal.
pub fn comparison_terminal(comparison: &Comparison, screen: &Screen) -> String {
    let all = Screen {
        verbose: true,
        ..*screen
    };
    written(&comparison.head(), &comparison.sections, &all)
}

/// Lines below a document.
pub fn lines(lines: &[String], screen: &Screen) -> String {
    let screen = screen.usable();
    let lines = lines.iter().map(|line| screen.wrapped("", line));
    lines.collect()
}

fn written(head: &Head, sections: &[Section], screen: &Screen) -> String {
    let screen = screen.usable();
    let mut text = screen.headline(head.headline);
    text.push_str(&format!("\n{}", screen.heading(head.title)));
    for about in [head.question, head.subtitle, head.measured_on] {
        if !about.is_empty() {
            text.push_str(&screen.wrapped("", about));
        }
    }
    let mut hidden = Vec::new();
    for section in sections {
        let body = screen.nodes(&section.nodes);
        if !body.is_empty() {
            text.push_str(&format!("\n{}{body}", screen.heading(&section.title)));
        } else if section.nodes.iter().any(|node| node.forms.terminal) {
            hidden.push(section.title.as_str());
        }
    }
    if !hidden.is_empty() {
        let rest = format!("With --verbose: {}.", hidden.join("; "));
        text.push_str(&format!("\n{}", screen.wrapped("", &rest)));
    }
    // No-break spaces have held figures together; whoever copies a line gets usual ones.
    text.replace('\u{a0}', " ")
}

impl Screen {
    fn usable(&self) -> Screen {
        Screen {
            width: self.width.max(WIDTH_MIN),
            ..*self
        }
    }

    fn nodes(&self, nodes: &[Node]) -> String {
        let mut text = String::new();
        let shown = |node: &&Node| node.forms.terminal && (self.verbose || node.first_screen);
        for node in nodes.iter().filter(shown) {
            let block = self.block(&node.block);
            // A section begins with its table's caption, without a blank line.
            let block = if text.is_empty() {
                block.trim_start_matches('\n')
            } else {
                &block
            };
            text.push_str(block);
        }
        text
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Heading(text) => format!("\n{}", self.wrapped("", text)),
            Block::Text(text) | Block::Remark(text) => self.wrapped(" ", text),
            Block::List(list) => self.list(list),
            Block::Notes(notes) => {
                let numbered = notes.iter().enumerate();
                let note = |(place, note): (usize, &String)| {
                    self.wrapped(&format!(" [{}] ", place + 1), note)
                };
                numbered.map(note).collect()
            }
            Block::Facts(facts) => facts
                .iter()
                .map(|(name, value)| self.wrapped(&format!(" {name} = "), value))
                .collect(),
            Block::Tables(tables) => table::tables(self, tables),
            Block::Verbatim(text) => self.verbatim(text),
            Block::Fold { summary, nodes, .. } => {
                // What is in it belongs to it.
                let all = Screen {
                    verbose: true,
                    ..*self
                };
                format!("\n{}{}", self.wrapped("", summary), all.nodes(nodes))
            }
            Block::Charts(_) | Block::Compare(_) => String::new(),
        }
    }

    fn list(&self, list: &List) -> String {
        let shown = list.items.iter().take(list.most.terminal);
        let text: String = shown.map(|item| self.wrapped(" - ", item)).collect();
        text + &more(list.items.len(), list.most)
    }

    /// Lines as they are; those that are too long continue on the next one.
    fn verbatim(&self, text: &str) -> String {
        let cleaned = self.clean(text);
        let lines = cleaned
            .lines()
            .flat_map(|line| text::split(line, self.width - 1));
        lines.map(|line| format!(" {line}\n")).collect()
    }

    /// Words on lines of the screen's width. Lines after the first begin under the first word, unless the start takes too much space.
    fn wrapped(&self, start: &str, words: &str) -> String {
        let start = self.clean(start);
        let lead = width(&start) - width(start.trim_start());
        let hangs = width(&start) <= self.width / 3;
        let (first, indent, words) = if hangs {
            (start.clone(), width(&start), self.clean(words))
        } else {
            let words = self.clean(&format!("{}{words}", start.trim_start()));
            (" ".repeat(lead), lead + 2, words)
        };
        let mut out = String::new();
        for (place, line) in text::wrapped(&words, self.width - indent)
            .iter()
            .enumerate()
        {
            let before = match place {
                0 => first.clone(),
                _ => " ".repeat(indent),
            };
            out.push_str(format!("{before}{line}").trim_end());
            out.push('\n');
        }
        out
    }

    fn heading(&self, text: &str) -> String {
        self.painted("1", self.wrapped("", text).trim_end()) + "\n"
    }

    /// The headline with its stressed parts in bold. The codes take no columns, so they are put in after the lines were broken.
    fn headline(&self, headline: &Headline) -> String {
        let lines = self.wrapped("", headline);
        if !self.colour {
            return lines;
        }
        let parts = headline.parts().into_iter();
        let stressed = parts.flat_map(|(text, is_stressed)| {
            let cleaned = self.clean(text);
            let letters: Vec<char> = cleaned.chars().filter(|c| !c.is_whitespace()).collect();
            letters.into_iter().map(move |_| is_stressed)
        });
        let mut stressed = stressed.peekable();
        let mut out = String::new();
        let mut is_bold = false;
        for letter in lines.chars() {
            let next = stressed.peek().copied().unwrap_or(false);
            let wanted = if letter.is_whitespace() {
                is_bold && next
            } else {
                next
            };
            if wanted != is_bold {
                out.push_str(if wanted { "\x1b[1m" } else { "\x1b[0m" });
                is_bold = wanted;
            }
            if !letter.is_whitespace() {
                stressed.next();
            }
            out.push(letter);
        }
        out
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    fn badge(&self, badge: Badge, text: &str) -> String {
        let code = match badge {
            Badge::Yes => "32",
            Badge::No => "31",
            Badge::Open => "33",
            Badge::None => "2",
        };
        self.painted(code, text)
    }

    fn clean(&self, text: &str) -> String {
        // A tab would take more columns than it counts for.
        let text = visible(text).replace('\t', " ");
        if self.unicode {
            text
        } else {
            text::in_ascii(&text)
        }
    }
}

fn more(all: usize, most: Most) -> String {
    if all > most.terminal && most.terminal > 0 {
        format!(" ... {} more in the report\n", all - most.terminal)
    } else {
        String::new()
    }
}
