//! What became of the operations of each cell: every operation of the mix, also one that never completed.
//!
//! Boundaries: invalid trials are in it, since they are often invalid because of this. Requirements of a standard are in `operations`.

use super::errors;
use crate::build::Context;
use crate::build::rows::Row;
use crate::document::{Block, Cell, Column, ColumnContent, Most, Section, Table};
use crate::format;
use record::Account;

/// Rows of the terminal; the page and Markdown show all.
const ROWS: usize = 20;

pub(super) fn section(context: &Context) -> Option<Section> {
    let rows = context.rows.list.iter();
    let mut found: Vec<(String, Account)> = rows
        .flat_map(|row| {
            let accounts = accounts(context, row).into_iter();
            accounts.map(|account| (row.name.clone(), account))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    // The terminal may not show all.
    found.sort_by_key(|(_, account)| account.spoiled() == 0);
    let columns = Column::list(&[
        (ColumnContent::Label, &["cell", "operation"]),
        (
            ColumnContent::Figure,
            &["started", "done", "failed or lost", "cut off"],
        ),
        (ColumnContent::Words, &["errors"]),
    ]);
    let rows = found.iter().map(|(name, account)| cells(name, account));
    let about = "All blocks, invalid ones included. Cut off: still running at the end of the load. Errors include those behind retries.";
    let nodes = vec![
        Block::table(Table::new("", columns, rows).most(Most::in_terminal(ROWS))).everywhere(),
        Block::remark(about).everywhere(),
    ];
    Section::unless_empty("accounts", "Operations by outcome", nodes)
}

/// Over all blocks, in the workload's order.
fn accounts(context: &Context, row: &Row) -> Vec<Account> {
    let recorded = context.recorded.iter();
    let own = recorded.filter(|one| row.all.iter().any(|trial| std::ptr::eq(one.trial, *trial)));
    let summaries = own.filter_map(|one| one.summary.as_deref());
    let all = summaries.flat_map(|summary| &summary.accounts);
    stats::summed(all, |account| &account.name, Account::add)
}

fn cells(name: &str, account: &Account) -> Vec<Cell> {
    let count = |count: u64| Cell::text(format::count(count as f64));
    let codes = account.errors_by_code.iter();
    let codes: Vec<String> = codes
        .map(|(code, count)| {
            let name = errors::words(*code);
            format!("{} × {code} {name}", format::count(*count as f64))
                .trim_end()
                .to_string()
        })
        .collect();
    vec![
        Cell::text(name),
        Cell::text(&account.name),
        count(account.starts),
        count(account.done),
        count(account.errors),
        count(account.unfinished),
        Cell::text(codes.join(", ")),
    ]
}
