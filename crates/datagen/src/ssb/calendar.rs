//! The days from 1992-01-01 to 1998-12-31.
//!
//! Goal: the date of a day by its number, as integers and as the eight digits YYYYMMDD. Non-goals: other years, weeks, time zones.

/// Days from 1992-01-01 to 1998-12-31.
pub(super) const DAYS: usize = 2_557;

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) year: u32,
    /// 1 to 12.
    pub(super) month: u32,
    /// 1 to 31.
    pub(super) day: u32,
    /// 1 to 366.
    pub(super) day_of_year: u32,
}

impl Day {
    /// The day `number` days after 1992-01-01.
    pub(super) const fn new(number: u32) -> Day {
        let (mut year, mut rest) = (1992, number);
        while rest >= 365 + leap(year) {
            rest -= 365 + leap(year);
            year += 1;
        }
        let day_of_year = rest + 1;
        let mut month = 1;
        while rest >= days_of(year, month) {
            rest -= days_of(year, month);
            month += 1;
        }
        Day {
            year,
            month,
            day: rest + 1,
            day_of_year,
        }
    }

    /// The date as the number YYYYMMDD.
    pub(super) const fn key(self) -> u32 {
        self.year * 10_000 + self.month * 100 + self.day
    }

    pub(super) const fn ends_month(self) -> bool {
        self.day == days_of(self.year, self.month)
    }
}

/// The dates of all days as eight digits, indexed by the day's number.
pub(super) static DIGITS: [[u8; 8]; DAYS] = digits();

const fn digits() -> [[u8; 8]; DAYS] {
    let mut all = [[0; 8]; DAYS];
    let mut number = 0;
    while number < DAYS {
        let mut key = Day::new(number as u32).key();
        let mut place = 8;
        while place > 0 {
            place -= 1;
            all[number][place] = b'0' + (key % 10) as u8;
            key /= 10;
        }
        number += 1;
    }
    all
}

/// 1 in a leap year. The range contains no year that is divisible by 100.
const fn leap(year: u32) -> u32 {
    year.is_multiple_of(4) as u32
}

const fn days_of(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + leap(year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_runs_from_new_year_1992_to_new_years_eve_1998() {
        assert_eq!(Day::new(0).key(), 19_920_101);
        assert_eq!(Day::new(59).key(), 19_920_229);
        assert_eq!(Day::new(366).key(), 19_930_101);
        assert_eq!(&DIGITS[DAYS - 1], b"19981231");
        assert_eq!(Day::new(DAYS as u32 - 1).day_of_year, 365);
    }
}
