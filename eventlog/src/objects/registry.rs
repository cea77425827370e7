//! The cost centres that are there: the list that GHC calls `CC_LIST`, with all of its texts copied, so that no reader
//! follows a pointer into an object.

use crate::error::EmitError;
use crate::format::{CostCentreFlags, Event, ZStr};
use crate::log::{EventLog, WeakLog};
use arc_swap::ArcSwap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Which object of the process: from 1, never used again.
///
/// ```
/// use ghc_eventlog::objects::ObjectId;
///
/// assert_eq!(ObjectId(3).to_string(), "3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cost centre, with copies of what its object says of it. That which is no UTF-8 is replaced.
///
/// ```
/// use ghc_eventlog::objects::registry;
///
/// for cost_centre in registry().cost_centres().iter() {
///     println!("{}: {} in {}", cost_centre.id, cost_centre.label, cost_centre.module);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostCentreInfo {
    /// Its number: from 1, never used again in this process.
    pub id: u32,
    /// Its name.
    pub label: Box<str>,
    /// The module that it is in.
    pub module: Box<str>,
    /// Where it is in the source.
    pub srcloc: Box<str>,
    /// What is special about it.
    pub flags: CostCentreFlags,
}

impl CostCentreInfo {
    pub(crate) fn event(&self) -> Event<'_> {
        Event::HeapProfCostCentre {
            cost_centre: self.id,
            label: ZStr::up_to_nul(&self.label),
            module: ZStr::up_to_nul(&self.module),
            location: ZStr::up_to_nul(&self.srcloc),
            flags: self.flags,
        }
    }
}

/// What an object says of one of its cost centres.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) label: Box<str>,
    pub(crate) module: Box<str>,
    pub(crate) srcloc: Box<str>,
    pub(crate) flags: CostCentreFlags,
}

/// The cost centres of one object, whose numbers follow on each other.
///
/// ```
/// use ghc_eventlog::objects::registry;
///
/// for object in registry().cost_centres().objects() {
///     println!("{} {}: {} cost centres", object.id(), object.name(), object.cost_centres().len());
/// }
/// ```
#[derive(Debug)]
pub struct ObjectCostCentres {
    object: ObjectId,
    name: Box<str>,
    cost_centres: Box<[CostCentreInfo]>,
    /// The first one's number, or what it would be.
    first: u32,
}

impl ObjectCostCentres {
    /// Which object's they are.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert!(list.objects().is_sorted_by_key(|object| object.id()));
    /// ```
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.object
    }

    /// The object's name.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert!(list.objects().all(|object| object.name() != "an object that was never loaded"));
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cost centres, in the order of their numbers.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// let sum: usize = list.objects().map(|object| object.cost_centres().len()).sum();
    /// assert_eq!(sum, list.len());
    /// ```
    #[must_use]
    pub fn cost_centres(&self) -> &[CostCentreInfo] {
        &self.cost_centres
    }

    /// The first number, and how many there are.
    pub(crate) fn range(&self) -> (u32, u32) {
        (self.first, self.cost_centres.len() as u32)
    }
}

/// All cost centres as they were at one moment. It stays as it is, and may be kept for as long as one likes,
/// also when the objects are gone.
///
/// ```
/// use ghc_eventlog::objects::registry;
///
/// let list = registry().cost_centres();
/// assert!(list.get(0).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CostCentres {
    /// In the order of their numbers.
    objects: Vec<Arc<ObjectCostCentres>>,
}

impl CostCentres {
    /// The cost centre of that number, if its object was loaded then.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert!(list.iter().all(|cost_centre| list.get(cost_centre.id) == Some(cost_centre)));
    /// ```
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&CostCentreInfo> {
        let behind = self.objects.partition_point(|object| object.first <= id);
        let object = &self.objects[behind.checked_sub(1)?];
        object.cost_centres.get((id - object.first) as usize)
    }

    /// Every cost centre, in the order of their numbers.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert_eq!(list.iter().count(), list.len());
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &CostCentreInfo> {
        self.objects.iter().flat_map(|object| &object.cost_centres)
    }

