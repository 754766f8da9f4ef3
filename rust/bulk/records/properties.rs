//! The properties of a record, identified by the names of its values.

use std::array;

use super::value::Value;
use super::{Checked, EncodedSpan};

/// A property, and the position of the name among the names of the property.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<P> {
    pub(super) property: P,
    pub(super) position: usize,
}

/// Returns the property with this name; `None` if the name is unknown.
///
/// `properties`: the names of each property, in order of precedence.
pub(super) fn property_of<P>(
    properties: impl IntoIterator<Item = (P, &'static [&'static str])>,
    name: &str,
) -> Option<Named<P>> {
    properties.into_iter().find_map(|(property, names)| {
        let position = names.iter().position(|known| *known == name)?;
        Some(Named { property, position })
    })
}

/// A value for each of `N` properties.
#[derive(Debug)]
pub(super) struct Properties<'a, const N: usize>([Option<(usize, Value<'a>)>; N]);

impl<const N: usize> Default for Properties<'_, N> {
    fn default() -> Self {
        Self(array::from_fn(|_| None))
    }
}

impl<'a, const N: usize> Properties<'a, N> {
    /// Sets a property by its name at this position, unless a name with higher precedence has set it.
    pub(super) fn set(&mut self, property: usize, position: usize, value: Value<'a>) {
        let slot = &mut self.0[property];
        if slot.as_ref().is_none_or(|(better, _)| position < *better) {
            *slot = Some((position, value));
        }
    }

    pub(super) fn get(&self, property: usize) -> Option<&Value<'a>> {
        self.0[property].as_ref().map(|(_, value)| value)
    }

    pub(super) fn take(&mut self, property: usize) -> Option<Value<'a>> {
        self.0[property].take().map(|(_, value)| value)
    }
}

/// A record with named values.
pub(super) trait Record<'a>: Default {
    /// The meaning of a name.
    type Name: Copy + Sync;

    /// Returns the meaning of `name`; `None` if the name is unknown.
    fn name_of(name: &'a str) -> Option<Self::Name>;

    /// Sets the value of `name`, unless a name with higher precedence has set it.
    fn set(&mut self, name: Self::Name, value: Value<'a>);

    /// Converts the record to a span.
    ///
    /// # Errors
    /// The reason why it is not a span.
    fn into_span(self) -> Checked<EncodedSpan>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [(usize, &[&str]); 3] = [(0, &["a", "b", "c"]), (1, &["d"]), (2, &["e", "f"])];

    proptest! {
        #[test]
        fn a_property_has_the_value_of_the_name_that_takes_precedence(
            values in prop::collection::vec(("[a-g]", any::<i64>()), 0..9),
        ) {
            let mut properties = Properties::<3>::default();
            for (name, value) in &values {
                if let Some(Named { property, position }) = property_of(NAMES, name) {
                    properties.set(property, position, Value::Int(*value));
                }
            }
            for (property, names) in NAMES {
                // Among several values with one name, the first one wins.
                let expected = names.iter().find_map(|known| values.iter().find(|(name, _)| name == known));
                let expected = expected.map(|(_, value)| Value::Int(*value));
                prop_assert_eq!(properties.get(property), expected.as_ref());
                prop_assert_eq!(properties.take(property), expected);
                prop_assert_eq!(properties.get(property), None);
            }
        }
    }
}
