//! Every event type of the format: one table gives the enum, its encoding and its decoding.

use core::mem::MaybeUninit;
use std::borrow::Cow;

use super::error::EventErrorKind;
use super::event_type::{EventSize, EventType};
use super::list::{CostCentreStack, Strings};
use super::profile::{HeapProfFilter, TickyInfo};
use super::text::ZStr;
use super::value::{
    CapNo, CapsetId, CapsetType, CostCentreFlags, HeapBreakdown, KernelThreadId, LossCause,
    StopStatus, TaskId, ThreadId,
};
use super::wire::{Cursor, Reader, Sink, Wire};

/// The most bytes in the payload of an event of variable size.
pub const MAX_PAYLOAD: usize = u16::MAX as usize;

/// Bytes before the payload of an event of fixed size: id and time.
pub const FIXED_HEAD: usize = 10;

/// Bytes before the payload of an event of variable size: id, time and payload length.
pub const VARIABLE_HEAD: usize = 12;

macro_rules! size {
    (fixed $min:expr) => {
        EventSize::Fixed($min as u16)
    };
    (variable $min:expr) => {
        EventSize::Variable
    };
}

macro_rules! head {
    (fixed) => {
        FIXED_HEAD
    };
    (variable) => {
        VARIABLE_HEAD
    };
}

macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $kind:ident $id:literal $variant:ident $description:literal
        $({ $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* })?
    )*) => {
        /// An event as GHC's run-time system writes it, or one of this library's own
        /// ([`EventsLost`](Self::EventsLost)), with text and lists borrowed.
        ///
        /// Sizes are in bytes and times in nanoseconds unless a field says otherwise. Numbers that
        /// make readers fail cannot be expressed. Text may be of any length: encoding cuts it, as
        /// [`fitted`](Self::fitted) tells.
        ///
        /// ```
        /// use ghc_eventlog::format::{Event, ThreadId};
        ///
        /// let event = Event::ThreadLabel { thread: ThreadId(1), label: "main" };
        /// let mut bytes = Vec::new();
        /// event.encode_to_vec(1_000, &mut bytes);
        /// assert_eq!(bytes, b"\0\x2c\0\0\0\0\0\0\x03\xe8\0\x08\0\0\0\x01main");
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub enum Event<'a> {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $ty,)* })?,)*
        }

        impl<'a> Event<'a> {
            /// The number of the event's type.
            ///
            /// ```
            /// assert_eq!(ghc_eventlog::format::Event::GcStart.id(), 9);
            /// ```
            #[must_use]
            #[inline(always)]
            pub const fn id(&self) -> u16 {
                match self {
                    $(Self::$variant { .. } => $id,)*
                }
            }

            #[inline(always)]
            const fn head_len(&self) -> usize {
                match self {
                    $(Self::$variant { .. } => head!($kind),)*
                }
            }

            /// Bytes of the payload before any cut.
            #[inline(always)]
            fn whole_payload_len(&self) -> usize {
                match *self {
                    $(Self::$variant $({ $($field),* })? => {
                        0 $($(+ $field.wire_len())*)?
                    })*
                }
            }

            #[cold]
            fn cut(self) -> Self {
                match self {
                    $(Self::$variant $({ $($field),* })? => {
                        #[allow(unused_mut, reason = "not every event has fields")]
                        let mut spare = MAX_PAYLOAD $($(- <$ty as Wire<'_>>::MIN)*)?;
                        $($(
                            let $field = $field.cut(spare);
                            spare -= $field.wire_len() - <$ty as Wire<'_>>::MIN;
                        )*)?
                        let _ = spare;
                        Self::$variant $({ $($field),* })?
                    })*
                }
            }

            #[inline(always)]
            fn put_payload<S: Sink>(&self, out: &mut S) {
                match *self {
                    $(Self::$variant $({ $($field),* })? => {
                        $($($field.put(out);)*)?
                    })*
                }
            }

            /// The event of that type in a payload, made into what the caller returns: `known` of
            /// it, `unfit` of the reason why the payload holds none, or `other` if the type has
            /// none. Each arm makes the result where it will lie, as copies would cost more than
            /// the decoding.
            #[inline(always)]
            pub(super) fn from_payload<R>(
                id: u16,
                payload: &'a [u8],
                known: impl Fn(Self) -> R,
                unfit: impl Fn(EventErrorKind) -> R,
                other: impl Fn() -> R,
            ) -> R {
                match id {
                    $($id => {
                        let least = 0 $($(+ <$ty as Wire<'_>>::MIN)*)?;
                        if payload.len() < least {
                            return unfit(EventErrorKind::TooShort { size: payload.len(), least });
                        }
                        #[allow(unused_variables, unused_mut, reason = "not every event has fields")]
                        let mut input = Reader::new(payload);
                        $($(
                            let $field = match Wire::get(&mut input) {
                                Ok(field) => field,
                                Err(kind) => return unfit(kind),
                            };
                        )*)?
                        known(Self::$variant $({ $($field),* })?)
                    })*
                    _ => other(),
                }
            }
        }

        /// What a header says of each event type that has an [`Event`], by id.
        pub(super) fn types() -> Vec<EventType> {
            vec![$(
                EventType {
                    id: $id,
                    size: size!($kind (0 $($(+ <$ty as Wire<'_>>::MIN)*)?)),
                    description: $description.into(),
                    extra: Cow::Borrowed(&[]),
                },
            )*]
        }
    };
}

events! {
    /// A thread was made.
    fixed 0 CreateThread "Create thread" {
        /// The new thread.
        thread: ThreadId,
    }
    /// A thread starts to run on the event's capability.
    fixed 1 RunThread "Run thread" {
        /// The thread.
        thread: ThreadId,
    }
    /// A thread stops running.
    fixed 2 StopThread "Stop thread" {
        /// The thread.
        thread: ThreadId,
        /// Why it stopped.
        status: StopStatus,
        /// More on some statuses, see [`StopStatus`]; else 0. 0 in logs of GHC before 7.2.
        info: u32,
    }
    /// A thread may run again.
    fixed 3 ThreadRunnable "Thread runnable" {
        /// The thread.
        thread: ThreadId,
    }
    /// A thread moves to another capability.
    fixed 4 MigrateThread "Migrate thread" {
        /// The thread.
        thread: ThreadId,
        /// Where it goes.
        to: CapNo,
    }
    /// A thread that belongs to another capability was woken up.
    fixed 8 ThreadWakeup "Wakeup thread" {
        /// The thread.
        thread: ThreadId,
        /// The capability that it belongs to.
        other: CapNo,
    }
    /// A garbage collection starts.
    fixed 9 GcStart "Starting GC"
    /// A garbage collection ends.
    fixed 10 GcEnd "Finished GC"
    /// A sequential garbage collection is asked for.
    fixed 11 RequestSeqGc "Request sequential GC"
    /// A parallel garbage collection is asked for.
    fixed 12 RequestParGc "Request parallel GC"
    /// A thread was made that evaluates sparks.
    fixed 15 CreateSparkThread "Create spark thread" {
        /// The new thread.
        thread: ThreadId,
    }
    /// The run-time system says something.
    variable 16 LogMessage "Log message" {
        /// What it says.
        text: &'a str,
    }
    /// The program says something.
    variable 19 UserMessage "User message" {
        /// What it says.
        text: &'a str,
    }
    /// The capability has nothing to do in a garbage collection.
    fixed 20 GcIdle "GC idle"
    /// The capability works in a garbage collection.
    fixed 21 GcWork "GC working"
    /// The capability is done with its part of a garbage collection.
    fixed 22 GcDone "GC done"
    /// A capability set was made.
    fixed 25 CapsetCreate "Create capability set" {
        /// The new set.
        capset: CapsetId,
        /// What it stands for.
        kind: CapsetType,
    }
    /// A capability set is gone.
    fixed 26 CapsetDelete "Delete capability set" {
        /// The set.
        capset: CapsetId,
    }
    /// A capability joins a set.
    fixed 27 CapsetAssignCap "Add capability to capability set" {
        /// The set.
        capset: CapsetId,
        /// The capability.
        cap: CapNo,
    }
    /// A capability leaves a set.
    fixed 28 CapsetRemoveCap "Remove capability from capability set" {
        /// The set.
        capset: CapsetId,
        /// The capability.
        cap: CapNo,
    }
    /// The name of the run-time system.
    variable 29 RtsIdentifier "RTS name and version" {
        /// The process.
        capset: CapsetId,
        /// Such as `GHC-9.0.2 rts_thr_l`.
        name: &'a str,
    }
    /// The program's name and arguments.
    variable 30 ProgramArgs "Program arguments" {
        /// The process.
        capset: CapsetId,
        /// The name, then the arguments.
        args: Strings<'a>,
    }
    /// The program's environment.
    variable 31 ProgramEnv "Program environment variables" {
        /// The process.
        capset: CapsetId,
        /// `NAME=value` each.
        vars: Strings<'a>,
    }
    /// The process id.
    fixed 32 OsProcessPid "Process ID" {
        /// The process.
        capset: CapsetId,
        /// Its number.
        pid: u32,
    }
    /// The parent's process id.
    fixed 33 OsProcessPpid "Parent process ID" {
        /// The process.
        capset: CapsetId,
        /// Its parent's number.
        ppid: u32,
    }
    /// What became of the capability's sparks so far, in sparks.
    fixed 34 SparkCounters "Spark counters" {
        /// Put into the pool.
        created: u64,
        /// Evaluated already when made.
        dud: u64,
        /// Dropped as the pool was full.
        overflowed: u64,
        /// Turned into work.
        converted: u64,
        /// Found to be needed by nobody.
        gcd: u64,
        /// Evaluated by somebody else before their turn came.
        fizzled: u64,
        /// Still in the pool.
        remaining: u64,
    }
    /// A spark was made.
    fixed 35 SparkCreate "Spark create"
    /// A spark was evaluated already when made.
    fixed 36 SparkDud "Spark dud"
    /// A spark was dropped as the pool was full.
    fixed 37 SparkOverflow "Spark overflow"
    /// A spark of the capability's own runs.
    fixed 38 SparkRun "Spark run"
    /// A spark of another capability runs.
    fixed 39 SparkSteal "Spark steal" {
        /// Where it came from.
        victim: CapNo,
    }
    /// A spark was evaluated by somebody else before its turn came.
    fixed 40 SparkFizzle "Spark fizzle"
    /// A spark was needed by nobody.
    fixed 41 SparkGc "Spark GC"
    /// The time of day at the event's time, to set several logs in relation.
    fixed 43 WallClockTime "Wall clock time" {
        /// The clock.
        capset: CapsetId,
        /// Seconds since 1970-01-01 UTC.
        unix_seconds: u64,
        /// Nanoseconds of the second.
        nanoseconds: u32,
    }
    /// A thread gets a name.
    variable 44 ThreadLabel "Thread label" {
        /// The thread.
        thread: ThreadId,
        /// Its name.
        label: &'a str,
    }
    /// A capability was made.
    fixed 45 CapCreate "Create capability" {
        /// The new capability.
        cap: CapNo,
    }
    /// A capability is gone.
    fixed 46 CapDelete "Delete capability" {
        /// The capability.
        cap: CapNo,
    }
    /// A capability does not run threads for now.
    fixed 47 CapDisable "Disable capability" {
        /// The capability.
        cap: CapNo,
    }
    /// A disabled capability runs threads again.
    fixed 48 CapEnable "Enable capability" {
        /// The capability.
        cap: CapNo,
    }
    /// What the capability has allocated so far.
    fixed 49 HeapAllocated "Total heap memory ever allocated" {
        /// The heap.
        capset: CapsetId,
        /// Since the program's start.
        bytes: u64,
    }
    /// The size of the heap, in whole megablocks.
    fixed 50 HeapSize "Current heap size (number of allocated mblocks)" {
        /// The heap.
        capset: CapsetId,
        /// Its size.
        bytes: u64,
    }
    /// What is in use of the heap, as of a major garbage collection.
    fixed 51 HeapLive "Current heap live data" {
        /// The heap.
        capset: CapsetId,
        /// In use.
        bytes: u64,
    }
    /// How the heap is set up.
    fixed 52 HeapInfoGhc "Heap static parameters" {
        /// The heap.
        capset: CapsetId,
        /// Number of generations.
        generations: u16,
        /// The most the heap may grow to; 0 for no limit.
        max_heap_size: u64,
        /// Allocation area of each capability.
        allocation_area_size: u64,
        /// Size of a megablock.
        mblock_size: u64,
        /// Size of a block.
        block_size: u64,
    }
    /// What a garbage collection did.
    fixed 53 GcStatsGhc "GC statistics" {
        /// The heap.
        capset: CapsetId,
        /// The generation that was collected.
        generation: u16,
        /// Bytes copied.
        copied: u64,
        /// Bytes lost at the ends of blocks.
        slop: u64,
        /// Bytes lost to fragmentation.
        fragmentation: u64,
        /// Number of threads that took part.
        par_threads: u32,
        /// Bytes copied by the thread that copied the most.
        par_max_copied: u64,
        /// Bytes copied by all threads.
        par_total_copied: u64,
        /// Bytes copied, as far as the work was spread evenly. 0 in logs of GHC before 8.8.
        par_balanced_copied: u64,
    }
    /// All capabilities have stopped for a garbage collection.
    fixed 54 GcGlobalSync "Synchronise stop-the-world GC"
    /// An operating-system thread was made or has joined.
    fixed 55 TaskCreate "Task create" {
        /// The thread.
        task: TaskId,
        /// The capability that it works for.
        cap: CapNo,
        /// The kernel's number of it.
        kernel_thread: KernelThreadId,
    }
    /// An operating-system thread moves to another capability.
    fixed 56 TaskMigrate "Task migrate" {
        /// The thread.
        task: TaskId,
        /// Where it comes from.
        from: CapNo,
        /// Where it goes.
        to: CapNo,
    }
    /// An operating-system thread is gone.
    fixed 57 TaskDelete "Task delete" {
        /// The thread.
        task: TaskId,
    }
    /// The program marks a point in time.
    variable 58 UserMarker "User marker" {
        /// The point's name.
        name: &'a str,
    }
    /// The run-time system tried to give memory back, in megablocks (GHC 9.2).
    fixed 90 MemReturn "The RTS attempted to return heap memory to the OS" {
        /// The heap.
        capset: CapsetId,
        /// Held.
        current: u32,
        /// Needed.
        needed: u32,
        /// Given back.
        returned: u32,
    }
    /// The size of the heap, in whole blocks (GHC 9.2).
    fixed 91 BlocksSize "Report the size of the heap in blocks" {
        /// The heap.
        capset: CapsetId,
        /// Its size.
        bytes: u64,
    }
    /// A heap profile starts.
    variable 160 HeapProfBegin "Start of heap profile" {
        /// Which profile.
        profile: u8,
        /// Nanoseconds between samples.
        period_ns: u64,
        /// What samples are grouped by.
        breakdown: HeapBreakdown,
        /// What is left out.
        filter: HeapProfFilter<'a>,
    }
    /// A cost centre that samples refer to.
    variable 161 HeapProfCostCentre "Cost-centre definition" {
        /// Its number.
        cost_centre: u32,
        /// Its name.
        label: ZStr<'a>,
        /// The module that it is in.
        module: ZStr<'a>,
        /// Where it is in the source.
        location: ZStr<'a>,
        /// What is special about it.
        flags: CostCentreFlags,
    }
    /// A sample of a heap profile starts.
    fixed 162 HeapProfSampleBegin "Start of heap profile sample" {
        /// Number of the sample.
        era: u64,
    }
    /// What a cost-centre stack holds, within a sample.
    variable 163 HeapProfSampleCostCentre "Heap profile cost-centre sample" {
        /// Which profile.
        profile: u8,
        /// Bytes held.
        residency: u64,
        /// The stack that holds them.
        stack: CostCentreStack<'a>,
    }
    /// What a group other than a cost-centre stack holds, within a sample.
    variable 164 HeapProfSampleString "Heap profile string sample" {
        /// Which profile.
        profile: u8,
        /// Bytes held.
        residency: u64,
        /// The group that holds them.
        label: ZStr<'a>,
    }
    /// A sample of a heap profile ends.
    fixed 165 HeapProfSampleEnd "End of heap profile sample" {
        /// Number of the sample.
        era: u64,
    }
    /// A sample of a biographical heap profile starts.
    fixed 166 HeapBioProfSampleBegin "Start of heap profile (biographical) sample" {
        /// Number of the sample.
        era: u64,
        /// The time that the sample is of, which is earlier than the event.
        time_ns: u64,
    }
    /// Where a capability was at a tick of the time profile.
    variable 167 ProfSampleCostCentre "Time profile cost-centre stack" {
        /// The capability's number.
        cap: u32,
        /// Number of the tick.
        tick: u64,
        /// Where it was.
        stack: CostCentreStack<'a>,
    }
    /// A time profile starts.
    fixed 168 ProfBegin "Start of a time profile" {
        /// Nanoseconds between ticks.
        tick_interval_ns: u64,
    }
    /// Where an info table comes from in the source (GHC 9.2).
    variable 169 InfoTable "An IPE entry" {
        /// The table's address.
        info: u64,
        /// Its name.
        name: ZStr<'a>,
        /// The type of its closures, a decimal number.
        closure_description: ZStr<'a>,
        /// The Haskell type.
        type_description: ZStr<'a>,
        /// The name in the source nearby.
        label: ZStr<'a>,
        /// The module that it is in.
        module: ZStr<'a>,
        /// File and span.
        location: ZStr<'a>,
    }
    /// The program says something that is not text.
    variable 181 UserBinaryMessage "User binary message" {
        /// What it says.
        bytes: &'a [u8],
    }
    /// Concurrent marking starts.
    fixed 200 ConcMarkBegin "Begin concurrent mark phase"
    /// Concurrent marking ends.
    fixed 201 ConcMarkEnd "End concurrent mark phase" {
        /// Number of objects marked. 0 where the log does not tell.
        marked_objects: u32,
    }
    /// The pause after concurrent marking starts.
    fixed 202 ConcSyncBegin "Begin concurrent GC synchronisation"
    /// The pause after concurrent marking ends.
    fixed 203 ConcSyncEnd "End concurrent mark synchronisation"
    /// Concurrent sweeping starts.
    fixed 204 ConcSweepBegin "Begin concurrent sweep phase"
    /// Concurrent sweeping ends.
    fixed 205 ConcSweepEnd "End concurrent sweep phase"
    /// A capability has handed over its remembered set.
    fixed 206 ConcUpdRemSetFlush "Update remembered set flushed" {
        /// The capability.
        cap: CapNo,
    }
    /// How full the non-moving heap is, for one size of block.
    fixed 207 NonmovingHeapCensus "Nonmoving heap census" {
        /// Size of the blocks counted here.
        block_size: u16,
        /// Number of segments that are being filled.
        active_segments: u32,
        /// Number of segments that are full.
        filled_segments: u32,
        /// Number of blocks in use.
        live_blocks: u32,
    }
    /// Segments of the non-moving heap were given up (GHC 9.12).
    fixed 208 NonmovingPrunedSegments
        "Report the amount of segments pruned and remaining on the free list." {
        /// Number of segments given up.
        pruned: u32,
        /// Number of free segments that remain.
        free: u32,
    }
    /// A counter of a ticky profile (GHC 9.2).
    variable 210 TickyCounterDef "Ticky-ticky entry counter definition" {
        /// Its number.
        counter: u64,
        /// Number of arguments of the function counted.
        arity: u16,
        /// One letter for each argument.
        argument_kinds: ZStr<'a>,
        /// Its name.
        name: ZStr<'a>,
        /// More on it, in newer logs.
        info: Option<TickyInfo<'a>>,
    }
    /// What a counter of a ticky profile stands at (GHC 9.2).
    fixed 211 TickyCounterSample "Ticky-ticky entry counter sample" {
        /// Its number.
        counter: u64,
        /// How often the function was entered.
        entries: u64,
        /// Bytes allocated by it.
        allocations: u64,
        /// Bytes allocated for its closures.
        allocated: u64,
    }
    /// The counters of a ticky profile follow (GHC 9.2).
    fixed 212 TickyCounterBeginSample "Ticky-ticky entry counter begin sample"
    /// Events are missing here. Stands in a block of the capability that emitted them, where they
    /// would have been. Written by this library, not by GHC; other readers skip it.
    fixed 1024 EventsLost "Events lost" {
        /// Why.
        cause: LossCause,
        /// Number of events lost.
        events: u64,
        /// Bytes that they would have taken. 0 where nobody counted them.
        bytes: u64,
    }
}

/// The id of the event that tells of a loss.
pub(crate) const EVENTS_LOST: u16 = Event::EventsLost {
    cause: LossCause::Full,
    events: 0,
    bytes: 0,
}
.id();

impl Event<'_> {
    /// The event as a reader will see it: with text, bytes and lists cut so that the payload is at
    /// most [`MAX_PAYLOAD`] bytes.
    ///
    /// Text is cut between characters. Where there are several texts, the first ones keep the
    /// most; lists lose their last texts. An event that fits is not changed.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let text = "ö".repeat(40_000);
    /// let Event::UserMessage { text } = (Event::UserMessage { text: &text }).fitted() else {
    ///     unreachable!()
    /// };
    /// assert_eq!(text.len(), 65_534);
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn fitted(self) -> Self {
        if self.whole_payload_len() > MAX_PAYLOAD {
            self.cut()
        } else {
            self
        }
    }

    /// Bytes that the event takes in a log, after the cut that [`fitted`](Self::fitted) tells of.
    /// At most 65,547.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// assert_eq!(Event::GcStart.encoded_len(), 10);
    /// assert_eq!((Event::UserMessage { text: "hi" }).encoded_len(), 14);
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn encoded_len(&self) -> usize {
        let payload = self.whole_payload_len();
        if payload > MAX_PAYLOAD {
            return self.cut_len();
        }
        self.head_len() + payload
    }

    /// Apart, so that what is usual needs no event whose kind the compiler does not know.
    #[cold]
    #[inline(never)]
    fn cut_len(&self) -> usize {
        self.head_len() + self.cut().whole_payload_len()
    }

    /// Writes the event, with text cut as [`fitted`](Self::fitted) tells, to the start of `out`.
    /// Initialises and returns exactly [`encoded_len`](Self::encoded_len) bytes.
    ///
    /// # Panics
    /// If `out` is shorter than that. Nothing is written then.
    ///
    /// ```
    /// use core::mem::MaybeUninit;
    /// use ghc_eventlog::format::Event;
    ///
    /// let mut out = [MaybeUninit::uninit(); 64];
    /// assert_eq!(Event::GcEnd.encode(5, &mut out), 10);
    /// ```
    #[inline(always)]
    pub fn encode(&self, time_ns: u64, out: &mut [MaybeUninit<u8>]) -> usize {
        let payload = self.whole_payload_len();
        if payload > MAX_PAYLOAD {
            return self.encode_cut(time_ns, out);
        }
        let len = self.head_len() + payload;
        let room = out.len();
        let Some(out) = out.get_mut(..len) else {
            no_room(len, room)
        };
        self.put(time_ns, payload, &mut Cursor::new(out));
        len
    }

    #[cold]
    fn encode_cut(&self, time_ns: u64, out: &mut [MaybeUninit<u8>]) -> usize {
        self.cut().encode(time_ns, out)
    }

    /// Appends the event, as [`encode`](Self::encode) writes it, and returns its length in bytes.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let mut log = Vec::new();
    /// assert_eq!(Event::GcStart.encode_to_vec(1, &mut log), 10);
    /// assert_eq!(log, [0, 9, 0, 0, 0, 0, 0, 0, 0, 1]);
    /// ```
    pub fn encode_to_vec(&self, time_ns: u64, out: &mut Vec<u8>) -> usize {
        let event = self.fitted();
        let payload = event.whole_payload_len();
        let len = event.head_len() + payload;
        out.reserve(len);
        event.put(time_ns, payload, out);
        len
    }

    #[inline(always)]
    fn put<S: Sink>(&self, time_ns: u64, payload: usize, out: &mut S) {
        self.id().put(out);
        time_ns.put(out);
        if self.head_len() == VARIABLE_HEAD {
            (payload as u16).put(out);
        }
        self.put_payload(out);
    }
}

#[cold]
#[track_caller]
pub(super) fn no_room(len: usize, room: usize) -> ! {
    panic!("an event of {len} bytes does not fit into {room}");
}
