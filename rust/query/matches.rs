//! The member `matches` of an item (`docs/reference/api-search.md#matches`).

use crate::filter::Matches;

/// Appends the matches of a trace to its JSON object.
pub(crate) fn append_matches(item: &mut Vec<u8>, matches: &Matches) {
    let end = item.pop();
    debug_assert_eq!(end, Some(b'}'), "an item is an object that is not empty");
    item.extend_from_slice(br#","matches":"#);
    serde_json::to_writer(&mut *item, matches).expect("numbers and texts serialize into a buffer");
    item.push(b'}');
}
