//! The rows of table part.
//!
//! Goal: any range of rows. Non-goal: prices, which are a function of the key and stored in lineorder.

use std::ops::Range;

use super::stream::{Stream, Uniform};
use super::text::Fields;
use crate::text::Text;

/// The stream of manufacturer and category, two draws per row. After the last part, the cities of suppliers and then of customers
/// are drawn from it.
pub(super) const MAKER: Stream = Stream::new(1);
pub(super) const MAKER_DRAWS: u64 = 2;

const DIGIT: Uniform = Uniform::new(1, 5);
const BRAND: Uniform = Uniform::new(1, 40);
const SIZE: Uniform = Uniform::new(1, 50);
const KIND: Uniform = Uniform::new(0, 149);
const CONTAINER: Uniform = Uniform::new(0, 39);
const COLOR: Uniform = Uniform::new(0, COLORS.len() as u64 - 1);

// A type of part is one word of each list, and the last list varies fastest. The same holds for containers.
const KIND_SIZES: [&str; 6] = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
const KIND_FINISHES: [&str; 5] = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
const KIND_METALS: [&str; 5] = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];
const CONTAINER_SIZES: [&str; 5] = ["SM", "LG", "MED", "JUMBO", "WRAP"];
const CONTAINER_FORMS: [&str; 8] = ["CASE", "BOX", "BAG", "JAR", "PACK", "PKG", "CAN", "DRUM"];

#[rustfmt::skip]
const COLORS: [&str; 92] = [
    "almond", "antique", "aquamarine", "azure", "beige", "bisque", "black", "blanched", "blue", "blush", "brown", "burlywood",
    "burnished", "chartreuse", "chiffon", "chocolate", "coral", "cornflower", "cornsilk", "cream", "cyan", "dark", "deep", "dim",
    "dodger", "drab", "firebrick", "floral", "forest", "frosted", "gainsboro", "ghost", "goldenrod", "green", "grey", "honeydew",
    "hot", "indian", "ivory", "khaki", "lace", "lavender", "lawn", "lemon", "light", "lime", "linen", "magenta", "maroon", "medium",
    "metallic", "midnight", "mint", "misty", "moccasin", "navajo", "navy", "olive", "orange", "orchid", "pale", "papaya", "peach",
    "peru", "pink", "plum", "powder", "puff", "purple", "red", "rose", "rosy", "royal", "saddle", "salmon", "sandy", "seashell",
    "sienna", "sky", "slate", "smoke", "snow", "spring", "steel", "tan", "thistle", "tomato", "turquoise", "violet", "wheat",
    "white", "yellow",
];

/// A row of table part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub key: u64,
    pub color: &'static str,
    /// The two words of the name.
    pub name: [&'static str; 2],
    /// 1 to 5: the 3 of `MFGR#3`.
    pub manufacturer: u8,
    /// 1 to 5: the 2 of `MFGR#32`.
    pub category: u8,
    /// 1 to 40: the 10 of `MFGR#3210`.
    pub brand: u8,
    pub kind: [&'static str; 3],
    pub size: u8,
    pub container: [&'static str; 2],
}

/// Iterates over a range of rows.
#[derive(Debug, Clone)]
pub struct Parts {
    rows: Range<u64>,
    colors: Stream,
    maker: Stream,
    brand: Stream,
    kind: Stream,
    size: Stream,
    container: Stream,
}

impl Parts {
    /// The rows in the range `rows`, numbered from 0. They do not depend on the scale.
    pub fn new(rows: Range<u64>) -> Parts {
        let skipped = rows.start;
        Parts {
            colors: Stream::new(709_314_158).after(COLORS.len() as u64 * skipped),
            maker: MAKER.after(MAKER_DRAWS * skipped),
            brand: Stream::new(46_831_694).after(skipped),
            kind: Stream::new(1_841_581_359).after(skipped),
            size: Stream::new(1_193_163_244).after(skipped),
            container: Stream::new(727_633_698).after(skipped),
            rows,
        }
    }

    /// The first three colors of a shuffled list: each position in turn is swapped with a random one.
    fn draw_three_colors(&mut self) -> [&'static str; 3] {
        const IN_ORDER: [u8; COLORS.len()] = {
            let mut numbers = [0; COLORS.len()];
            let mut i = 0;
            while i < numbers.len() {
                numbers[i] = i as u8;
                i += 1;
            }
            numbers
        };
        let mut numbers = IN_ORDER;
        for i in 0..numbers.len() {
            numbers.swap(i, self.colors.draw(COLOR) as usize);
        }
        [0, 1, 2].map(|i| COLORS[numbers[i] as usize])
    }
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let key = self.rows.next()? + 1;
        let [color, first, second] = self.draw_three_colors();
        let kind = self.kind.draw(KIND) as usize;
        let container = self.container.draw(CONTAINER) as usize;
        Some(Part {
            key,
            color,
            name: [first, second],
            manufacturer: self.maker.draw(DIGIT) as u8,
            category: self.maker.draw(DIGIT) as u8,
            brand: self.brand.draw(BRAND) as u8,
            kind: [
                KIND_SIZES[kind / 25],
                KIND_FINISHES[kind / 5 % 5],
                KIND_METALS[kind % 5],
            ],
            size: self.size.draw(SIZE) as u8,
            container: [
                CONTAINER_SIZES[container / 8],
                CONTAINER_FORMS[container % 8],
            ],
        })
    }
}

impl Fields for Part {
    fn write(&self, text: &mut Text) {
        let maker = [
            b'M',
            b'F',
            b'G',
            b'R',
            b'#',
            b'0' + self.manufacturer,
            b'0' + self.category,
        ];
        let [size, finish, metal] = self.kind.map(str::as_bytes);
        text.number(self.key);
        text.words(&[self.name[0].as_bytes(), b" ", self.name[1].as_bytes()]);
        text.words(&[&maker[..6]]);
        text.words(&[&maker]);
        text.numbered(&maker, u64::from(self.brand), 1);
        text.words(&[self.color.as_bytes()]);
        text.words(&[size, b" ", finish, b" ", metal]);
        text.number(u64::from(self.size));
        text.words(&[
            self.container[0].as_bytes(),
            b" ",
            self.container[1].as_bytes(),
        ]);
        text.end_row();
    }
}
