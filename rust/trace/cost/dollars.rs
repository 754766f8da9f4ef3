//! Dollars as integers. Amounts are in nanodollars (2^63 are nine billion dollars), and the price of one
//! token is in picodollars.

use std::fmt::Write as _;

/// Nanodollars per dollar.
pub const NANOS_PER_DOLLAR: i64 = 1_000_000_000;
/// Nanodollars per dollar as a floating-point factor.
const NANOS: f64 = 1e9;
/// The maximum reported cost of a span in dollars. Larger amounts are not plausible for a call.
const MAX_REPORTED_DOLLARS: f64 = 1e9;

/// Returns a reported amount in nanodollars, rounded; `None` if the text is not a non-negative number of
/// dollars.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub fn nanodollars_of(text: &str) -> Option<u64> {
    let dollars: f64 = text.trim().parse().ok()?;
    let is_amount = (0.0..=MAX_REPORTED_DOLLARS).contains(&dollars);
    is_amount.then(|| (dollars * NANOS).round() as u64)
}

/// Returns nanodollars as dollars: a JSON number with as many digits as necessary, such as `0.00123`.
pub fn format_dollars(nanodollars: i128) -> String {
    let (all, of_dollar) = (nanodollars.unsigned_abs(), u128::from(NANOS_PER_DOLLAR.unsigned_abs()));
    let mut text = String::new();
    let sign = if nanodollars < 0 { "-" } else { "" };
    // Writing to a string never fails.
    let _written = write!(text, "{sign}{}.{:09}", all / of_dollar, all % of_dollar);
    let digits = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(digits);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(nanodollars in 0..1_u64 << 50) {
            let text = format_dollars(nanodollars.into());
            prop_assert_eq!(nanodollars_of(&text), Some(nanodollars), "{}", text);
            let shortest: serde_json::Value = serde_json::from_str(&text).expect("a JSON number");
            prop_assert_eq!(nanodollars_of(&shortest.to_string()), Some(nanodollars), "{}", shortest);
        }
    }

    #[test]
    fn dollars_have_the_digits_that_it_takes() {
        let cases = [
            (0, "0"),
            (1, "0.000000001"),
            (1_230_000, "0.00123"),
            (2_000_000_000, "2"),
            (-5, "-0.000000005"),
        ];
        for (nanodollars, text) in cases {
            assert_eq!(format_dollars(nanodollars), text);
        }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in ["", "free", "-0.1", "NaN", "inf", "1e10"] {
            assert_eq!(nanodollars_of(text), None, "{text}");
        }
        assert_eq!(nanodollars_of(" 1e-4 "), Some(100_000));
    }
}
