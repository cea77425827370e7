//! The suites: which loop runs on which queues, and in which unit its result is told.

use crate::events::{self, Filed, Way};
use crate::loops::{self, Meanwhile};
use crate::machine::Pause;
use crate::queues::{self, Queue, SharedVisitor, Visitor};
use crate::slices::{self, BatchQueue, BatchVisitor, RecordQueue, RecordVisitor};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Less is better.
    Nanoseconds,
    /// More is better.
    MillionsPerSecond,
}

/// Queues that are measured in turn, by the same loop.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) unit: Unit,
    /// What each of a loop's results is.
    pub(crate) results: &'static [&'static str],
    /// The queues that the others are compared with.
    pub(crate) baselines: &'static [&'static str],
    /// Whether the distance of the cores matters.
    pub(crate) two_cores: bool,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) queue: &'static str,
    /// Nanoseconds an item, for so many items; one number for each of the suite's results.
    pub(crate) run: Box<dyn Fn(u64) -> Vec<f64>>,
}

impl Suite {
    fn row(&mut self, queue: &'static str, run: impl Fn(u64) -> Vec<f64> + 'static) {
        let run = Box::new(run);
        self.rows.push(Row { queue, run });
    }
}

const RTRB: &[&str] = &["rtrb"];
const SHARED: &[&str] = &["ArrayQueue", "nexus-queue mpsc"];
const OURS: &[&str] = &["chunkring"];
const RECORDERS: &[&str] = &["fastrace", "tracing binary"];
const FILES: &[&str] = &["fastrace", "tracing-appender"];

/// A loop for single items, and the queues' capacity.
#[derive(Clone, Copy)]
enum Single {
    Burst,
    Free(usize, Pause),
    RoundTrip,
    OneThread,
    Several(usize),
    Fill,
}

impl Single {
    fn capacity(self) -> usize {
        match self {
            Single::Burst | Single::Fill => 65_536,
            Single::Free(capacity, _) => capacity,
            Single::RoundTrip | Single::Several(_) => 1_024,
            // A thousand items begin in the middle of a chunk, too.
            Single::OneThread => 2_048,
        }
    }
}

/// Adds a row for each queue.
struct Rows<'a, L>(&'a mut Suite, L);

impl Visitor for Rows<'_, Single> {
    fn visit<Q: Queue>(&mut self) {
        let Rows(suite, chosen) = self;
        let capacity = chosen.capacity();
        match *chosen {
            Single::Burst => suite.row(Q::NAME, move |n| loops::burst::<Q>(capacity, n).into()),
            Single::Free(_, pause) => {
                suite.row(Q::NAME, move |n| vec![loops::free::<Q>(capacity, pause, n)]);
            }
            Single::RoundTrip => {
                suite.row(Q::NAME, move |n| vec![loops::round_trip::<Q>(capacity, n)]);
            }
            Single::OneThread => {
                suite.row(Q::NAME, move |n| vec![loops::one_thread::<Q>(capacity, n)]);
            }
            Single::Several(_) | Single::Fill => unreachable!("these need several producers"),
        }
    }
}

/// Rows of queues for several producers.
struct SharedRows<'a>(&'a mut Suite, Single);

impl SharedVisitor for SharedRows<'_> {
    fn visit_shared<Q: Queue<Sender: Clone>>(&mut self) {
        let SharedRows(suite, chosen) = self;
        let capacity = chosen.capacity();
        match *chosen {
            Single::Several(producers) => suite.row(Q::NAME, move |n| {
                vec![loops::several::<Q>(capacity, producers, n)]
            }),
            Single::Fill => suite.row(Q::NAME, move |n| vec![loops::fill::<Q>(capacity, n)]),
            _ => Rows(suite, *chosen).visit::<Q>(),
        }
    }
}

struct Batches(usize, Pause);

impl BatchVisitor for Rows<'_, Batches> {
    fn visit<Q: BatchQueue>(&mut self) {
        let Rows(suite, Batches(capacity, pause)) = self;
        let (capacity, pause) = (*capacity, *pause);
        suite.row(Q::NAME, move |n| {
            vec![loops::batches::<Q>(capacity, pause, n)]
        });
    }
}

enum Records {
    Burst,
    Free(Pause),
    OneThread,
}

