//! A program that is instrumented with `tracing`, and knows nothing of event logs but for the first lines
//! of `main`. Writes `tracing_layer.eventlog` to the current directory, or to the path that is given.
//!
//! ```text
//! cargo run --release --features ghc-eventlog/tracing --example tracing_layer
//! cargo run --release --bin eventlog -- show tracing_layer.eventlog
//! ```

use ghc_eventlog::{EventLog, trace};
use std::error::Error;
use std::path::PathBuf;
use std::thread;
use tracing::{debug, info, info_span, warn};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("tracing_layer.eventlog"), PathBuf::from);
    trace::install(EventLog::builder().file(&path)?)?;
    let layer = trace::TracingLayer::new().with_filter(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer).try_init()?;

    serve();

    let log = trace::uninstall().ok_or("the log has been taken away")?;
    let statistics = log.stop()?;
    println!(
        "{} events in {}, {} lost",
        statistics.events(),
        path.display(),
        statistics.lost().total()
    );
    Ok(())
}

/// What the program was written for: it answers made-up requests.
fn serve() {
    let _span = info_span!("serve").entered();
    thread::scope(|scope| {
        for worker in 0..3_u64 {
            let builder = thread::Builder::new().name(format!("worker {worker}"));
            let spawned = builder.spawn_scoped(scope, move || {
                (0..40).for_each(|request| answer(worker * 40 + request));
            });
            if let Err(error) = spawned {
                warn!(worker, %error, "goes without this worker");
            }
        }
    });
    info!("all answered");
}

fn answer(id: u64) {
    let span = info_span!("request", id, status = tracing::field::Empty);
    let _entered = span.enter();
    let steps = {
        let _span = info_span!("compute").entered();
        steps_to_one(837_799 + id)
    };
    debug!(steps, "too detailed for the log");
    if steps > 400 {
        info!(id, steps, "takes long");
    }
    span.record("status", 200);
}

/// Steps of halving, or tripling and adding one.
fn steps_to_one(start: u64) -> u32 {
    let next = |&number: &u64| match number {
        1 => None,
        even if even % 2 == 0 => Some(even / 2),
        odd => Some(odd * 3 + 1),
    };
    std::iter::successors(Some(start), next).map(|_| 1).sum()
}
