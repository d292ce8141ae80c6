//! Anchors: what is sent in place of the first messages of a conversation, once and for all.

use std::sync::Arc;

use crate::chain::ChainHash;

/// The text that stands for the first messages of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The hash of those messages.
    pub(crate) chain: ChainHash,
    /// The hash of the first message alone: all anchors of a conversation and its forks share it.
    pub(crate) root: ChainHash,
    /// The number of messages that it stands for, those of the head included.
    pub(crate) count: usize,
    /// The recipe that its text was made with.
    pub(crate) recipe: u32,
    /// The text.
    pub(crate) snapshot: Arc<str>,
}

/// The deepest anchor of a conversation with this chain.
pub(crate) fn deepest<'a>(anchors: &'a [Anchor], chain: &[ChainHash]) -> Option<&'a Anchor> {
    let stands = |anchor: &&Anchor| {
        // A tail must be left behind it.
        anchor.count < chain.len()
            && anchor.count.checked_sub(1).is_some_and(|last| chain[last] == anchor.chain)
    };
    anchors.iter().filter(stands).max_by_key(|anchor| anchor.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u8) -> ChainHash {
        ChainHash([number; 16])
    }

    fn anchor(count: usize, chain: u8) -> Anchor {
        Anchor { chain: hash(chain), root: hash(0), count, recipe: 1, snapshot: "s".into() }
    }

    #[test]
    fn the_deepest_that_matches_counts() {
        let chain: Vec<ChainHash> = (0..6).map(hash).collect();
        let anchors = [anchor(2, 1), anchor(4, 3), anchor(5, 9), anchor(6, 5)];
        assert_eq!(deepest(&anchors, &chain).map(|anchor| anchor.count), Some(4));
        assert_eq!(deepest(&anchors, &chain[..4]).map(|anchor| anchor.count), Some(2));
        assert_eq!(deepest(&anchors, &chain[..1]), None);
        assert_eq!(deepest(&[], &chain), None);
    }
}
