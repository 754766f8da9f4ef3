//! A JSON request body, which is parsed in parts. Errors have a byte offset.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::check::{Validated, clip};
use super::value::ObjectMessage;
use crate::error::{Error, Result};

/// The whole body. Parsed parts are slices of this text.
#[derive(Clone, Copy)]
pub(super) struct JsonBody<'a> {
    pub(super) text: &'a str,
}

impl<'a> JsonBody<'a> {
    /// Parses the object `part` as a message.
    pub(super) fn read<T: Deserialize<'a>>(self, part: &'a str) -> Validated<T> {
        let object = serde_json::from_str(part).map_err(|error| self.locate(part, &error));
        object.map(|ObjectMessage(read)| read)
    }

    /// Returns the member `name` of the object `part`; `None` if it is missing or null.
    pub(super) fn member(self, part: &'a str, name: &'static str) -> Validated<Option<&'a RawValue>> {
        let mut object = serde_json::Deserializer::from_str(part);
        let member = object.deserialize_map(Member { name, of: PhantomData });
        member.and_then(|member| object.end().map(|()| member)).map_err(|error| self.locate(part, &error))
    }

    /// Calls `visit` with each element of `list`, if the list exists.
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

    /// Returns the text of `error` in `part`, with its byte offset in the whole body. A line number would
    /// require counting lines from the start of the body for every bad span.
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
    Error::Decode(format!("expected OTLP data as JSON: {}", clip(found)))
}

/// Passes the elements of a list to `visit` one by one without collecting them.
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

/// Reads one member of an object and skips the others.
struct Member<'a> {
    name: &'static str,
    of: PhantomData<&'a ()>,
}

impl<'a> Visitor<'a> for Member<'a> {
    type Value = Option<&'a RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> std::result::Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<Cow<'a, str>>()? {
            if name != self.name {
                members.next_value::<IgnoredAny>()?;
            } else if found.replace(members.next_value::<Option<&'a RawValue>>()?).is_some() {
                return Err(M::Error::duplicate_field(self.name));
            }
        }
        Ok(found.flatten())
    }
}
