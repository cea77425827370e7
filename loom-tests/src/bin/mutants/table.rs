//! The damages that the models must notice: one for each ordering and each check that the ring's
//! correctness leans on.

use crate::Mutant;

/// In the order of the sources, so that a missing one shows.
pub(crate) const MUTANTS: &[Mutant] = &[];
