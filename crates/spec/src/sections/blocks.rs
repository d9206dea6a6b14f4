//! `blocks` of `[protocol]`: a fixed number, or more until the claims are decided.
//!
//! Boundaries: `record::Looks` divides the error rate, `plan` chooses the cells that go on.

use crate::experiment::Protocol;
use crate::file::read::{Node, Section};
use record::{Claim, Looks};

const EXAMPLE: &str = "blocks = { first = 3, most = 9, within = \"2h\" }";
/// A variance needs two blocks.
const FIRST_MIN: u32 = 2;
const BLOCKS_MAX: u32 = 10_000;
/// `--until-decided` measures at most this many times the first blocks.
pub const UNTIL_DECIDED_TIMES: u32 = 3;

/// Reads `blocks = 3` or `blocks = { first = 3, most = 9, within = "2h" }`.
pub(super) fn blocks(node: &Node, protocol: &mut Protocol) {
    if let Some(section) = node.section_if_table() {
        if let Some(looks) = looks(&section) {
            protocol.set_looks(looks);
        }
    } else if let Some(blocks) = node.count("blocks = 3") {
        protocol.blocks = blocks;
    }
}

fn looks(section: &Section) -> Option<Looks> {
    section.allow("blocks", &["first", "most", "within"]);
    let count = |key: &str| {
        let node = section.require("blocks", key, EXAMPLE)?;
        let range = i64::from(FIRST_MIN)..=i64::from(BLOCKS_MAX);
        let count = node.whole(range, EXAMPLE)?;
        Some((node, u32::try_from(count).ok()?))
    };
    let (first, most) = (count("first"), count("most"));
    let within = match section.get("within") {
        Some(node) => Some(node.duration("within = \"2h\"")?.as_secs_f64()),
        None => None,
    };
    let ((_, first), (node, most)) = (first?, most?);
    if most < first {
        node.note(
            format!("\"most\" is {most}, less than \"first\", which is {first}"),
            "less than \"first\"",
            format!(
                "write most = {}, or a smaller \"first\"",
                first * UNTIL_DECIDED_TIMES
            ),
        );
        return None;
    }
    Some(Looks::until_decided(first, most, within))
}

/// Notes blocks that depend on claims where the file has none that more blocks can decide.
pub(crate) fn check_claims(file: &Section, protocol: &Protocol, claims: &[Claim]) {
    let node = || file.get("protocol")?.section("[protocol]")?.get("blocks");
    if let (Some(_), true, Some(node)) = (&protocol.looks, all_are_shapes(claims), node()) {
        node.note(
            "\"blocks\" depends on the claims, but no claim compares cells",
            "nothing to decide",
            "write blocks = 3, or add a [[claim]] with \"of\" and \"to\"",
        );
    }
}

/// Whether no claim compares cells, so that more blocks decide nothing.
pub(crate) fn all_are_shapes(claims: &[Claim]) -> bool {
    claims.iter().all(|claim| claim.compared().is_empty())
}

impl Protocol {
    /// Replaces the number of blocks.
    pub fn set_looks(&mut self, looks: Looks) {
        self.blocks = looks.most();
        self.looks = Some(looks);
        self.blocks_are_given();
    }

    /// A budget does not choose them any more.
    pub(crate) fn blocks_are_given(&mut self) {
        if let Some(within) = &mut self.within {
            within.chooses_blocks = false;
        }
    }
}
