//! Correct uses of what std synchronises with: ThreadSanitizer must be silent about all of them.

use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

fn main() {
    for _ in 0..100 {
        contended_mutex();
        contended_rwlock();
        condvar();
        once();
        last_reference();
        scoped();
        channel();
    }
}

fn on_threads(n: usize, f: impl Fn(usize) + Send + Sync + 'static) {
    let f = Arc::new(f);
    let threads: Vec<_> = (0..n)
        .map(|i| {
            let f = Arc::clone(&f);
            thread::spawn(move || f(i))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

fn contended_mutex() {
    let total = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&total);
    on_threads(3, move |_| {
        (0..300).for_each(|_| *shared.lock().unwrap() += 1)
    });
    assert_eq!(*total.lock().unwrap(), 900);
}

fn contended_rwlock() {
    let total = RwLock::new(0);
    on_threads(3, move |i| {
        for _ in 0..300 {
            if i == 0 {
                *total.write().unwrap() += 1;
            } else {
                assert!(*total.read().unwrap() <= 300);
            }
        }
    });
}

fn condvar() {
    let turn = (Mutex::new(0), Condvar::new());
    on_threads(2, move |me| {
        for n in 0..20 {
            let mut now = turn.0.lock().unwrap();
            while *now % 2 != me {
                now = if n % 2 == 0 {
                    turn.1.wait(now).unwrap()
                } else {
                    turn.1.wait_timeout(now, Duration::from_secs(1)).unwrap().0
                };
            }
            *now += 1;
            turn.1.notify_all();
        }
    });
}

fn once() {
    let cell = OnceLock::new();
    on_threads(3, move |_| {
        assert_eq!(cell.get_or_init(|| vec![1, 2, 3]).len(), 3)
    });

    std::panic::set_hook(Box::new(|_| ()));
    let poisoned = Once::new();
    let panic =
        std::panic::catch_unwind(|| poisoned.call_once(|| panic!("a panic unwinds through it")));
    drop(std::panic::take_hook());
    assert!(panic.is_err() && !poisoned.is_completed());
}

fn last_reference() {
    let shared = Arc::new(Mutex::new(vec![0; 4]));
    for i in 0..3 {
        let shared = Arc::clone(&shared);
        drop(thread::spawn(move || shared.lock().unwrap()[i] += 1));
    }
}

fn scoped() {
    let mut slots = [0; 3];
    thread::scope(|s| {
        slots
            .iter_mut()
            .for_each(|slot| drop(s.spawn(move || *slot += 1)))
    });
    assert_eq!(slots, [1; 3]);
}

fn channel() {
    let (send, receive) = mpsc::sync_channel(2);
    thread::spawn(move || (0..50).for_each(|i| send.send(Box::new(i)).unwrap()));
    assert_eq!(receive.iter().map(|i| *i).sum::<i32>(), 1225);
}
