//! The two cores that everything runs on, how far apart they are, and what the machine calls itself.

use core_affinity::CoreId;
use std::fs;
use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// The first is the producer's, the second the consumer's.
static CORES: OnceLock<[CoreId; 2]> = OnceLock::new();

/// Chooses the cores: those that are asked for, or the first two that this process may use.
pub(crate) fn choose_cores(wanted: Option<&[usize]>) -> Result<(), String> {
    let usable = core_affinity::get_core_ids().unwrap_or_default();
    let cores = match wanted {
        None => match usable[..] {
            [first, second, ..] => [first, second],
            _ => return Err(format!("{} core(s) can be used, not two", usable.len())),
        },
        Some(&[first, second]) if first != second => {
            let find = |id| {
                let found = usable.iter().find(|core| core.id == id).copied();
                found.ok_or_else(|| format!("core {id} can't be used, only {}", ids(&usable)))
            };
            [find(first)?, find(second)?]
        }
        Some(other) => return Err(format!("two different cores are needed, not {other:?}")),
    };
    CORES.set(cores).expect("the cores are chosen once");
    Ok(())
}

fn ids(cores: &[CoreId]) -> String {
    let ids: Vec<_> = cores.iter().map(|core| core.id.to_string()).collect();
    ids.join(", ")
}

/// Moves this thread to the first core (0) or the second (1). Only Linux is known to keep it there; elsewhere
/// threads stay where the system puts them.
pub(crate) fn pin(which: usize) {
    if cfg!(target_os = "linux") {
        let core = CORES.get().expect("cores are chosen before threads start")[which];
        assert!(core_affinity::set_for_current(core), "core {}", core.id);
    }
}

/// A word that shares its cache line with nothing.
#[repr(align(128))]
pub(crate) struct Line(pub(crate) AtomicU64);

/// Nanoseconds that a cache line takes from one core to the other and back: the median of some short series,
/// so that one interruption does not count.
pub(crate) fn round_trip() -> f64 {
    const TRIPS: u64 = 100;
    const SERIES: u64 = 21;
    let line = Line(AtomicU64::new(0));
    let mut series: Vec<f64> = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            for turn in 0..TRIPS * SERIES {
                while line.0.load(Ordering::Acquire) != 2 * turn + 1 {}
                line.0.store(2 * turn + 2, Ordering::Release);
            }
        });
        scope.spawn(|| {
            pin(0);
            for turns in (0..TRIPS * SERIES).step_by(TRIPS as usize) {
                let start = Instant::now();
                for turn in turns..turns + TRIPS {
                    line.0.store(2 * turn + 1, Ordering::Release);
                    while line.0.load(Ordering::Acquire) != 2 * turn + 2 {}
                }
                series.push(start.elapsed().as_nanos() as f64 / TRIPS as f64);
            }
        });
    });
    series.sort_by(f64::total_cmp);
    series[series.len() / 2]
}

/// What a thread does between two tries.
#[derive(Clone, Copy)]
pub(crate) enum Pause {
    /// So many pause instructions.
    Spin(u32),
    /// Spins, and now and then lets another thread have the core: for more threads than cores.
    Yield,
}

/// Waits between tries, and gives up when nothing has happened for long: then an item was lost.
pub(crate) struct Patience {
    pause: Pause,
    tries: u64,
    queue: &'static str,
    since: Option<Instant>,
}

impl Patience {
    const TRIES_BETWEEN_LOOKS: u64 = 1 << 20;
    const SECONDS: u64 = 20;

    pub(crate) fn new(queue: &'static str, pause: Pause) -> Self {
        Patience {
            pause,
            tries: 0,
            queue,
            since: None,
        }
    }

    #[inline(always)]
    pub(crate) fn wait(&mut self) {
        self.tries += 1;
        match self.pause {
            Pause::Spin(pauses) => (0..pauses).for_each(|_| spin_loop()),
            Pause::Yield if self.tries % 32 == 0 => thread::yield_now(),
            Pause::Yield => spin_loop(),
        }
        if self.tries % Self::TRIES_BETWEEN_LOOKS == 0 {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        let since = *self.since.get_or_insert_with(Instant::now);
        assert!(
            since.elapsed().as_secs() < Self::SECONDS,
            "waited {} s for {}: an item was lost",
            Self::SECONDS,
            self.queue
        );
    }
}

/// The processor's name, how many of it there are, and the load.
pub(crate) fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let threads = thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {threads} cores; load {}", load())
}

pub(crate) fn load() -> String {
    match fs::read_to_string("/proc/loadavg") {
        Ok(load) => load
            .split(' ')
            .next()
            .unwrap_or("unknown")
            .trim()
            .to_owned(),
        Err(_) => "unknown".to_owned(),
    }
}
