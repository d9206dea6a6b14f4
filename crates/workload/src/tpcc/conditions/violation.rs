//! What a check of the conditions found.

use std::fmt;

/// Violations of one condition that are listed; the rest is counted.
const LISTED_PER_CONDITION: u64 = 5;
/// 1 to 12.
const CONDITIONS: usize = 12;

/// One row, district or warehouse for which a condition does not hold. Displayed as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// 1 to 12.
    pub condition: u8,
    pub warehouse: i64,
    pub district: Option<i64>,
    pub row: Option<Row>,
    /// Both values: `o_ol_cnt is 10 but the order has 9 lines`.
    pub says: String,
}

/// The row of a district that a violation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Order(i64),
    Customer(i64),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            condition,
            warehouse,
            says,
            ..
        } = self;
        write!(f, "condition {condition}: warehouse {warehouse}")?;
        if let Some(district) = self.district {
            write!(f, ", district {district}")?;
        }
        match self.row {
            Some(Row::Order(order)) => write!(f, ", order {order}")?,
            Some(Row::Customer(customer)) => write!(f, ", customer {customer}")?,
            None => {}
        }
        write!(f, ": {says}")
    }
}

/// The first violations of each condition, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    listed: Vec<Violation>,
    counts: [u64; CONDITIONS],
}

impl Violations {
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// All violations, listed or not.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first ones of each condition.
    pub fn listed(&self) -> &[Violation] {
        &self.listed
    }

    /// One sentence for each listed violation, and one for each condition with more.
    pub fn sentences(&self) -> Vec<String> {
        let listed = self.listed.iter().map(ToString::to_string);
        let more = self.counts.iter().enumerate().filter_map(|(n, count)| {
            let condition = n as u8 + 1;
            let of_condition = |one: &&Violation| one.condition == condition;
            let listed = self.listed.iter().filter(of_condition).count() as u64;
            let more = count - listed;
            (more > 0).then(|| format!("condition {condition}: {more} further violations"))
        });
        listed.chain(more).collect()
    }

    pub(super) fn push(&mut self, violation: Violation) {
        let count = &mut self.counts[usize::from(violation.condition) - 1];
        *count += 1;
        if *count <= LISTED_PER_CONDITION {
            self.listed.push(violation);
        }
    }

    /// Adds the findings of another group.
    pub(super) fn extend(&mut self, other: Violations) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.listed.extend(other.listed);
    }

    /// By condition, warehouse, district and row; at most the listed number of each condition.
    pub(super) fn sorted(mut self) -> Violations {
        self.listed.sort();
        let mut listed = [0; CONDITIONS];
        self.listed.retain(|violation| {
            let count = &mut listed[usize::from(violation.condition) - 1];
            *count += 1;
            *count <= LISTED_PER_CONDITION
        });
        self
    }
}

/// An amount in cents: `-1,234.50`.
pub(super) fn money(cents: i64) -> String {
    let (sign, cents) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    let whole = (cents / 100).to_string();
    let mut grouped = String::new();
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}.{:02}", cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(condition: u8, warehouse: i64) -> Violation {
        Violation {
            condition,
            warehouse,
            district: Some(3),
            row: Some(Row::Order(7)),
            says: "o_ol_cnt is 10 but the order has 9 lines".into(),
        }
    }

    #[test]
    fn a_violation_is_a_sentence_with_its_place_and_both_values() {
        assert_eq!(
            violation(6, 2).to_string(),
            "condition 6: warehouse 2, district 3, order 7: o_ol_cnt is 10 but the order has 9 lines"
        );
    }

    #[test]
    fn the_first_violations_of_each_condition_are_listed_and_the_rest_is_counted() {
        let mut of_groups = Violations::default();
        for group in 0..3 {
            let mut found = Violations::default();
            for warehouse in 0..4 {
                found.push(violation(6, 100 - 4 * group - warehouse));
            }
            found.push(violation(7, group));
            of_groups.extend(found);
        }
        let found = of_groups.sorted();
        assert_eq!((found.total(), found.listed().len()), (15, 8));
        assert_eq!(found.listed()[0].warehouse, 89);
        let last = found.sentences().pop().unwrap();
        assert_eq!(last, "condition 6: 7 further violations");
        assert!(Violations::default().is_empty());
    }

    #[test]
    fn amounts_are_written_with_thousands_and_cents() {
        assert_eq!(money(5), "0.05");
        assert_eq!(money(-1_000), "-10.00");
        assert_eq!(money(30_000_000), "300,000.00");
        assert_eq!(money(-123_456_789), "-1,234,567.89");
    }
}
