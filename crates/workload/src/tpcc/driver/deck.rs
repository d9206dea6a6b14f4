//! The mix: which transaction has which number.

use super::super::Mix;
use crate::script::Weights;
use datagen::random::{below, hash, stream};

/// A deck: ten New-Orders, ten Payments and one of each other transaction (5.2.4.2).
const CARDS: [u16; 23] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4,
];

/// Keeps the mix independent of the inputs.
const SALT: u64 = 0x6465_636b_7300;

/// Chooses transactions by their number alone.
pub(super) enum Picks {
    /// Every 23 numbers are one deck, shuffled by its own seed and used up without replacement.
    Deck {
        seed: u64,
    },
    Weights {
        weights: Weights,
        salt: u64,
    },
}

impl Picks {
    pub(super) fn new(mix: Mix, seed: u64) -> Picks {
        let salt = hash(seed ^ SALT);
        match mix {
            Mix::Deck => Picks::Deck { seed: salt },
            Mix::Weights(weights) => Picks::Weights {
                weights: Weights::new(weights),
                salt,
            },
        }
    }

    pub(super) fn pick(&self, number: u64) -> u16 {
        match self {
            Picks::Deck { seed } => card(*seed, number),
            Picks::Weights { weights, salt } => weights.pick(*salt, number),
        }
    }
}

/// The number of cards of each transaction in a deck, or its weight.
pub(super) fn parts(mix: Mix) -> [f64; 5] {
    let cards = |transaction: u16| CARDS.iter().filter(|card| **card == transaction).count();
    match mix {
        Mix::Deck => [0, 1, 2, 3, 4].map(|transaction| cards(transaction) as f64),
        Mix::Weights(weights) => weights.map(f64::from),
    }
}

/// The card with this number: shuffles its deck from the back (Fisher and Yates) until the card's place is decided.
fn card(seed: u64, number: u64) -> u16 {
    let size = CARDS.len();
    let (deck, place) = (number / size as u64, (number % size as u64) as usize);
    let random = &mut stream(seed, deck);
    let mut cards = CARDS;
    for last in (place.max(1)..size).rev() {
        let other = below(random, last as u64 + 1) as usize;
        cards.swap(last, other);
    }
    cards[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deck(mix: Mix, seed: u64, decks: u64) -> Vec<u16> {
        let picks = Picks::new(mix, seed);
        (0..23 * decks).map(|number| picks.pick(number)).collect()
    }

    #[test]
    fn every_deck_holds_its_cards_exactly_once() {
        for cards in deck(Mix::Deck, 3, 500).chunks(23) {
            let mut cards = cards.to_vec();
            cards.sort_unstable();
            assert_eq!(cards, CARDS, "drawn without replacement");
        }
    }

    #[test]
    fn every_card_comes_to_every_place_of_a_deck() {
        let cards = deck(Mix::Deck, 4, 23 * 2_000);
        for place in 0..23 {
            let there = cards.iter().skip(place).step_by(23);
            let deliveries = there.filter(|card| **card == 3).count();
            assert!(
                (1_750..2_250).contains(&deliveries),
                "{place}: {deliveries}"
            );
        }
    }

    #[test]
    fn another_seed_and_another_deck_give_another_order() {
        assert_ne!(deck(Mix::Deck, 1, 1), deck(Mix::Deck, 2, 1));
        let two = deck(Mix::Deck, 1, 2);
        assert_ne!(two[..23], two[23..]);
        assert_eq!(deck(Mix::Deck, 1, 2), two);
    }

    #[test]
    fn weights_replace_the_deck_and_a_weight_of_zero_never_comes() {
        let picked = deck(Mix::Weights([45, 43, 0, 8, 4]), 5, 4_000);
        let share = |card| {
            let count = picked.iter().filter(|one| **one == card).count();
            count as f64 / picked.len() as f64
        };
        for (card, expected) in [0.45, 0.43, 0.0, 0.08, 0.04].into_iter().enumerate() {
            let share = share(card as u16);
            assert!((share - expected).abs() < 0.01, "{card}: {share}");
        }
        assert_eq!(share(2), 0.0);
    }
}
