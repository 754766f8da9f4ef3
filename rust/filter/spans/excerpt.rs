//! A match in a text, with some text around it.

use std::ops::Range;

/// The number of characters that are shown before and after the match.
const AROUND: usize = 60;

/// Stands for omitted text.
const ELLIPSIS: char = '…';

/// A match in a text, with some text around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filter) struct Excerpt {
    /// The text around the match, with `…` for omitted text.
    pub(in crate::filter) context: String,
    /// The position of the match in the context, in characters.
    pub(in crate::filter) matched: Range<usize>,
}

impl Excerpt {
    /// Returns the excerpt for the characters `matched` of `text`.
    pub(super) fn of(text: &str, matched: Range<usize>) -> Self {
        let first = matched.start.saturating_sub(AROUND);
        let mut context = String::new();
        if first > 0 {
            context.push(ELLIPSIS);
        }
        let before = usize::from(first > 0);
        let mut rest = text.chars().skip(first);
        context.extend(rest.by_ref().take(matched.end + AROUND - first));
        if rest.next().is_some() {
            context.push(ELLIPSIS);
        }
        Self { context, matched: matched.start - first + before..matched.end - first + before }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_match_is_highlighted_and_only_distant_text_is_omitted(
            before in "[aé🙂\n]{0,130}", matched in "[xß東]{1,5}", after in "[aé🙂\n]{0,130}",
        ) {
            let text = format!("{before}{matched}{after}");
            let start = before.chars().count();
            let excerpt = Excerpt::of(&text, start..start + matched.chars().count());
            let context: Vec<char> = excerpt.context.chars().collect();
            prop_assert_eq!(context[excerpt.matched.clone()].iter().collect::<String>(), matched.clone());
            let (shown_before, shown_after) = (excerpt.matched.start, context.len() - excerpt.matched.end);
            prop_assert_eq!(shown_before, start.min(AROUND + usize::from(start > AROUND)));
            let left = after.chars().count();
            prop_assert_eq!(shown_after, left.min(AROUND + usize::from(left > AROUND)));
            prop_assert_eq!(excerpt.context.starts_with(ELLIPSIS), start > AROUND);
            prop_assert_eq!(excerpt.context.ends_with(ELLIPSIS), left > AROUND);
            prop_assert!(text.contains(excerpt.context.trim_matches(ELLIPSIS)));
        }
    }
}
