//! A list that grows without moving what it holds, so that no push on the hot path copies megabytes.

/// Most elements of a chunk.
const LARGEST: usize = 4096;
/// Elements of the first chunk: a thousand clients may note a handful each.
const SMALLEST: usize = 16;

pub struct Chunks<T>(Vec<Vec<T>>);

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks(Vec::new())
    }
}

impl<T> Chunks<T> {
    #[inline]
    pub fn push(&mut self, one: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < last.capacity() => last.push(one),
            _ => self.push_to_new(one),
        }
    }

    #[cold]
    fn push_to_new(&mut self, one: T) {
        let larger = self.0.last().map_or(SMALLEST, |last| 2 * last.capacity());
        let mut chunk = Vec::with_capacity(larger.min(LARGEST));
        chunk.push(one);
        self.0.push(chunk);
    }

    pub fn append(&mut self, mut other: Chunks<T>) {
        self.0.append(&mut other.0);
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_order_and_chunks_their_size() {
        let mut chunks = Chunks::default();
        (0..20_000).for_each(|n| chunks.push(n));
        assert!(chunks.iter().copied().eq(0..20_000));
        assert!(chunks.0.iter().all(|chunk| chunk.capacity() <= LARGEST));
        let mut more = Chunks::default();
        more.push(20_000);
        chunks.append(more);
        assert_eq!(chunks.len(), 20_001);
    }
}