impl RecordVisitor for Rows<'_, Records> {
    fn visit<Q: RecordQueue>(&mut self) {
        let Rows(suite, chosen) = self;
        match *chosen {
            Records::Burst => suite.row(Q::NAME, |n| loops::record_burst::<Q>(n).into()),
            Records::Free(pause) => {
                suite.row(Q::NAME, move |n| vec![loops::records::<Q>(pause, n)]);
            }
            Records::OneThread => {
                suite.row(Q::NAME, |n| vec![loops::records_on_one_thread::<Q>(n)]);
            }
        }
    }
}

fn suite(
    name: impl Into<String>,
    about: impl Into<String>,
    unit: Unit,
    baselines: &'static [&'static str],
) -> Suite {
    Suite {
        name: name.into(),
        about: about.into(),
        unit,
        results: &[""],
        baselines,
        two_cores: true,
        rows: Vec::new(),
    }
}

/// Every suite, in the order in which they run.
pub(crate) fn all() -> Vec<Suite> {
    let mut suites = Vec::new();
    single_producer(&mut suites);
    several_items(&mut suites);
    several_producers(&mut suites);
    our_own(&mut suites);
    user_events(&mut suites);
    suites
}

fn single_producer(suites: &mut Vec<Suite>) {
    let add = |suite: &mut Suite, chosen: Single| {
        suite.about = format!("{} ({})", suite.about, queues::shapes(chosen.capacity()));
        queues::visit_all(chosen.capacity(), &mut Rows(suite, chosen));
    };

    let mut burst = suite(
        "burst",
        "8,192 pushes, then 8,192 pops, on two cores that take turns; room for 65,536",
        Unit::Nanoseconds,
        RTRB,
    );
    burst.results = &["push", "pop"];
    add(&mut burst, Single::Burst);
    suites.push(burst);

    for capacity in [64, 256, 1_024, 65_536] {
        for pauses in [1, 16] {
            let mut free = suite(
                format!("free/{capacity}/{pauses}"),
                format!("both at once; room for {capacity}; {pauses} pause(s) after a failed try"),
                Unit::MillionsPerSecond,
                RTRB,
            );
            add(&mut free, Single::Free(capacity, Pause::Spin(pauses)));
            suites.push(free);
        }
    }

    let mut round_trip = suite(
        "round-trip",
        "an item there through one queue and back through another; room for 1,024",
        Unit::Nanoseconds,
        RTRB,
    );
    add(&mut round_trip, Single::RoundTrip);
    suites.push(round_trip);

    let mut one_thread = suite(
        "one-thread",
        "1,000 pushes, then 1,000 pops; room for 2,048; a push and a pop",
        Unit::Nanoseconds,
        RTRB,
    );
    one_thread.two_cores = false;
    add(&mut one_thread, Single::OneThread);
    suites.push(one_thread);
}

fn several_items(suites: &mut Vec<Suite>) {
    for pauses in [1, 16] {
        let mut batch = suite(
            format!("batch/{pauses}"),
            format!(
                "{} items at a time, both sides at once; room for 1,024; {pauses} pause(s)",
                loops::BATCH
            ),
            Unit::MillionsPerSecond,
            RTRB,
        );
        slices::visit_batches(&mut Rows(&mut batch, Batches(1_024, Pause::Spin(pauses))));
        suites.push(batch);
    }

    let room = format!(
        "room for {} bytes, chunkring: as `bounded` has it",
        loops::RECORD_ROOM
    );
    let mut burst = suite(
        "records/burst",
        format!("1,024 records of 8 to 64 bytes in, then out, on two cores in turn; {room}"),
        Unit::Nanoseconds,
        RTRB,
    );
    burst.results = &["write", "read"];
    slices::visit_records(&mut Rows(&mut burst, Records::Burst));
    suites.push(burst);

    for pauses in [1, 16] {
        let mut free = suite(
            format!("records/free/{pauses}"),
            format!("records of 8 to 64 bytes, both sides at once; {room}; {pauses} pause(s)"),
            Unit::MillionsPerSecond,
            RTRB,
        );
        slices::visit_records(&mut Rows(&mut free, Records::Free(Pause::Spin(pauses))));
        suites.push(free);
    }

    let mut one_thread = suite(
        "records/one-thread",
        format!("1,000 records of 36 bytes in, then out; a record; {room}"),
        Unit::Nanoseconds,
        RTRB,
    );
    one_thread.two_cores = false;
    slices::visit_records(&mut Rows(&mut one_thread, Records::OneThread));
    suites.push(one_thread);
}

