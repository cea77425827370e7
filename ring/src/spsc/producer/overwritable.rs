//! What the producer does otherwise in a ring that can be overwritten: it may take the oldest chunk away
//! from the consumer. See [`taken`](crate::spsc::taken) for the word by which both halves agree.

use super::Producer;
use crate::error::Refused;
use crate::policy::Policy;
use crate::primitive::{Ordering, Slot, load_own};
use crate::spsc::shared::Memory;
use crate::spsc::taken::Seen;
use core::ptr::NonNull;

impl<T> Producer<T> {
    /// Makes way for one more chunk in a ring that can be overwritten: where the policy says so, one is
    /// taken from the consumer if none may come on top. Gives that one, or an idle one, or none where one is
    /// to be made.
    #[cold]
    #[inline(never)]
    pub(super) fn make_way(&mut self, len: usize) -> Result<Option<NonNull<Slot<T>>>, Refused> {
        let form = self.shared.settings.form;
        let mut evicted = None;
        // The consumer comes between the look and the exchange a few times at most: when it has left one
        // chunk and entered another, there is room.
        let refused = loop {
            let shared = &*self.shared;
            let seen = shared.taken.load();
            let policy = shared.settings.policy();
            // Relaxed: a setting.
            let most = policy.most_chunks(shared.settings.chunks.load(Ordering::Relaxed));
            if seen.in_traffic(self.seq) < most {
                break None;
            }
            // Relaxed: the consumer has stored it before the exchange that is seen.
            let held = shared.consumer.held.start.load(Ordering::Relaxed);
            // A position must not come round to the chunk that is held. (On targets of 32 bits it could.)
            let far = self.end.wrapping_sub(held) > isize::MAX as usize - len;
            if policy != Policy::Overwrite || seen.is_held() && (most == 1 || far) {
                break Some(Refused::Full);
            }
            if let Some(first) = evicted.take() {
                // More than one must go: there have been more than there shall be now.
                // SAFETY: by invariant 4 the chunk is this half's, and its items have been dropped.
                unsafe { form.free(first, len, &shared.settings.pool) };
            }
            match self.evict(seen) {
                Some((first, its_len)) if its_len == len => evicted = Some(first),
                // SAFETY: as above.
                Some((first, its_len)) => unsafe {
                    form.free(first, its_len, &self.shared.settings.pool);
                },
                None => {}
            }
        };
        let pool = &self.shared.settings.pool;
        match (evicted, refused) {
            (Some(first), None) => return Ok(Some(first)),
            // SAFETY: as above.
            (Some(first), Some(_)) => unsafe { form.put(first, len, pool) },
            (None, _) => {}
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        // After the word, so that a chunk which no longer counts as held is seen to be idle.
        // Acquire: pairs with the consumer's Release store of the head, as in `find_chunk`.
        self.head = self.shared.consumer.head.load(Ordering::Acquire);
        Ok(self.reclaim(len))
    }

    /// Takes the oldest chunk of those that nobody has taken and drops its items, unless the word has
    /// changed since it was `seen`.
    fn evict(&mut self, seen: Seen) -> Option<(NonNull<Slot<T>>, usize)> {
        let untaken = seen.untaken(self.seq);
        if untaken == 1 {
            // The current one is to go. Before the consumer can see that it is gone: the positions go on behind it.
            self.close_chunk();
        }
        let shared = &*self.shared;
        if !shared.taken.evict(seen) {
            return None;
        }
        // An entry is this half's own writing.
        let entry = shared.entry(self.seq.wrapping_sub(untaken));
        let first = entry.first.load(Ordering::Relaxed);
        let len = load_own(&entry.len);
        let used = load_own(&entry.used);
        shared.settings.losses.overwrite(used);
        // Frees the chunk where dropping an item panics.
        let memory = Memory::new(shared, first, len);
        // SAFETY: by invariant 4 the chunk is this half's, and its items lie at its beginning: nobody has
        // taken any, since the consumer has never entered it.
        unsafe { Slot::drop_range(first, used) };
        core::mem::forget(memory);
        NonNull::new(first).map(|first| (first, len))
    }

    /// Stores where the current chunk's items end to the chunk itself, for a consumer that holds it when
    /// the table has forgotten it.
    #[inline(always)]
    pub(super) fn tell_used(&self, used: usize) {
        let first = self.base.wrapping_add(self.end.wrapping_sub(self.len));
        // SAFETY: there is a current chunk, whose slots begin there, and it is this half's own or the
        // consumer's as long as this half has not gone on to the next.
        let word = unsafe { self.shared.settings.form.used(first) };
        // Relaxed: the consumer looks at it only after it has seen a tail that is stored after this.
        word.store(used, Ordering::Relaxed);
    }
}
