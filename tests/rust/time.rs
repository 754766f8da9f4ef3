//! Instants as text.

use proptest::prelude::*;
use spanwise::time::{parse_instant, write_instant};

/// Microseconds since 1970 at the end of the year 9999.
const END: i64 = 253_402_300_800_000_000;

proptest! {
    #[test]
    fn an_instant_is_read_as_it_was_written(
        micros in prop_oneof![0..END, (0..END / 1_000_000).prop_map(|seconds| seconds * 1_000_000)],
    ) {
        let mut text = String::new();
        write_instant(&mut text, micros);
        prop_assert_eq!(parse_instant(&text), Some(i128::from(micros) * 1_000));
        prop_assert_eq!(text.len(), if micros % 1_000_000 == 0 { 20 } else { 27 });
        prop_assert!(text.ends_with('Z'));
    }
}
