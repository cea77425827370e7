//! What the models in `tests/` share: the driver that counts what loom explored, and a tracked item.
//!
//! There is nothing here without `--cfg loom`, since the models exist only there.

#![cfg(loom)]

use std::collections::BTreeSet;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The preemption bound unless `LOOM_MAX_PREEMPTIONS` says another; floors are stated for it.
pub const DEFAULT_PREEMPTIONS: usize = 2;

/// Runs `f` under every interleaving that loom can tell apart within the preemption bound.
///
/// It prints how many that were. loom can skip interleavings without a word (a thread that loads an
/// atomic before it stores to the same one hides others from it), and a model that explored one
/// execution has proved nothing. So every model states a `floor`: the least number of executions at
/// the default bound with which it still counts as a proof.
///
/// `LOOM_MAX_PREEMPTIONS`, `LOOM_MAX_BRANCHES`, `LOOM_LOG` and loom's other variables work as usual.
///
/// # Panics
///
/// If `f` panics, deadlocks, leaks or races in any execution, or if fewer than `floor` executions
/// were explored at the default bound or a larger one.
///
/// # Examples
///
/// ```
/// use loom::sync::Arc;
/// use loom::sync::atomic::{AtomicUsize, Ordering};
///
/// loom_tests::model("two_adds_are_both_counted", 2, || {
///     let n = Arc::new(AtomicUsize::new(0));
///     let other = loom::thread::spawn({
///         let n = Arc::clone(&n);
///         move || n.fetch_add(1, Ordering::Relaxed)
///     });
///     n.fetch_add(1, Ordering::Relaxed);
///     other.join().unwrap();
///     assert_eq!(n.load(Ordering::Relaxed), 2);
/// });
/// ```
pub fn model(name: &str, floor: usize, f: impl Fn() + Send + Sync + 'static) {
    model_with_floors(name, [floor; 2], f);
}

/// Whether what is loaded before a store is loaded plainly (`LOOM_LOADS`), which has more to explore.
///
/// ```
/// assert!(!loom_tests::loads_are_plain() || std::env::var("LOOM_LOADS").unwrap() == "plain");
/// ```
pub fn loads_are_plain() -> bool {
    env::var("LOOM_LOADS").is_ok_and(|loads| loads == "plain")
}

/// As [`model`], with a floor of its own for each way to load before a store (`LOOM_LOADS`): exchanges,
/// and plain ones.
///
/// # Panics
///
/// As [`model`].
///
/// # Examples
///
/// ```
/// loom_tests::model_with_floors("nothing_to_explore", [1, 1], || {});
/// ```
pub fn model_with_floors(name: &str, floors: [usize; 2], f: impl Fn() + Send + Sync + 'static) {
    let floor = floors[usize::from(loads_are_plain())];
    let mut builder = loom::model::Builder::new();
    let bound = *builder.preemption_bound.get_or_insert(DEFAULT_PREEMPTIONS);
    // loom's own limit is for small models; a hand-over of a few chunks passes it without looping.
    if env::var_os("LOOM_MAX_BRANCHES").is_none() {
        builder.max_branches = 10_000;
    }
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    let start = Instant::now();
    builder.check(move || {
        // Relaxed: loom runs one execution after another, on this thread.
        counter.fetch_add(1, Ordering::Relaxed);
        f();
    });
    let executions = executions.load(Ordering::Relaxed);
    eprintln!(
        "model {name}: {executions} executions, {:.1} s",
        start.elapsed().as_secs_f64()
    );
    assert!(
        executions >= floor || bound < DEFAULT_PREEMPTIONS,
        "below its floor: model {name} explored {executions} executions, not {floor}",
    );
}

/// An item for the ring under test that must be dropped exactly once in every execution.
///
/// loom reports a missing drop at the end of the execution; the second drop of two panics.
///
/// # Examples
///
/// ```
/// loom_tests::model("dropped_once", 1, || {
///     let item = loom_tests::Tracked::new(7);
///     assert_eq!(item.value(), 7);
/// });
/// ```
#[derive(Debug)]
pub struct Tracked {
    value: usize,
    id: usize,
    _leak: loom::alloc::Track<()>,
}

/// The items made and not yet dropped. loom's own tracking does not mind a second drop.
static LIVE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

impl Tracked {
    /// An item that carries `value`, to tell it from the others.
    #[must_use]
    pub fn new(value: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only uniqueness matters.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id);
        Self {
            value,
            id,
            _leak: loom::alloc::Track::new(()),
        }
    }

    /// What it was made with.
    #[must_use]
    pub fn value(&self) -> usize {
        self.value
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let was_live = LIVE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
        // A second panic would abort and hide the first.
        assert!(
            was_live || std::thread::panicking(),
            "item {} is dropped twice",
            self.value
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "below its floor")]
    fn a_model_that_explores_too_little_fails() {
        model("explores_nothing", 2, || {});
    }

    #[test]
    #[should_panic(expected = "Allocation leaked")]
    fn a_leaked_item_fails() {
        model("leaks", 1, || std::mem::forget(Tracked::new(1)));
    }

    #[test]
    #[should_panic(expected = "item 1 is dropped twice")]
    fn an_item_dropped_twice_fails() {
        model("drops_twice", 1, || {
            let item = Tracked::new(1);
            // SAFETY: an item owns no memory that a second drop could free again; its panic is the
            // point.
            drop(unsafe { std::ptr::read(&raw const item) });
        });
    }
}
