//! Which units go on: all until the first look at the claims, then those of undecided claims.
//!
//! Purpose: the cells of each block, and why a run ends. Boundaries: `record::Looks` has the looks, the caller judges the claims.

use super::finished::{Finished, Known};
use super::{BlockPlace, Plan};
use record::{Cell, Ended, TrialKey};

/// Of each claim of the experiment, whether the first so many blocks leave it undecided. A pure function of the finished trials of
/// these blocks.
pub type Undecided<'u> = dyn Fn(u32) -> Vec<bool> + 'u;

impl Plan<'_> {
    /// The places of each block in execution order, as long as blocks go on.
    pub(super) fn blocks_going_on<'p>(
        &'p self,
        finished: &'p [Finished],
        undecided: &'p Undecided,
    ) -> impl Iterator<Item = Vec<&'p BlockPlace>> {
        let blocks = self.order.chunk_by(|a, b| a.block == b.block);
        blocks.map_while(move |block| {
            let units = self.going_on(block[0].block, finished, undecided).ok()?;
            let places = block.iter().filter(|place| units[place.unit]);
            Some(places.collect())
        })
    }

    /// Why the run ends, if all trials up to there are finished.
    pub fn ended(&self, finished: &[Finished], undecided: &Undecided) -> Ended {
        let blocks = 0..self.looks.most();
        let stopped = blocks
            .map(|block| self.going_on(block, finished, undecided))
            .find_map(Result::err);
        let depends = self
            .looks
            .all()
            .last()
            .is_some_and(|look| look.only_undecided);
        let is_decided = || self.open_cells(self.looks.most(), undecided).is_empty();
        stopped.unwrap_or_else(|| match depends && is_decided() {
            true => Ended::Decided,
            false => Ended::Most,
        })
    }

    /// The trials that are not finished, up to the look for which this block is measured, or a later one that a resumed run has already. In
    /// execution order.
    pub fn until_look(
        &self,
        block: u32,
        finished: &[Finished],
        undecided: &Undecided,
    ) -> Vec<TrialKey> {
        let measured = finished.iter().map(|one| one.key.block);
        let block = measured.fold(block, u32::max);
        let (_, next) = self.looks.around(block);
        let blocks = next.map_or(block + 1, |look| look.blocks);
        let known = Known::new(finished);
        let going_on = self.blocks_going_on(finished, undecided);
        let places = going_on.take(blocks as usize).flatten();
        let places = places.filter(|place| !self.has_missed_its_turns(place, &known));
        let keys = places.map(|place| self.key(place));
        keys.filter(|key| known.get(key).is_none()).collect()
    }

    /// The units of a block (from 0); an error if the run ends before it.
    fn going_on(
        &self,
        block: u32,
        finished: &[Finished],
        undecided: &Undecided,
    ) -> Result<Vec<bool>, Ended> {
        let (taken, next) = self.looks.around(block);
        let (Some(last), Some(true)) = (taken.last(), next.map(|look| look.only_undecided)) else {
            return Ok(vec![true; self.units.len()]);
        };
        let open = self.open_cells(last.blocks, undecided);
        let mut units = vec![false; self.units.len()];
        for place in self.order.iter().filter(|place| place.block == block) {
            let key = self.key(place);
            units[place.unit] |= open.iter().any(|cell| cell.selects(&key));
        }
        if !units.contains(&true) {
            return Err(Ended::Decided);
        }
        match self.time_allows(block, &units, finished) {
            true => Ok(units),
            false => Err(Ended::Within),
        }
    }

    /// The cells of the claims that every look up to this one left undecided: a decided claim stays decided.
    fn open_cells(&self, blocks: u32, undecided: &Undecided) -> Vec<&Cell> {
        let claims = &self.experiment.claims;
        let mut open = vec![true; claims.len()];
        let taken = self
            .looks
            .all()
            .iter()
            .take_while(|look| look.blocks <= blocks);
        for look in taken {
            let undecided = undecided(look.blocks);
            open.iter_mut()
                .zip(undecided)
                .for_each(|(open, undecided)| *open &= undecided);
        }
        let open = claims.iter().zip(open).filter(|(_, open)| *open);
        open.flat_map(|(claim, _)| claim.compared()).collect()
    }

    /// Whether a block of these units would end within the time limit. It is expected to take as long as the same cells took in the block
    /// before.
    fn time_allows(&self, block: u32, units: &[bool], finished: &[Finished]) -> bool {
        if self.looks.within_s.is_none() {
            return true;
        }
        let seconds = |is: &dyn Fn(&Finished) -> bool| {
            let counted = finished.iter().filter(|one| is(one));
            counted.map(|one| one.elapsed_s).sum::<f64>()
        };
        let before = self.order.iter().filter(|place| place.block + 1 == block);
        let before: Vec<&BlockPlace> = before.filter(|place| units[place.unit]).collect();
        let next_s = seconds(&|one| {
            one.key.block + 1 == block && before.iter().any(|place| self.is_of(place, &one.key))
        });
        let spent_s = seconds(&|one| one.key.block < block);
        self.looks.leave_time_for(next_s, spent_s)
    }
}
