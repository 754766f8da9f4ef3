//! Parses and prints instants and durations.
//!
//! Inside the engine an instant is a count from 1970-01-01T00:00:00Z: nanoseconds in filters and spans, whole
//! microseconds (truncated) in trace rows. The grammar is the RFC 3339 profile of ISO 8601, relaxed in three
//! ways that users of filters expect:
//!
//! - an instant without an offset is in UTC,
//! - a date alone means its midnight,
//! - the separator may be a space.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Nanoseconds in a microsecond.
pub const NANOS_PER_MICRO: u64 = 1_000;

/// Returns the instant in `text`, in nanoseconds since 1970, or `None` if it is not an ISO 8601 time between the
/// years 1 and 9999.
///
/// # Examples
/// ```
/// use spanwise::time::parse_instant;
/// assert_eq!(parse_instant("1970-01-01T00:00:01.5Z"), Some(1_500_000_000));
/// assert_eq!(parse_instant("1970-01-01T05:30+05:30"), Some(0));
/// assert_eq!(parse_instant("1970-01-02"), Some(86_400_000_000_000));
/// assert_eq!(parse_instant("soon"), None);
/// ```
pub fn parse_instant(text: &str) -> Option<i128> {
    let year_is_plain = text.as_bytes().get(..4)?.iter().all(u8::is_ascii_digit);
    if !year_is_plain || text.starts_with("0000") || text.contains('[') {
        return None;
    }
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_nanosecond());
    }
    let civil = match text.parse::<DateTime>() {
        // The civil parse ignores an offset; one that is present was rejected by the parse above.
        Ok(civil) if !has_offset(text) => civil,
        _ => {
            text.parse::<Date>().ok().filter(|_| text.len() == 10)?.to_datetime(jiff::civil::Time::midnight())
        }
    };
    let instant = civil.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(instant.as_nanosecond())
}

/// Returns `true` if a character after the date looks like an offset from UTC.
fn has_offset(text: &str) -> bool {
    text.bytes().skip(10).any(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'))
}

/// Appends an instant, `micros` since 1970, as ISO 8601 in UTC with `Z`. A fraction has six digits and is
/// omitted if it is zero.
pub fn write_instant(out: &mut String, micros: i64) {
    let Ok(instant) = jiff::Timestamp::from_microsecond(micros) else {
        debug_assert!(false, "ingest rejects spans after the year 9999");
        return;
    };
    let civil = TimeZone::UTC.to_datetime(instant);
    let parts = [civil.month(), civil.day(), civil.hour(), civil.minute(), civil.second()];
    push_digits::<4>(out, civil.year().unsigned_abs().into());
    for (separator, part) in ['-', '-', 'T', ':', ':'].into_iter().zip(parts) {
        out.push(separator);
        push_digits::<2>(out, part.unsigned_abs().into());
    }
    let fraction = civil.subsec_nanosecond().unsigned_abs() / 1_000;
    if fraction != 0 {
        out.push('.');
        push_digits::<6>(out, fraction);
    }
    out.push('Z');
}

/// Appends the last `N` decimal digits of a number. The standard formatter took 3% of the time of a page.
fn push_digits<const N: usize>(out: &mut String, number: u32) {
    let mut left = number;
    let mut digits = [0; N];
    for digit in digits.iter_mut().rev() {
        *digit = left % 10;
        left /= 10;
    }
    out.extend(digits.into_iter().filter_map(|digit| char::from_digit(digit, 10)));
}

/// Returns a human-readable duration: `45ms` below one second, `1.23s` otherwise.
///
/// # Examples
/// ```
/// use spanwise::time::format_duration;
/// assert_eq!(format_duration(999), "999ms");
/// assert_eq!(format_duration(60_000), "60.00s");
/// ```
pub fn format_duration(millis: i64) -> String {
    if millis < 1_000 {
        return format!("{millis}ms");
    }
    #[allow(clippy::cast_precision_loss, reason = "two decimals are printed")]
    let seconds = millis as f64 / 1_000.0;
    format!("{seconds:.2}s")
}

/// Returns the current time in microseconds since 1970; 0 if the clock is set to an earlier time.
pub fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |elapsed| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
}