fn several_producers(suites: &mut Vec<Suite>) {
    let mut add = |mut suite: Suite, chosen: Single| {
        suite.about = format!("{} ({})", suite.about, queues::shapes(chosen.capacity()));
        queues::visit_shared(&mut SharedRows(&mut suite, chosen));
        suites.push(suite);
    };
    let free = |name, about| suite(name, about, Unit::MillionsPerSecond, SHARED);
    add(
        free(
            "mpsc/one",
            "one producer of a queue for several; room for 1,024; yields at times",
        ),
        Single::Several(1),
    );
    add(
        free(
            "mpsc/two",
            "a producer on either core, the consumer on the second; room for 1,024; yields at times",
        ),
        Single::Several(2),
    );
    add(
        suite(
            "mpsc/fill",
            "16,384 pushes by each of two producers at once, and no consumer; room for 65,536; a push",
            Unit::Nanoseconds,
            SHARED,
        ),
        Single::Fill,
    );
}

fn our_own(suites: &mut Vec<Suite>) {
    let mut resized = suite(
        "resized",
        "as free/1024, while a third thread resizes 1,000 times a second, or only wakes up",
        Unit::MillionsPerSecond,
        OURS,
    );
    for (name, meanwhile) in [
        ("chunkring", Meanwhile::Nothing),
        ("chunkring beside a sleeper", Meanwhile::Wake),
        ("chunkring resized", Meanwhile::Resize),
    ] {
        resized.row(name, move |n| {
            vec![loops::resized(meanwhile, Pause::Spin(1), n)]
        });
    }
    Rows(&mut resized, Single::Free(1_024, Pause::Spin(1))).visit::<queues::Rtrb>();
    suites.push(resized);

    for (name, about, chosen) in [
        ("control/burst", "as burst", Single::Burst),
        (
            "control/free",
            "as free/1024/1",
            Single::Free(1_024, Pause::Spin(1)),
        ),
        ("control/one-thread", "as one-thread", Single::OneThread),
    ] {
        let unit = match chosen {
            Single::Free(..) => Unit::MillionsPerSecond,
            _ => Unit::Nanoseconds,
        };
        let about = format!("{about}: a control that exists and is not used, and none");
        let mut control = suite(name, about, unit, OURS);
        if matches!(chosen, Single::Burst) {
            control.results = &["push", "pop"];
        }
        control.two_cores = !matches!(chosen, Single::OneThread);
        let mut rows = Rows(&mut control, chosen);
        rows.visit::<queues::Chunkring>();
        rows.visit::<queues::Controlled>();
        suites.push(control);
    }

    let mut chunks = suite(
        "take-chunk",
        "1,000 pushes, then the chunks of 125 taken out whole and dropped; an item",
        Unit::Nanoseconds,
        OURS,
    );
    chunks.two_cores = false;
    chunks.row("chunkring", |n| vec![loops::take_chunks(n)]);
    suites.push(chunks);
}

fn user_events(suites: &mut Vec<Suite>) {
    let mut emit = suite(
        "event/emit",
        "an event of 16 bytes of text, by the thread that emits it; whatever takes it from there is on the second core",
        Unit::Nanoseconds,
        RECORDERS,
    );
    for (name, way) in [
        ("time stamp", Way::Clock),
        ("capability", Way::Capability),
        ("capability any text", Way::AnyText),
        ("trace_event!", Way::Macro),
        ("trace_event! without a log", Way::Off),
        ("tracing with our layer", Way::Layer),
        ("fastrace", Way::Fastrace),
        ("tracing binary", Way::Binary),
        ("tracing-appender", Way::Appender),
    ] {
        emit.row(name, move |n| vec![events::emit(way, n)]);
    }
    suites.push(emit);

    let mut file = suite(
        "event/file",
        "the same events by two threads, one on each core, until the last is in a file",
        Unit::MillionsPerSecond,
        FILES,
    );
    for (name, way) in [
        ("capability", Filed::Ours),
        ("fastrace", Filed::Fastrace),
        ("tracing-appender", Filed::Appender),
    ] {
        file.row(name, move |n| vec![events::file(way, n)]);
    }
    suites.push(file);
}
