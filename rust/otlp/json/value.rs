//! JSON representations of protobuf values that JSON has no type for, and of attribute values.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use super::super::ids::decode_hex;
use super::super::proto::{AnyValue, ArrayValue, KeyValue, KeyValueList, any_value::Value};

/// The bytes of an id of any length, from hexadecimal digits of either case.
pub(super) struct Id(pub(super) Bytes);

/// An integer, from a number or decimal text.
pub(super) struct Integer<T>(pub(super) T);

/// A double, from a number, decimal text, or the name of a value that JSON numbers cannot express.
struct Double(f64);

/// A message that is only parsed from an object. By default serde also accepts a list of the fields.
pub(super) struct ObjectMessage<T>(pub(super) T);

/// Bytes, from base64 of either alphabet, padded or not.
struct Base64(Bytes);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = decode_hex(&text)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"pairs of hexadecimal digits"))?;
        Ok(Self(bytes.into()))
    }
}

impl<'de, T: TryFrom<i128> + FromStr> Deserialize<'de> for Integer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntegerVisitor(PhantomData)).map(Self)
    }
}

struct IntegerVisitor<T>(PhantomData<T>);

impl<T: TryFrom<i128> + FromStr> Visitor<'_> for IntegerVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as a number or decimal text", std::any::type_name::<T>())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::try_from(number.into()).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number.into()).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Double {
    // Parsed here because the JSON parser may be off in the last bit, while doubles in protobuf are exact.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let number = match raw.get() {
            r#""NaN""# => Some(f64::NAN),
            r#""Infinity""# => Some(f64::INFINITY),
            r#""-Infinity""# => Some(f64::NEG_INFINITY),
            text => text.trim_matches('"').parse().ok().filter(|number: &f64| number.is_finite()),
        };
        let expected = "a number, `NaN`, `Infinity` or `-Infinity`";
        number.map(Self).ok_or_else(|| D::Error::invalid_value(Unexpected::Other(raw.get()), &expected))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectMessage<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, members: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_url_safe = text.contains(['-', '_']);
        let alphabet = if is_url_safe { &base64::alphabet::URL_SAFE } else { &base64::alphabet::STANDARD };
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let bytes = GeneralPurpose::new(alphabet, config)
            .decode(&text)
            .map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), &"base64"))?;
        Ok(Self(bytes.into()))
    }
}

/// The members of an `AnyValue`. At most one of them may have a value.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum AnyValueMember {
    StringValue,
    BoolValue,
    IntValue,
    DoubleValue,
    ArrayValue,
    KvlistValue,
    BytesValue,
    #[serde(other)]
    Unknown,
}

/// A list of values, or of keys and values.
#[derive(serde::Deserialize)]
struct JsonValues<T> {
    values: Option<Vec<T>>,
}

#[derive(serde::Deserialize)]
struct JsonKeyValue {
    key: Option<String>,
    value: Option<AnyValue>,
}

impl<'de> Deserialize<'de> for KeyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectMessage(JsonKeyValue { key, value }) = ObjectMessage::deserialize(deserializer)?;
        Ok(Self { key: key.unwrap_or_default(), value, key_strindex: 0 })
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnyValueVisitor)
    }
}

struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = AnyValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value such as `{\"stringValue\": \"...\"}`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<AnyValue, M::Error> {
        let mut value = None;
        while let Some(member) = members.next_key::<AnyValueMember>()? {
            let Some(present) = read_member(&member, &mut members)? else { continue };
            if value.replace(present).is_some() {
                return Err(M::Error::custom("expected one value, got more"));
            }
        }
        Ok(AnyValue { value })
    }
}

fn read_member<'de, M: MapAccess<'de>>(
    member: &AnyValueMember,
    members: &mut M,
) -> Result<Option<Value>, M::Error> {
    Ok(match member {
        AnyValueMember::StringValue => members.next_value::<Option<String>>()?.map(Value::StringValue),
        AnyValueMember::BoolValue => members.next_value::<Option<bool>>()?.map(Value::BoolValue),
        AnyValueMember::IntValue => {
            members.next_value::<Option<Integer<i64>>>()?.map(|Integer(number)| Value::IntValue(number))
        }
        AnyValueMember::DoubleValue => {
            members.next_value::<Option<Double>>()?.map(|Double(number)| Value::DoubleValue(number))
        }
        AnyValueMember::ArrayValue => members
            .next_value::<Option<JsonValues<AnyValue>>>()?
            .map(|list| Value::ArrayValue(ArrayValue { values: list.values.unwrap_or_default() })),
        AnyValueMember::KvlistValue => members
            .next_value::<Option<JsonValues<KeyValue>>>()?
            .map(|list| Value::KvlistValue(KeyValueList { values: list.values.unwrap_or_default() })),
        AnyValueMember::BytesValue => {
            members.next_value::<Option<Base64>>()?.map(|Base64(bytes)| Value::BytesValue(bytes))
        }
        AnyValueMember::Unknown => members.next_value::<IgnoredAny>().map(|_| None)?,
    })
}