    /// The objects that were loaded, in the order in which they came.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert!(list.objects().count() <= list.len());
    /// ```
    pub fn objects(&self) -> impl Iterator<Item = &ObjectCostCentres> {
        self.objects.iter().map(|object| &**object)
    }

    /// Number of cost centres.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert_eq!(list.len() == 0, list.is_empty());
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects
            .iter()
            .map(|object| object.cost_centres.len())
            .sum()
    }

    /// Whether there are none.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::registry().cost_centres();
    /// assert_eq!(list.is_empty(), list.iter().next().is_none());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What only one thread changes at a time.
#[derive(Debug)]
struct Change {
    next_object: u32,
    next_id: u64,
    /// Logs that get the definitions.
    logs: Vec<WeakLog>,
    /// Definitions that a log did not take in.
    undefined: u64,
}

/// The cost centres of this process, and the logs that define them; see [`registry`].
///
/// ```
/// use ghc_eventlog::{EventLog, objects::registry};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// registry().define_in(&log);
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Debug)]
pub struct Registry {
    current: ArcSwap<CostCentres>,
    change: Mutex<Change>,
    sampling: Mutex<()>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry {
    current: ArcSwap::default(),
    change: Mutex::new(Change {
        next_object: 1,
        next_id: 1,
        logs: Vec::new(),
        undefined: 0,
    }),
    sampling: Mutex::new(()),
});

/// The registry of this process. There is one, since objects that register themselves find it by a symbol.
///
/// ```
/// use ghc_eventlog::objects::registry;
///
/// assert!(std::ptr::eq(registry(), registry()));
/// ```
#[must_use]
pub fn registry() -> &'static Registry {
    &REGISTRY
}

impl Registry {
    /// The list of cost centres, as it is now. Waits for nobody.
    ///
    /// ```
    /// use ghc_eventlog::objects::registry;
    ///
    /// let before = registry().cost_centres();
    /// // Whatever is loaded or unloaded now, `before` stays.
    /// assert!(before.iter().all(|cost_centre| cost_centre.id > 0));
    /// ```
    #[must_use]
    pub fn cost_centres(&self) -> Arc<CostCentres> {
        self.current.load_full()
    }

