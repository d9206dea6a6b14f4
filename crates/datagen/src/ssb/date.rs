//! The rows of table date.
//!
//! Goal: the rows of the reference generator with its errors: weekdays are one day late, months are "Augest" and "Octorber", and
//! the flag of a month's last day is inverted. Non-goal: correcting them, which would change the data set.

use std::ops::Range;

use super::calendar::Day;
use super::text::Fields;
use crate::text::Text;

#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "Augest", "September", "Octorber", "November", "December",
];
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
/// Month and day.
const HOLIDAYS: [(u32, u32); 10] = [
    (12, 24),
    (1, 1),
    (2, 20),
    (4, 20),
    (5, 20),
    (7, 20),
    (8, 20),
    (9, 20),
    (10, 20),
    (11, 20),
];

/// A row of table date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    day: Day,
    /// 0 is the day that the reference generator calls Sunday.
    weekday: usize,
}

/// Iterates over a range of rows.
#[derive(Debug, Clone)]
pub struct Dates {
    rows: Range<u64>,
}

impl Dates {
    /// The rows in the range `rows`, numbered from 0. They do not depend on the scale.
    pub fn new(rows: Range<u64>) -> Dates {
        Dates { rows }
    }
}

impl Iterator for Dates {
    type Item = Date;

    fn next(&mut self) -> Option<Date> {
        let number = self.rows.next()? as u32;
        // 1992-01-01 was a Wednesday; the reference generator calls it Thursday.
        Some(Date {
            day: Day::new(number),
            weekday: (number as usize + 4) % 7,
        })
    }
}

impl Date {
    /// The date as the number YYYYMMDD.
    pub fn key(&self) -> u32 {
        self.day.key()
    }

    fn month(&self) -> &'static str {
        MONTHS[self.day.month as usize - 1]
    }

    fn season(&self) -> &'static str {
        match self.day.month {
            1..=3 => "Winter",
            4 => "Spring",
            5..=8 => "Summer",
            9..=10 => "Fall",
            _ => "Christmas",
        }
    }
}

impl Fields for Date {
    fn write(&self, text: &mut Text) {
        let Day {
            year,
            month,
            day,
            day_of_year,
        } = self.day;
        let number = |value: u32| u64::from(value);
        let weekend = self.weekday == 0 || self.weekday == 6;
        text.number(number(self.key()));
        text.free(format!("{} {day}, {year}", self.month()).as_bytes());
        text.words(&[WEEKDAYS[self.weekday].as_bytes()]);
        text.words(&[self.month().as_bytes()]);
        text.number(number(year));
        text.number(number(year * 100 + month));
        text.numbered(&self.month().as_bytes()[..3], number(year), 4);
        text.number(self.weekday as u64 + 1);
        text.number(number(day));
        text.number(number(day_of_year));
        text.number(number(month));
        text.number(number(day_of_year / 7 + 1));
        text.words(&[self.season().as_bytes()]);
        for flag in [
            self.weekday == 6,
            !self.day.ends_month(),
            HOLIDAYS.contains(&(month, day)),
            !weekend,
        ] {
            text.number(u64::from(flag));
        }
        text.end_row();
    }
}
