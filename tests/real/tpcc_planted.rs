//! 36 violations of the twelve conditions, planted in loaded tables and repaired again.

use server::Session;
use workload::tpcc::conditions::Row;

/// What a repair needs.
const BACKUP: &str = "prony_tpcc.kept";

/// How a consistent warehouse is damaged. `row` selects rows of `table`.
enum Damage {
    /// Changes the selected rows.
    Change {
        row: &'static str,
        set: &'static str,
    },
    /// Deletes the selected rows.
    Delete { row: &'static str },
    /// Adds a changed copy of the selected row, which belongs to nothing. `copy` selects it.
    Orphan {
        row: &'static str,
        set: &'static str,
        copy: &'static str,
    },
}
use Damage::{Change, Delete, Orphan};

/// A damage of a table and where the condition must be found violated.
pub(crate) struct Plant {
    pub condition: u8,
    table: &'static str,
    damage: Damage,
    pub warehouse: i64,
    pub district: Option<i64>,
    pub row: Option<Row>,
}

fn plant(condition: u8, table: &'static str, damage: Damage) -> Plant {
    Plant {
        condition,
        table,
        damage,
        warehouse: 1,
        district: None,
        row: None,
    }
}

impl Plant {
    fn at(self, district: i64, row: impl Into<Option<Row>>) -> Plant {
        Plant {
            district: Some(district),
            row: row.into(),
            ..self
        }
    }

    fn in_warehouse(self, warehouse: i64) -> Plant {
        Plant { warehouse, ..self }
    }

    pub(crate) fn name(&self) -> String {
        let kind = match self.damage {
            Change { .. } => "changed row",
            Delete { .. } => "deleted row",
            Orphan { .. } => "orphan",
        };
        format!("condition {}, {kind} of {}", self.condition, self.table)
    }

    /// Damages the table, keeping what is needed to repair it.
    pub(crate) fn damage(&self, session: &mut Session) {
        let table = format!("prony_tpcc.{}", self.table);
        let (Change { row, .. } | Delete { row } | Orphan { row, .. }) = &self.damage;
        let keep = format!("CREATE TABLE {BACKUP} AS SELECT * FROM {table} WHERE {row}");
        session.execute(&keep).unwrap();
        let damaged = match &self.damage {
            Change { row, set } => {
                session.execute(&format!("UPDATE {table} SET {set} WHERE {row}"))
            }
            Delete { row } => session.execute(&format!("DELETE FROM {table} WHERE {row}")),
            Orphan { set, .. } => {
                session
                    .execute(&format!("UPDATE {BACKUP} SET {set}"))
                    .unwrap();
                session.execute(&format!("INSERT INTO {table} SELECT * FROM {BACKUP}"))
            }
        };
        assert_eq!(damaged.unwrap(), 1, "{}", self.name());
    }