    /// Defines every cost centre in `log`, those that are there now and those that come, until the log is
    /// stopped. Says in that log, by a marker, when an object is loaded or unloaded. Doing this twice is doing
    /// it once.
    ///
    /// A definition is an event `HeapProfCostCentre`, which is sticky: sinks and readers that begin later have
    /// it, also when the object is gone, since samples may still speak of it. Each takes 128 bytes and its text of the
    /// log's [sticky limit](crate::Builder::sticky_limit), for as long as there is the log.
    ///
    /// Waits for the log's sink where the shared buffer is half full. So do those who load and unload objects, and
    /// constructors and destructors of objects that register themselves, under the dynamic linker's lock: the sink must
    /// not load or unload objects, nor call `dlopen`, `dlclose` or `dlsym`, nor wait for who does. What does not fit all the same is [counted](Self::undefined).
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, objects::registry};
    ///
    /// let log = EventLog::builder().start(Vec::new())?;
    /// registry().define_in(&log);
    /// registry().define_in(&log);
    /// assert_eq!(registry().undefined(), 0);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn define_in(&self, log: &EventLog) {
        let mut change = self.change();
        change.logs.retain(WeakLog::is_alive);
        if change.logs.iter().any(|known| known.is(log)) {
            return;
        }
        for cost_centre in self.cost_centres().iter() {
            if log.define(&cost_centre.event()).is_err() {
                change.undefined += 1;
            }
        }
        change.logs.push(log.downgrade());
    }

    /// What the next cost centre's number will be.
    pub(crate) fn next_id(&self) -> u32 {
        // There are never as many as would not fit.
        self.change().next_id as u32
    }

    /// Definitions of cost centres that some log did not take in, since its buffer was full.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::registry().undefined(), 0);
    /// ```
    #[must_use]
    pub fn undefined(&self) -> u64 {
        self.change().undefined
    }

    /// Held by a sampler from before it reads stacks until it has emitted what it read. Unloading waits for it,
    /// so no sample speaks of a cost centre that was unloaded before the sample was taken. Samplers wait for
    /// each other.
    ///
    /// As long as it is held, nothing that waits for unloading may be waited for: no object is loaded or unloaded, and
    /// `dlopen`, `dlclose` and `dlsym` are not called, since the destructor of an object that has registered itself waits
    /// under the dynamic linker's lock.
    ///
    /// ```
    /// use ghc_eventlog::objects::{registry, stack};
    ///
    /// let sampling = registry().sampling();
    /// stack::each(|stack| println!("{:?}", stack.ids()));
    /// drop(sampling);
    /// ```
    #[must_use = "objects may be unloaded as soon as this is dropped"]
    pub fn sampling(&self) -> Sampling<'_> {
        Sampling {
            _held: self.sampling.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn change(&self) -> MutexGuard<'_, Change> {
        // Whole whatever a thread that panicked has done with it: it is changed after the last step that can panic.
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the cost centres of an object, numbers them, and defines them in every log. `None` if there are
    /// no numbers left.
    pub(crate) fn add(
        &self,
        name: &str,
        definitions: Vec<Definition>,
    ) -> Option<Arc<ObjectCostCentres>> {
        let mut change = self.change();
        let behind = change.next_id + definitions.len() as u64;
        let first = u32::try_from(change.next_id).ok()?;
        u32::try_from(behind).ok()?;
        let next_object = change.next_object.checked_add(1)?;
        let number = |(id, definition): (u32, Definition)| CostCentreInfo {
            id,
            label: definition.label,
            module: definition.module,
            srcloc: definition.srcloc,
            flags: definition.flags,
        };
        let object = Arc::new(ObjectCostCentres {
            object: ObjectId(change.next_object),
            name: name.into(),
            cost_centres: (first..).zip(definitions).map(number).collect(),
            first,
        });
        (change.next_id, change.next_object) = (behind, next_object);
        let mut next = CostCentres::clone(&self.current.load());
        next.objects.push(Arc::clone(&object));
        self.current.store(Arc::new(next));
        let told = format!(
            "object {} loaded: {}, {} cost centres",
            object.object,
            object.name,
            object.cost_centres.len()
        );
        change.tell(|log, undefined| {
            for cost_centre in &object.cost_centres {
                if log.define(&cost_centre.event()).is_err() {
                    *undefined += 1;
                }
            }
            // What the marker says is in the definitions, too: its loss is counted like any other event's.
            log.define(&Event::UserMarker { name: &told })
        });
        Some(object)
    }

    /// Takes the cost centres of an object out of the list. Their definitions stay in the logs.
    pub(crate) fn remove(&self, object: &ObjectCostCentres) {
        let mut change = self.change();
        let told = format!("object {} unloaded: {}", object.object, object.name);
        change.tell(|log, _| log.define(&Event::UserMarker { name: &told }));
        let mut next = CostCentres::clone(&self.current.load());
        next.objects.retain(|other| other.object != object.object);
        self.current.store(Arc::new(next));
    }
}

impl Change {
    /// Says something in every log that is not stopped, and forgets those that are.
    fn tell(&mut self, mut say: impl FnMut(&EventLog, &mut u64) -> Result<(), EmitError>) {
        let undefined = &mut self.undefined;
        self.logs.retain(|log| match log.upgrade() {
            None => false,
            Some(log) => !matches!(say(&log, undefined), Err(EmitError::Stopped)),
        });
    }
}

/// No object is unloaded while there is this; see [`Registry::sampling`].
///
/// ```
/// let sampling = ghc_eventlog::objects::registry().sampling();
/// drop(sampling);
/// ```
#[derive(Debug)]
pub struct Sampling<'a> {
    _held: MutexGuard<'a, ()>,
}
