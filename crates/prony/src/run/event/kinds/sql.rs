//! `sql = "..."`: statements on a connection of their own. Their rows are read and dropped.

use crate::run::event::Action;
use spec::{EventKind, Needs, Node};
use std::sync::Arc;
use workload::sql_text::{is_set_global, statements};

pub(super) const KIND: EventKind<Action> = EventKind {
    name: "sql",
    in_rounds: true,
    needs: Needs::Nothing,
    outage: None,
    read,
};

const EXAMPLE: &str = "sql = \"select count(*) from part\"";

fn read(node: &Node) -> Option<Action> {
    let text = node.words(EXAMPLE)?;
    let found = match statements(&text) {
        Ok(found) => found.into_iter().map(str::to_string).collect::<Vec<_>>(),
        Err(wrong) => {
            let help = format!("separate statements by semicolons: {EXAMPLE}");
            node.note(wrong.to_string(), "here", help);
            return None;
        }
    };
    Some(Arc::new(move |happening| {
        for statement in &found {
            if happening.is_over() || !happening.is_connected() {
                return;
            }
            happening.note(statement, |own| {
                let rows = own.session()?.drain(statement);
                let rows = rows.map_err(|error| error.to_string())?;
                if is_set_global(statement) {
                    own.happened.left.push(format!(
                        "an \"sql\" event changed the server, and nothing reverts it: {statement}; in a timed load, a \"set\" event is reverted at the end"
                    ));
                }
                Ok(format!("{rows} rows in"))
            });
        }
    }))
}
