//! A program with a flight recorder: the end of its log is kept in memory (the last 200 ms here; seconds or
//! minutes in a program that lives longer). When a thread panics, a hook writes it to a file, so one can see what
//! led to it.
//!
//! ```text
//! cargo run --release --example flight_recorder            # to a file in the directory for temporary files
//! cargo run --release --example flight_recorder -- FILE    # to FILE
//! ```

use ghc_eventlog::format::{Event, StopStatus, ThreadId};
use ghc_eventlog::{Capability, EventLog, Keep};
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).map_or_else(
        || std::env::temp_dir().join("flight_recorder.eventlog"),
        PathBuf::from,
    );
    let keep = Keep::bytes(8 << 20).newest(Duration::from_millis(200));
    let log = EventLog::builder().flight_recorder(keep)?;
    write_on_panic(&log, file);

    // One machine fills a tank, weaker and weaker; one empties it, and panics when it runs dry.
    let (fill, level) = mpsc::sync_channel::<u32>(64);
    let (source, drain) = (log.capability()?, log.capability()?);
    let filling = thread::spawn(move || fill_tank(source, &fill));
    let draining = thread::spawn(move || drain_tank(drain, &level));
    filling.join().map_err(|_| "the filling machine panicked")?;
    if draining.join().is_ok() {
        return Err("the tank never ran dry".into());
    }
    let statistics = log.stop()?;
    println!(
        "{} events were emitted, of which {} had been forgotten",
        statistics.events(),
        statistics.lost().overwritten
    );
    Ok(())
}

/// Lets every panic write what the log keeps. The panicking thread still has its capability, and that is no
/// hindrance: whatever it has emitted is in the snapshot.
fn write_on_panic(log: &EventLog, file: PathBuf) {
    let log = log.clone();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        log.marker("panic");
        match write(&log, &file) {
            Ok(bytes) => {
                let file = file.display();
                eprintln!("flight recorder: {bytes} bytes in {file}; to look at them:");
                eprintln!("  cargo run --release --bin eventlog -- show {file} | tail");
                eprintln!("  cargo run --release --bin eventlog -- stats {file}");
            }
            // A hook must not panic itself.
            Err(error) => eprintln!("flight recorder: {}: {error}", file.display()),
        }
    }));
}

fn write(log: &EventLog, file: &Path) -> Result<u64, Box<dyn Error>> {
    Ok(log.snapshot(File::create(file)?)?)
}

fn fill_tank(mut capability: Capability, fill: &mpsc::SyncSender<u32>) {
    let thread = ThreadId(1);
    begin(&mut capability, thread, "filling");
    // A part wears out.
    let strength = (0..3_000_u32).map(|round| 4 - (round / 750));
    for amount in strength {
        if amount < 2 {
            capability.message(&format!("only {amount} litre in one stroke"));
        }
        if fill.send(amount).is_err() {
            break;
        }
        pause(&mut capability, thread, Duration::from_micros(100));
    }
    end(&mut capability, thread);
}

fn drain_tank(mut capability: Capability, level: &mpsc::Receiver<u32>) {
    let thread = ThreadId(2);
    begin(&mut capability, thread, "draining");
    let mut litres = 500_u32;
    loop {
        litres += level.recv().unwrap_or(0);
        litres = litres.checked_sub(2).expect("the tank is not dry");
        if litres % 100 == 0 {
            capability.marker(&format!("{litres} litres"));
        }
        pause(&mut capability, thread, Duration::from_micros(50));
    }
}

fn begin(capability: &mut Capability, thread: ThreadId, label: &str) {
    capability.emit(&Event::CreateThread { thread });
    capability.emit(&Event::ThreadLabel { thread, label });
    capability.emit(&Event::RunThread { thread });
}

/// Sleeps, and says so.
fn pause(capability: &mut Capability, thread: ThreadId, time: Duration) {
    let status = StopStatus::BlockedOnDelay;
    capability.emit(&Event::StopThread {
        thread,
        status,
        info: 0,
    });
    thread::sleep(time);
    capability.emit(&Event::RunThread { thread });
}

fn end(capability: &mut Capability, thread: ThreadId) {
    let status = StopStatus::Finished;
    capability.emit(&Event::StopThread {
        thread,
        status,
        info: 0,
    });
}
