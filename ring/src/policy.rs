//! What a ring does when its chunks are used up.

/// What becomes of a new item, or a reservation, that no chunk is free for. It is set when the ring is
/// [made](crate::Builder::policy), and can be [changed](crate::Control::set_policy) by any thread at
/// any time; it is looked at when a chunk is used up and nowhere else.
///
/// # Examples
///
/// The same six items in three rings of four chunks of one slot:
///
/// ```
/// use chunkring::{Builder, Policy};
///
/// let grow = Policy::Grow { max_chunks: 5 };
/// for (policy, accepted, left) in [
///     (Policy::Refuse, 4, ["a", "b", "c", "d"].as_slice()),
///     (Policy::Overwrite, 6, &["c", "d", "e", "f"]),
///     (grow, 5, &["a", "b", "c", "d", "e"]),
/// ] {
///     let (mut producer, mut consumer) = Builder::new(1, 4).policy(policy).spsc()?;
///     let mut items = ["a", "b", "c", "d", "e", "f"].into_iter();
///     assert_eq!(producer.push_iter(&mut items), accepted);
///     assert_eq!(consumer.try_iter().collect::<Vec<_>>(), left);
/// }
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// The new item is refused as `Full` and handed back.
    #[default]
    Refuse,
    /// The oldest chunk that the consumer is not reading makes room: its items are dropped, and counted
    /// in [`Statistics::overwritten`](crate::Statistics::overwritten). What the consumer has begun to
    /// read stays valid as long as it likes; where that is all there is, the new item is refused as
    /// `Full`.
    Overwrite,
    /// More chunks are taken, as many as there is memory for, up to a bound. A chunk that is more than
    /// the ring's own number of [chunks](crate::Control::chunks) goes back to the pool as soon as it has
    /// been read.
    Grow {
        /// The most chunks. No more than [`Control::max_chunks`](crate::Control::max_chunks); a number
        /// below the ring's own changes nothing.
        max_chunks: usize,
    },
}

/// The word for [`Policy::Overwrite`]. No table has as many chunks.
const OVERWRITE: usize = usize::MAX;

impl Policy {
    /// The policy as one word, so that it is changed at once: 0 for refusing, else the number to grow
    /// to, which is never 0.
    pub(crate) fn encode(self) -> usize {
        match self {
            Policy::Refuse => 0,
            Policy::Overwrite => OVERWRITE,
            Policy::Grow { max_chunks } => max_chunks,
        }
    }

    /// What [`encode`](Self::encode) has made a word of.
    pub(crate) fn decode(word: usize) -> Self {
        match word {
            0 => Policy::Refuse,
            OVERWRITE => Policy::Overwrite,
            max_chunks => Policy::Grow { max_chunks },
        }
    }

    /// The most chunks that may be in traffic where the ring's own number is `chunks`.
    pub(crate) fn most_chunks(self, chunks: usize) -> usize {
        match self {
            Policy::Refuse | Policy::Overwrite => chunks,
            Policy::Grow { max_chunks } => chunks.max(max_chunks),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_the_same_after_it_was_a_word() {
        let grow = |max_chunks| Policy::Grow { max_chunks };
        for policy in [Policy::Refuse, Policy::Overwrite, grow(1), grow(1 << 20)] {
            assert_eq!(Policy::decode(policy.encode()), policy);
        }
    }
}
