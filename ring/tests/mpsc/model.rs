//! Random scripts of all operations, against a ring that is obviously right.

use crate::script;
use crate::witness::{Ledger, Witness};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        // More than by default, unless the environment says how many.
        cases: std::env::var_os("PROPTEST_CASES")
            .map_or(1000, |_| ProptestConfig::default().cases),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_script_goes_as_documented_and_every_item_is_dropped_once(
        script in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let ledger = Ledger::new();
        let make = |number| {
            let item = ledger.item();
            assert_eq!(item.number(), number);
            item
        };
        let made = script::run(&script, make, Witness::number);
        ledger.assert_each_dropped_once(made);
    }
}
