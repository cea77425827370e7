//! An object that is in use is not unloaded, and goes on; when it is not, it is.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{
    Busy, BusyReason, LoadError, LoadOptions, Object, Objects, Unload, registry, stack,
};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Hold = unsafe extern "C" fn(*const AtomicU32, *const AtomicU32);

fn busy(object: Object, wait: Duration) -> (Object, BusyReason) {
    let Busy { reason, object, .. } = object.unload(wait).unwrap_err();
    (object, reason)
}

#[test]
fn a_call_that_is_open_keeps_the_object_loaded_and_usable() {
    let _alone = support::alone();
    for path in [support::c_sample(), support::rust_sample()] {
        let object = support::load(path);
        let held = object.clone();
        let one = held.enter().unwrap();
        let two = held.enter().unwrap();
        let (object, reason) = busy(object, Duration::ZERO);
        assert_eq!(reason, BusyReason::Calls(2));
        drop(one);
        let (object, reason) = busy(object, Duration::from_millis(3));
        assert_eq!(reason, BusyReason::Calls(1));
        // It is as before: called, and listed.
        support::run(&object, 5);
        assert_eq!(registry().cost_centres().len(), 3);
        assert_eq!(Objects::new().loaded().len(), 1);
        drop(two);
        assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    }
}

#[test]
fn a_cost_centre_that_is_not_left_keeps_the_object_loaded() {
    let _alone = support::alone();
    let object = support::load(support::c("trap.c", "trap", &[]));
    support::call(&object, c"trap_stay");
    assert_eq!(stack::current().depth(), 1);
    let (object, reason) = busy(object, Duration::from_millis(2));
    assert_eq!(reason, BusyReason::CostCentres);
    support::call(&object, c"trap_leave");
    assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert_eq!(stack::current().depth(), 0);
}

#[test]
fn unloading_waits_for_a_call_of_another_thread_which_is_seen_by_samplers() {
    let _alone = support::alone();
    for path in [support::c_sample(), support::rust_sample()] {
        let object = support::load(path);
        let hold = support::symbol::<Hold>(&object, c"sample_hold");
        let (entered, go) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let other = object.clone();
            let holder = scope.spawn({
                let (entered, go) = (&entered, &go);
                move || {
                    let call = other.enter().unwrap();
                    // SAFETY: both are there until the call returns.
                    unsafe { call.get(&hold)(entered, go) };
                }
            });
            // Pairs with the object's release store.
            while entered.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            let list = registry().cost_centres();
            let mut seen = Vec::new();
            stack::each(|stack| {
                seen.extend(
                    stack
                        .ids()
                        .iter()
                        .map(|id| list.get(*id).unwrap().label.clone()),
                );
            });
            assert_eq!(seen, [Box::from("hold")]);

            let (object, reason) = busy(object, Duration::from_millis(2));
            assert_eq!(reason, BusyReason::Calls(1));
            let unloader = scope.spawn(move || object.unload(Duration::from_secs(60)));
            go.store(1, Ordering::Release);
            holder.join().unwrap();
            assert_eq!(unloader.join().unwrap().unwrap(), Unload::Unmapped);
        });
    }
}

#[test]
fn of_several_who_unload_one_does_and_all_are_told() {
    let _alone = support::alone();
    let object = support::load(support::c_sample());
    let deadline = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        for _ in 0..4 {
            let mut object = object.clone();
            scope.spawn(move || {
                loop {
                    match object.unload(Duration::from_secs(60)) {
                        Ok(outcome) => break assert_eq!(outcome, Unload::Unmapped),
                        Err(busy) => {
                            assert_eq!(busy.reason, BusyReason::Unloading);
                            object = busy.object;
                        }
                    }
                    assert!(Instant::now() < deadline);
                    thread::yield_now();
                }
            });
        }
    });
    assert!(registry().cost_centres().is_empty());
}

#[test]
fn unloading_waits_for_a_sampler_that_has_not_emitted_yet() {
    let _alone = support::alone();
    let object = support::load(support::c_sample());
    let sampling = registry().sampling();
    let watched = object.clone();
    let unloader = thread::spawn(move || object.unload(Duration::from_secs(60)));
    // Draining has begun, and nobody is in the object.
    let deadline = Instant::now() + Duration::from_secs(60);
    while watched.enter().is_some() {
        assert!(Instant::now() < deadline, "draining has not begun");
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(20));
    assert_eq!(
        registry().cost_centres().len(),
        3,
        "a sample may speak of them"
    );
    drop(sampling);
    assert_eq!(unloader.join().unwrap().unwrap(), Unload::Unmapped);
}