    pub(crate) fn repair(&self, session: &mut Session) {
        let table = format!("prony_tpcc.{}", self.table);
        let back = format!("INSERT INTO {table} SELECT * FROM {BACKUP}");
        let remove = |row: &str| format!("DELETE FROM {table} WHERE {row}");
        let repairs = match &self.damage {
            Change { set, .. } if changes_the_key(set) => vec![remove(&moved(set)), back],
            Change { row, .. } => vec![remove(row), back],
            Delete { .. } => vec![back],
            Orphan { copy, .. } => vec![remove(copy)],
        };
        for sql in repairs {
            assert_eq!(session.execute(&sql).unwrap(), 1, "{}: {sql}", self.name());
        }
        session.execute(&format!("DROP TABLE {BACKUP}")).unwrap();
    }
}

fn changes_the_key(set: &str) -> bool {
    set.starts_with("no_")
}

/// Selects a new_order row after its key was set.
fn moved(set: &str) -> String {
    format!("no_w_id = 1 AND {}", set.replace(", ", " AND "))
}

/// Three violations of each condition: a changed row, a deleted one, and an orphan.
pub(crate) fn plants() -> [Plant; 36] {
    let (order, customer) = (Row::Order, Row::Customer);
    [
        plant(
            1,
            "district",
            Change {
                row: "d_w_id = 1 AND d_id = 3",
                set: "d_ytd = d_ytd + 0.01",
            },
        ),
        plant(
            1,
            "district",
            Delete {
                row: "d_w_id = 1 AND d_id = 3",
            },
        ),
        plant(
            1,
            "district",
            Orphan {
                row: "d_w_id = 1 AND d_id = 3",
                set: "d_w_id = 2",
                copy: "d_w_id = 2",
            },
        )
        .in_warehouse(2),
        plant(
            2,
            "district",
            Change {
                row: "d_w_id = 1 AND d_id = 4",
                set: "d_next_o_id = 3002",
            },
        )
        .at(4, None),
        plant(
            2,
            "orders",
            Delete {
                row: "o_w_id = 1 AND o_d_id = 4 AND o_id = 3000",
            },
        )
        .at(4, None),
        plant(
            2,
            "orders",
            Orphan {
                row: "o_w_id = 1 AND o_d_id = 4 AND o_id = 9",
                set: "o_id = 3005",
                copy: "o_id = 3005",
            },
        )
        .at(4, None),
        plant(
            3,
            "new_order",
            Change {
                row: "no_w_id = 1 AND no_d_id = 5 AND no_o_id = 2101",
                set: "no_d_id = 5, no_o_id = 2100",
            },
        )
        .at(5, None),
        plant(
            3,
            "new_order",
            Delete {
                row: "no_w_id = 1 AND no_d_id = 5 AND no_o_id = 2500",
            },
        )
        .at(5, None),
        plant(
            3,
            "new_order",
            Orphan {
                row: "no_w_id = 1 AND no_d_id = 5 AND no_o_id = 2500",
                set: "no_o_id = 7",
                copy: "no_o_id = 7",
            },
        )
        .at(5, None),
        plant(
            4,
            "orders",
            Change {
                row: "o_w_id = 1 AND o_d_id = 6 AND o_id = 100",
                set: "o_ol_cnt = o_ol_cnt + 1",
            },
        )
        .at(6, None),
        plant(
            4,
            "order_line",
            Delete {
                row: "ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 100 AND ol_number = 2",
            },
        )
        .at(6, None),
        plant(
            4,
            "order_line",
            Orphan {
                row: "ol_w_id = 1 AND ol_d_id = 6 AND ol_o_id = 100 AND ol_number = 2",
                set: "ol_o_id = 5000",
                copy: "ol_o_id = 5000",
            },
        )
        .at(6, None),
        plant(
            5,
            "orders",
            Change {
                row: "o_w_id = 1 AND o_d_id = 7 AND o_id = 10",
                set: "o_carrier_id = NULL",
            },
        )
        .at(7, order(10)),
        plant(
            5,
            "new_order",
            Delete {
                row: "no_w_id = 1 AND no_d_id = 7 AND no_o_id = 2500",
            },
        )
        .at(7, order(2500)),
        plant(
            5,
            "new_order",
            Orphan {
                row: "no_w_id = 1 AND no_d_id = 7 AND no_o_id = 3000",
                set: "no_o_id = 3001",
                copy: "no_o_id = 3001",
            },
        )
        .at(7, order(3001)),
        plant(
            6,
            "orders",
            Change {
                row: "o_w_id = 1 AND o_d_id = 8 AND o_id = 20",
                set: "o_ol_cnt = o_ol_cnt - 1",
            },
        )
        .at(8, order(20)),
        plant(
            6,
            "order_line",
            Delete {
                row: "ol_w_id = 1 AND ol_d_id = 8 AND ol_o_id = 20 AND ol_number = 1",
            },
        )
        .at(8, order(20)),
        plant(
            6,
            "order_line",
            Orphan {
                row: "ol_w_id = 1 AND ol_d_id = 8 AND ol_o_id = 2999 AND ol_number = 1",
                set: "ol_o_id = 4999",
                copy: "ol_o_id = 4999",
            },
        )
        .at(8, order(4999)),
        plant(
            7,
            "order_line",
            Change {
                row: "ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 30 AND ol_number = 1",
                set: "ol_delivery_d = NULL",
            },
        )
        .at(9, order(30)),
        plant(
            7,
            "orders",
            Delete {
                row: "o_w_id = 1 AND o_d_id = 9 AND o_id = 31",
            },
        )
        .at(9, order(31)),
        plant(
            7,
            "order_line",
            Orphan {
                row: "ol_w_id = 1 AND ol_d_id = 9 AND ol_o_id = 30 AND ol_number = 1",
                set: "ol_o_id = 4998",
                copy: "ol_o_id = 4998",
            },
        )
        .at(9, order(4998)),
        plant(
            8,
            "warehouse",
            Change {
                row: "w_id = 1",
                set: "w_ytd = w_ytd + 1",
            },
        ),
        plant(
            8,
            "history",
            Delete {
                row: "h_w_id = 1 AND h_d_id = 1 AND h_c_id = 8",
            },
        ),
        plant(
            8,
            "history",
            Orphan {
                row: "h_w_id = 1 AND h_d_id = 1 AND h_c_id = 8",
                set: "h_w_id = 3",
                copy: "h_w_id = 3",
            },
        )
        .in_warehouse(3),
        plant(
            9,
            "district",
            Change {
                row: "d_w_id = 1 AND d_id = 10",
                set: "d_ytd = d_ytd - 1",
            },
        )
        .at(10, None),
        plant(
            9,
            "history",
            Delete {
                row: "h_w_id = 1 AND h_d_id = 10 AND h_c_id = 9",
            },
        )
        .at(10, None),
        plant(
            9,
            "history",
            Orphan {
                row: "h_w_id = 1 AND h_d_id = 10 AND h_c_id = 9",
                set: "h_d_id = 11",
                copy: "h_d_id = 11",
            },
        )
        .at(11, None),
        plant(
            10,
            "customer",
            Change {
                row: "c_w_id = 1 AND c_d_id = 2 AND c_id = 77",
                set: "c_balance = c_balance + 0.01",
            },
        )
        .at(2, customer(77)),
        plant(
            10,
            "history",
            Delete {
                row: "h_c_w_id = 1 AND h_c_d_id = 2 AND h_c_id = 78",
            },
        )
        .at(2, customer(78)),
        plant(
            10,
            "history",
            Orphan {
                row: "h_c_w_id = 1 AND h_c_d_id = 2 AND h_c_id = 78",
                set: "h_c_id = 3001",
                copy: "h_c_id = 3001",
            },
        )
        .at(2, customer(3001)),
        plant(
            11,
            "new_order",
            Change {
                row: "no_w_id = 1 AND no_d_id = 3 AND no_o_id = 2101",
                set: "no_d_id = 4, no_o_id = 2100",
            },
        )
        .at(3, None),
        plant(
            11,
            "new_order",
            Delete {
                row: "no_w_id = 1 AND no_d_id = 3 AND no_o_id = 2101",
            },
        )
        .at(3, None),
        plant(
            11,
            "orders",
            Orphan {
                row: "o_w_id = 1 AND o_d_id = 3 AND o_id = 1",
                set: "o_d_id = 11",
                copy: "o_d_id = 11",
            },
        )
        .at(11, None),
        plant(
            12,
            "customer",
            Change {
                row: "c_w_id = 1 AND c_d_id = 5 AND c_id = 2999",
                set: "c_ytd_payment = 11",
            },
        )
        .at(5, customer(2999)),
        plant(
            12,
            "customer",
            Delete {
                row: "c_w_id = 1 AND c_d_id = 5 AND c_id = 2999",
            },
        )
        .at(5, customer(2999)),
        plant(
            12,
            "orders",
            Orphan {
                row: "o_w_id = 1 AND o_d_id = 5 AND o_id = 40",
                set: "o_id = 3001, o_c_id = 3002",
                copy: "o_id = 3001",
            },
        )
        .at(5, customer(3002)),
    ]
}
