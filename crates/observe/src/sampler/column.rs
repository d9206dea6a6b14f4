//! One growing series: one value per second, or none.
//!
//! It can hold hundreds of counters for hours, because a series that never changes, as most do, takes no memory.

/// The run of equal leading values, then the other values. NaN means absent.
#[derive(Default)]
pub(super) struct Column {
    leading: f64,
    leads: usize,
    rest: Vec<f64>,
}

impl Column {
    /// Adds the value of a second later than all earlier ones; the seconds between are absent.
    pub(super) fn put(&mut self, second: u32, value: f64) {
        while self.len() < second as usize {
            self.push(f64::NAN);
        }
        self.push(value);
    }

    fn push(&mut self, value: f64) {
        if self.leads == 0 {
            self.leading = value;
        }
        let is_same = self.leading.to_bits() == value.to_bits();
        if self.rest.is_empty() && is_same {
            self.leads += 1;
        } else {
            self.rest.push(value);
        }
    }

    fn len(&self) -> usize {
        self.leads + self.rest.len()
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let leading = std::iter::repeat_n(self.leading, self.leads);
        leading.chain(self.rest.iter().copied())
    }

    fn present(&self) -> impl Iterator<Item = f64> {
        self.values().filter(|value| !value.is_nan())
    }

    /// Whether any value is not zero.
    pub(super) fn is_ever_nonzero(&self) -> bool {
        self.present().any(|value| value != 0.0)
    }

    /// Whether the values differ at all.
    pub(super) fn varies(&self) -> bool {
        let mut present = self.present();
        let first = present.next();
        present.any(|value| Some(value) != first)
    }

    /// The values of this many seconds.
    pub(super) fn into_series(self, seconds: usize) -> Vec<Option<f64>> {
        let values = self
            .values()
            .map(|value| (!value.is_nan()).then_some(value));
        values
            .chain(std::iter::repeat(None))
            .take(seconds)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(values: &[Option<f64>]) -> Column {
        let mut column = Column::default();
        for (second, value) in values.iter().enumerate() {
            if let Some(value) = value {
                column.put(second as u32, *value);
            }
        }
        column
    }

    #[test]
    fn a_constant_series_takes_no_memory() {
        let column = column(&[Some(7.0); 10_000]);
        assert_eq!((column.rest.capacity(), column.len()), (0, 10_000));
        assert!(!column.varies() && column.is_ever_nonzero());
    }

    #[test]
    fn an_absent_second_is_not_a_change() {
        assert!(!column(&[Some(1.0), None, Some(1.0)]).varies());
        assert!(column(&[None, Some(1.0), Some(2.0)]).varies());
        assert!(!column(&[None, Some(0.0)]).is_ever_nonzero());
    }

    proptest! {
        #[test]
        fn values_are_returned_unchanged(values in prop::collection::vec(prop::option::of((0_u8..3).prop_map(f64::from)), 0..40)) {
            prop_assert_eq!(column(&values).into_series(values.len()), values);
        }
    }
}