#[test]
fn fini_runs_and_then_what_the_object_has_registered_with_the_c_library() {
    let _alone = support::alone();
    let object = support::load(support::c("trap.c", "trap-destructor", &["-DDESTRUCTOR"]));
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let tell =
        support::symbol::<unsafe extern "C" fn(*const AtomicU32) -> u64>(&object, c"trap_tell");
    let entered = object.enter().unwrap();
    // SAFETY: it is there for ever.
    unsafe { entered.get(&tell)(&TOLD) };
    drop(entered);
    assert_eq!(support::call(&object, c"trap_atexit"), 0);
    assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert_eq!(TOLD.load(Ordering::Relaxed), 111);
}

#[test]
fn a_call_that_is_kept_keeps_the_object_and_may_end_on_another_thread() {
    let _alone = support::alone();
    let object = support::load(support::c_sample());
    let run = support::symbol::<support::Run>(&object, c"sample_run");
    let call = object.enter_owned().unwrap();
    assert_eq!(call.object().id(), object.id());
    // SAFETY: takes any number.
    assert_eq!(unsafe { call.get(&run)(1) }, 0);
    let (object, reason) = busy(object, Duration::ZERO);
    assert_eq!(reason, BusyReason::Calls(1));
    let watched = object.clone();
    thread::spawn(move || drop(call)).join().unwrap();
    assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert!(watched.enter_owned().is_none());
    assert!(watched.enter().is_none());
}

#[test]
fn a_symbol_of_another_object_is_not_called() {
    let _alone = support::alone();
    let [one, two] = [(); 2].map(|()| support::load(support::c_sample()));
    let run = support::symbol::<support::Run>(&one, c"sample_run");
    one.unload(Duration::ZERO).unwrap();
    let called = std::panic::catch_unwind(|| {
        let entered = two.enter().unwrap();
        entered.get(&run)
    });
    let panic = called.unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("the symbol is of object"), "{message}");
    assert_eq!(two.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
}

/// Calls of an `init`, and what it returns as soon as that is no longer -1.
static INITS: AtomicU32 = AtomicU32::new(0);
static OUTCOME: AtomicI32 = AtomicI32::new(-1);
static FINIS: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C" fn evl_test_init() -> i32 {
    INITS.fetch_add(1, Ordering::Release);
    loop {
        match OUTCOME.load(Ordering::Acquire) {
            -1 => thread::yield_now(),
            outcome => return outcome,
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn evl_test_fini() {
    FINIS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn an_object_that_is_found_in_the_list_is_not_unloaded_before_its_init_has_returned() {
    let _alone = support::alone();
    let path = support::c("calls_init.c", "calls_init", &[]);
    for (round, outcome) in [(1, 0), (2, 7)] {
        OUTCOME.store(-1, Ordering::Release);
        let loader = thread::spawn({
            let path = path.clone();
            let options = LoadOptions::new().exports(["evl_test_init", "evl_test_fini"]);
            // SAFETY: it keeps the contract.
            move || unsafe { Objects::new().load(path, options) }
        });
        while INITS.load(Ordering::Acquire) < round && !loader.is_finished() {
            thread::yield_now();
        }
        let found = Objects::new().loaded().remove(0);
        let (found, reason) = busy(found, Duration::from_millis(5));
        assert_eq!(reason, BusyReason::Calls(1));
        let unloader = thread::spawn(move || found.unload(Duration::from_secs(60)));
        OUTCOME.store(outcome, Ordering::Release);
        let unloaded = unloader.join().unwrap();
        let loaded = loader.join().unwrap();
        if outcome == 0 {
            assert_eq!(unloaded.unwrap(), Unload::Unmapped);
            assert!(loaded.unwrap().enter().is_none());
        } else {
            // Whoever of them was first has unloaded it.
            assert!(matches!(loaded, Err(LoadError::Init { code: 7, .. })));
        }
        assert_eq!(FINIS.load(Ordering::Relaxed), 1, "refused, it has no fini");
        assert!(Objects::new().loaded().is_empty());
    }
}
