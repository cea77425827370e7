//! What a log must be told that begins in the middle of another one: what is there, what it is
//! called, and what runs.

use std::collections::HashMap;

use ghc_eventlog::format::{
    CapNo, CapsetId, Decoded, Event, RawEvent, StopStatus, TaskId, ThreadId,
};

/// An event as it lies in a log.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// How many came before it.
    place: u64,
    pub(crate) time: u64,
    pub(crate) cap: Option<CapNo>,
    pub(crate) bytes: Box<[u8]>,
}

/// The sticky events of what has been seen of a log.
#[derive(Debug, Default)]
pub(crate) struct Sticky {
    seen: u64,
    /// About capabilities and sets of them, with what they are about.
    sets: Vec<(About, Entry)>,
    tasks: HashMap<TaskId, Entry>,
    /// Of profiles. These are not taken back.
    definitions: Vec<Entry>,
    threads: HashMap<ThreadId, Thread>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Capset(CapsetId),
    Assignment(CapsetId, CapNo),
    Cap(CapNo),
    Disabled(CapNo),
}

/// A thread that has not ended.
#[derive(Debug, Default)]
struct Thread {
    created: Option<Entry>,
    label: Option<Entry>,
    /// It has begun to run since it was made runnable.
    runs: Option<Entry>,
    /// And has stopped since.
    stopped: Option<Entry>,
}

impl Sticky {
    /// Takes in the next event. Whether it tells of more than its own capability.
    pub(crate) fn see(&mut self, raw: &RawEvent<'_>) -> bool {
        /// Declared, and known by no name.
        const INTERN_STRING: u16 = 42;
        self.seen += 1;
        let entry = || Entry {
            place: self.seen,
            time: raw.time,
            cap: raw.cap,
            bytes: raw.bytes().into(),
        };
        let Ok(Decoded::Known(event)) = raw.decode() else {
            if raw.id == INTERN_STRING {
                self.definitions.push(entry());
            }
            return raw.id == INTERN_STRING;
        };
        match event {
            Event::CapsetCreate { capset, .. }
            | Event::OsProcessPid { capset, .. }
            | Event::OsProcessPpid { capset, .. }
            | Event::RtsIdentifier { capset, .. }
            | Event::ProgramArgs { capset, .. }
            | Event::ProgramEnv { capset, .. }
            | Event::WallClockTime { capset, .. }
            | Event::HeapInfoGhc { capset, .. } => {
                self.sets.push((About::Capset(capset), entry()));
            }
            Event::CapsetDelete { capset } => self.sets.retain(|(about, _)| {
                !matches!(about, About::Capset(set) | About::Assignment(set, _) if *set == capset)
            }),
            Event::CapsetAssignCap { capset, cap } => {
                self.sets.push((About::Assignment(capset, cap), entry()));
            }
            Event::CapsetRemoveCap { capset, cap } => self.forget(About::Assignment(capset, cap)),
            Event::CapCreate { cap } => self.sets.push((About::Cap(cap), entry())),
            Event::CapDisable { cap } => self.sets.push((About::Disabled(cap), entry())),
            Event::CapEnable { cap } => self.forget(About::Disabled(cap)),
            Event::CapDelete { cap } => self.sets.retain(|(about, _)| match about {
                About::Cap(of) | About::Disabled(of) | About::Assignment(_, of) => *of != cap,
                About::Capset(_) => true,
            }),
            Event::TaskCreate { task, .. } => drop(self.tasks.insert(task, entry())),
            Event::TaskDelete { task } => drop(self.tasks.remove(&task)),
            Event::HeapProfBegin { .. }
            | Event::HeapProfCostCentre { .. }
            | Event::ProfBegin { .. }
            | Event::InfoTable { .. }
            | Event::TickyCounterDef { .. } => self.definitions.push(entry()),
            event => {
                let entry = entry();
                self.see_thread(&event, entry);
                return false;
            }
        }
        true
    }

    fn forget(&mut self, what: About) {
        self.sets.retain(|(about, _)| *about != what);
    }

    fn see_thread(&mut self, event: &Event<'_>, entry: Entry) {
        match *event {
            Event::CreateThread { thread } | Event::CreateSparkThread { thread } => {
                let created = Some(entry);
                let new = Thread {
                    created,
                    ..Thread::default()
                };
                self.threads.insert(thread, new);
            }
            Event::ThreadLabel { thread, .. } => self.thread(thread).label = Some(entry),
            Event::RunThread { thread } => {
                let thread = self.thread(thread);
                thread.runs = Some(entry);
                thread.stopped = None;
            }
            Event::StopThread {
                thread,
                status: StopStatus::Finished,
                ..
            } => drop(self.threads.remove(&thread)),
            Event::StopThread { thread, .. } => self.thread(thread).stopped = Some(entry),
            Event::ThreadRunnable { thread } | Event::ThreadWakeup { thread, .. } => {
                let thread = self.thread(thread);
                (thread.runs, thread.stopped) = (None, None);
            }
            _ => {}
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    /// All that is sticky now, in the order of the log.
    pub(crate) fn all(&self) -> Vec<&Entry> {
        let threads = self.threads.values().flat_map(|thread| {
            let Thread {
                created,
                label,
                runs,
                stopped,
            } = thread;
            [created, label, runs, stopped].into_iter().flatten()
        });
        let mut all: Vec<&Entry> = self.of_all_caps().chain(threads).collect();
        all.sort_unstable_by_key(|entry| entry.place);
        all
    }

    /// What is sticky and tells of more than its own capability, in the order of the log.
    pub(crate) fn shared(&self) -> Vec<&Entry> {
        let mut shared: Vec<&Entry> = self.of_all_caps().collect();
        shared.sort_unstable_by_key(|entry| entry.place);
        shared
    }

    fn of_all_caps(&self) -> impl Iterator<Item = &Entry> {
        let sets = self.sets.iter().map(|(_, entry)| entry);
        sets.chain(self.tasks.values()).chain(&self.definitions)
    }
}
