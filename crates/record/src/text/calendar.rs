//! Dates and times of day, for names and tables.

/// A second in the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    year: i64,
    month: i64,
    day: i64,
    second_of_day: i64,
}

const DAY_S: i64 = 24 * 3600;
/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAYS_OF_400_YEARS: i64 = 146_097;

impl Moment {
    /// UTC, from seconds since the Unix epoch. With a zone's offset added to them: local time.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years begin in March, so that a leap day is the last.
    pub fn from_unix(unix_s: i64) -> Moment {
        let of_day = unix_s.rem_euclid(DAY_S);
        let days = unix_s.div_euclid(DAY_S) + DAYS_TO_EPOCH;
        let era = days.div_euclid(DAYS_OF_400_YEARS);
        let of_era = days.rem_euclid(DAYS_OF_400_YEARS);
        let years =
            (of_era - of_era / 1_460 + of_era / 36_524 - of_era / (DAYS_OF_400_YEARS - 1)) / 365;
        let of_year = of_era - (365 * years + years / 4 - years / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Moment {
            year: era * 400 + years + i64::from(month <= 2),
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            second_of_day: of_day,
        }
    }

    /// `2024-02-29`.
    pub fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `23:59:59`.
    pub fn time(&self) -> String {
        let of_day = self.second_of_day;
        let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
        format!("{hour:02}:{minute:02}:{:02}", of_day % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_before_and_after_the_epoch_have_their_dates() {
        let known = [
            (0, "1970-01-01", "00:00:00"),
            (-1, "1969-12-31", "23:59:59"),
            (951_782_400, "2000-02-29", "00:00:00"),
            (1_709_251_199, "2024-02-29", "23:59:59"),
            (4_107_542_399, "2100-02-28", "23:59:59"),
            (4_107_542_400, "2100-03-01", "00:00:00"),
            (-9_223_372_037, "1677-09-21", "00:12:43"),
            (9_223_372_036, "2262-04-11", "23:47:16"),
        ];
        for (unix_s, date, time) in known {
            let at = Moment::from_unix(unix_s);
            assert_eq!((at.date().as_str(), at.time().as_str()), (date, time));
        }
    }

    #[test]
    fn four_centuries_of_days_follow_each_other() {
        let mut before = Moment::from_unix(0);
        for day in 1..=DAYS_OF_400_YEARS {
            let next = Moment::from_unix(day * DAY_S);
            let follows = match (next.month, next.day) {
                (1, 1) => (next.year, 12, 31) == (before.year + 1, before.month, before.day),
                (_, 1) => next.month == before.month + 1 && before.day >= 28,
                (_, day) => (next.month, day) == (before.month, before.day + 1) && day <= 31,
            };
            assert!(follows, "{before:?} is followed by {next:?}");
            before = next;
        }
        assert_eq!((before.year, before.month, before.day), (2370, 1, 1));
    }
}
