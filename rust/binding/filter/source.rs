//! Reads the source of a filter from Python: JSON as text or bytes, or the Python values of JSON.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::binding::errors::to_exception;
use crate::error::FilterError;

/// The maximum nesting depth of the JSON parser.
const MAX_DEPTH: usize = 127;

/// Returns the JSON of a filter that is given as `str`, `bytes`, or a mapping.
///
/// # Errors
/// `FilterError` if a value of a mapping has no JSON type; `TypeError` for anything else.
pub(super) fn json_of(source: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = source.cast::<PyBytes>() {
        Ok(bytes.as_bytes().to_vec())
    } else if let Ok(text) = source.cast::<PyString>() {
        encoded(text)
    } else if source.cast::<PyMapping>().is_ok() {
        let mut writer = Writer { json: Vec::new(), path: Vec::new() };
        writer.value(source)?;
        Ok(writer.json)
    } else {
        let message = format!("expected a filter as `str`, `bytes` or `dict`, got `{}`", type_name(source));
        Err(PyTypeError::new_err(message))
    }
}

/// Returns text in UTF-8. A lone surrogate becomes invalid UTF-8, which the parser reports with its position.
fn encoded(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

struct Writer {
    json: Vec<u8>,
    /// The steps of the path to the current value.
    path: Vec<String>,
}

impl Writer {
    fn error(&self, py: Python<'_>, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
        let message = format!("expected {expected}, got `{}`", type_name(value));
        let path = format!("${}", self.path.concat());
        to_exception(py, FilterError { message, path }.into())
    }

    fn value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.path.len() > MAX_DEPTH {
            return Err(self.error(value.py(), "less deeply nested values", value));
        }
        if value.is_none() {
            self.json.extend_from_slice(b"null");
        } else if let Ok(truth) = value.cast::<PyBool>() {
            self.json.extend_from_slice(if truth.is_true() { b"true" } else { b"false" });
        } else if let Ok(text) = value.cast::<PyString>() {
            self.text(text)?;
        } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            self.number(value)?;
        } else if let Ok(items) = value.cast::<PyList>() {
            self.array(items.iter())?;
        } else if let Ok(items) = value.cast::<PyTuple>() {
            self.array(items.iter())?;
        } else if let Ok(members) = value.cast::<PyMapping>() {
            self.object(members)?;
        } else {
            return Err(self.error(value.py(), "a value that JSON has", value));
        }
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> PyResult<()> {
        let Ok(valid) = text.to_str() else {
            return Err(self.error(text.py(), "text without lone surrogates", text));
        };
        self.json.extend_from_slice(serde_json::Value::from(valid).to_string().as_bytes());
        Ok(())
    }

    fn number(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let number = match (value.extract::<i64>(), value.extract::<u64>()) {
            (Ok(whole), _) => Some(serde_json::Number::from(whole)),
            (_, Ok(whole)) => Some(serde_json::Number::from(whole)),
            _ => value.extract::<f64>().ok().and_then(serde_json::Number::from_f64),
        };
        let number =
            number.ok_or_else(|| self.error(value.py(), "a number in the range of a double", value))?;
        self.json.extend_from_slice(number.to_string().as_bytes());
        Ok(())
    }

    fn array<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<()> {
        self.json.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.json.push(b',');
            }
            self.path.push(format!("[{index}]"));
            self.value(&item)?;
            self.path.pop();
        }
        self.json.push(b']');
        Ok(())
    }

    fn object(&mut self, members: &Bound<'_, PyMapping>) -> PyResult<()> {
        self.json.push(b'{');
        for (index, member) in members.items()?.iter().enumerate() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = member.extract()?;
            let Ok(name) = key.cast::<PyString>() else {
                return Err(self.error(key.py(), "a name of a member as text", &key));
            };
            if index > 0 {
                self.json.push(b',');
            }
            self.text(name)?;
            self.json.push(b':');
            self.path.push(format!(".{name}"));
            self.value(&value)?;
            self.path.pop();
        }
        self.json.push(b'}');
        Ok(())
    }
}
