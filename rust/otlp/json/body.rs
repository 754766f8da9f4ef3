//! A JSON request body, read piece by piece; errors name the byte at which they occur.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::check::{Checked, clip};
use super::value::Object;
use crate::error::{Error, Result};

/// The whole body; everything read through it is a slice of this text.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) text: &'a str,
}

impl<'a> Body<'a> {
    /// Returns the message that the object `part` holds.
    pub(super) fn read<T: Deserialize<'a>>(self, part: &'a str) -> Checked<T> {
        let object = serde_json::from_str(part).map_err(|error| self.locate(part, &error));
        object.map(|Object(read)| read)
    }

    /// Calls `visit` with each element of `list`, if there is a list.
    pub(super) fn each<T: Deserialize<'a>>(
        self,
        list: Option<&'a RawValue>,
        visit: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let Some(list) = list else { return Ok(()) };
        let mut visit_error = None;
        let elements = Elements { visit, visit_error: &mut visit_error, element: PhantomData };
        let outcome = serde_json::Deserializer::from_str(list.get()).deserialize_seq(elements);
        match visit_error {
            Some(error) => Err(error),
            None => outcome.map_err(|error| malformed(&self.locate(list.get(), &error))),
        }
    }

    /// Returns the text of `error`, which occurred in `part`, with its byte offset in the whole body. A line number
    /// would have to be counted from the start of the body for every bad span.
    fn locate(self, part: &str, error: &serde_json::Error) -> String {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let message = text.strip_suffix(&position).unwrap_or(&text);
        let lines_before = part.split_inclusive('\n').take(error.line().saturating_sub(1));
        let within = lines_before.map(str::len).sum::<usize>() + error.column();
        let byte = part.as_ptr().addr() - self.text.as_ptr().addr() + within;
        format!("{} - at byte {byte}", clip(message))
    }
}

/// Returns the error for a body that is not JSON, or whose resource and scope lists are malformed.
pub(super) fn malformed(found: &str) -> Error {
    Error::Decode(format!("expected OTLP trace data as JSON: {}", clip(found)))
}

/// Passes the elements of a list to `visit` one by one, without collecting them.
struct Elements<'s, T, F> {
    visit: F,
    visit_error: &'s mut Option<Error>,
    element: PhantomData<T>,
}

impl<'a, T: Deserialize<'a>, F: FnMut(T) -> Result<()>> Visitor<'a> for Elements<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'a>>(mut self, mut list: S) -> std::result::Result<(), S::Error> {
        while let Some(element) = list.next_element()? {
            if let Err(error) = (self.visit)(element) {
                *self.visit_error = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
