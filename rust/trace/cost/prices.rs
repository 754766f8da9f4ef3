//! The prices of models (`docs/reference/traces.md#prices`), and the cost of tokens at a price.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ahash::HashMap;
use serde::{Deserialize, Serialize};

use super::calls::Tokens;
use super::model_name::{fits, normalized};
use crate::error::{Error, Result};

/// The built-in prices.
const BUILT_IN: &str = include_str!("prices.json");
/// Picodollars per nanodollar. A dollar per million tokens is a million picodollars per token.
const PICOS_PER_NANO: u128 = 1_000;
/// Picodollars per token for a price of one dollar per million tokens.
const PICOS_PER_TOKEN: f64 = 1e6;
/// The exclusive maximum of a price, in dollars per million tokens.
const MAX_DOLLARS: f64 = 1e6;

/// The price of a model, in picodollars per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

impl Price {
    /// Returns the cost of tokens in nanodollars, rounded half up. Cached tokens are part of the input
    /// tokens, and reasoning tokens are part of the output tokens. A part never counts more tokens than the
    /// whole.
    pub fn of(&self, tokens: &Tokens) -> u64 {
        let cached = tokens.cached.min(tokens.input);
        let reasoning = tokens.reasoning.min(tokens.output);
        let parts = [
            (tokens.input - cached, self.input),
            (cached, self.cached),
            (tokens.output - reasoning, self.output),
            (reasoning, self.reasoning),
        ];
        let picos =
            parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum::<u128>();
        u64::try_from((picos + PICOS_PER_NANO / 2) / PICOS_PER_NANO).unwrap_or(u64::MAX)
    }
}

/// The price of a model, with its entry in a price table. It serializes as in
/// `docs/reference/api-search.md#span-detail`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelPrice<'t> {
    /// The name of the entry.
    model: &'t str,
    /// Dollars per million tokens, as the other prices.
    input: f64,
    cached: f64,
    output: f64,
    reasoning: f64,
    /// The date of the table.
    as_of: &'t str,
}

/// One table of prices.
#[derive(Debug)]
struct PriceTable {
    as_of: String,
    /// Model names in lower case, and their prices.
    prices: Vec<(String, Price)>,
}

/// Price tables. The first table with a match decides, and within it the longest matching name.
#[derive(Debug, Default)]
pub struct PriceTables {
    tables: Vec<PriceTable>,
    /// The user's table as it was given.
    own: Option<Vec<u8>>,
    /// A cache of prices by model name. A service uses few models, and comparing a name with all table
    /// entries took 5% of the time of a page.
    known: RwLock<HashMap<String, Option<Price>>>,
}

/// The maximum number of cached prices, and the maximum length of a cached name in bytes.
const MAX_KNOWN: usize = 1_024;
const MAX_KNOWN_BYTES: usize = 256;

#[derive(Deserialize)]
struct TableBody {
    as_of: String,
    prices: Vec<PriceBody>,
}

/// Prices in dollars per million tokens.
#[derive(Deserialize)]
struct PriceBody {
    model: String,
    input: f64,
    output: f64,
    cached: Option<f64>,
    reasoning: Option<f64>,
}

impl PriceTables {
    /// Returns the built-in table, preceded by the user's table if there is one.
    ///
    /// # Errors
    /// [`Error::Options`] with the position of the error if the user's table is invalid.
    pub fn new(own: Option<&[u8]>) -> Result<Self> {
        let tables = own.into_iter().chain([BUILT_IN.as_bytes()]).map(read_table);
        Ok(Self {
            tables: tables.collect::<Result<_>>()?,
            own: own.map(<[u8]>::to_vec),
            known: RwLock::default(),
        })
    }

    /// Returns the price of a model, if it is known.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        if let Some(price) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(model) {
            return *price;
        }
        let price = self.find(model).map(|(_, (_, price))| *price);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KNOWN && model.len() <= MAX_KNOWN_BYTES {
            known.insert(model.to_owned(), price);
        }
        price
    }

    /// Returns the price of a model with its entry, if it is known.
    pub fn model_price(&self, model: &str) -> Option<ModelPrice<'_>> {
        let (PriceTable { as_of, .. }, (model, price)) = self.find(model)?;
        Some(ModelPrice {
            model,
            input: dollars_per_million(price.input),
            cached: dollars_per_million(price.cached),
            output: dollars_per_million(price.output),
            reasoning: dollars_per_million(price.reasoning),
            as_of,
        })
    }

    fn find(&self, model: &str) -> Option<(&PriceTable, &(String, Price))> {
        let name = normalized(model);
        self.tables.iter().find_map(|table| {
            let fitting = table.prices.iter().filter(|(pattern, _)| fits(&name, pattern));
            // Among names of equal length, the first wins.
            let longest = fitting.rev().max_by_key(|(pattern, _)| pattern.chars().count());
            longest.map(|entry| (table, entry))
        })
    }
}

fn read_table(source: &[u8]) -> Result<PriceTable> {
    let invalid = |reason: String| Error::Options(format!("setting `prices_file`: {reason}"));
    let table: TableBody = serde_json::from_slice(source)
        .map_err(|error| invalid(format!("expected a table of prices: {error}")))?;
    let prices = table.prices.iter().enumerate().map(|(index, price)| {
        let path = format!("$.prices[{index}]");
        if price.model.trim().is_empty() {
            return Err(invalid(format!("expected the name of a model at `{path}.model`")));
        }
        let picos = |dollars: f64, member: &str| {
            picodollars(dollars).ok_or_else(|| {
                let least = "expected dollars for a million tokens, from 0 to below 1,000,000,";
                invalid(format!("{least} at `{path}.{member}`, got {dollars}"))
            })
        };
        let (input, output) = (picos(price.input, "input")?, picos(price.output, "output")?);
        let part =
            |own: Option<f64>, member: &str, whole| own.map_or(Ok(whole), |dollars| picos(dollars, member));
        let (cached, reasoning) =
            (part(price.cached, "cached", input)?, part(price.reasoning, "reasoning", output)?);
        Ok((price.model.to_lowercase(), Price { input, output, cached, reasoning }))
    });
    Ok(PriceTable { prices: prices.collect::<Result<_>>()?, as_of: table.as_of })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn picodollars(dollars: f64) -> Option<u64> {
    (0.0..MAX_DOLLARS).contains(&dollars).then(|| (dollars * PICOS_PER_TOKEN).round() as u64)
}

#[allow(clippy::cast_precision_loss, reason = "a price has less than 2^53 picodollars")]
fn dollars_per_million(picodollars: u64) -> f64 {
    picodollars as f64 / PICOS_PER_TOKEN
}

static PRICES: OnceLock<Arc<PriceTables>> = OnceLock::new();

/// Returns the prices of this process.
///
/// # Panics
/// If the built-in prices are invalid, which a test excludes.
pub fn prices() -> &'static Arc<PriceTables> {
    PRICES.get_or_init(|| {
        Arc::new(PriceTables::new(None).expect("the built-in prices are a table, as a test checks"))
    })
}

/// Puts the user's prices before the built-in ones; `None` keeps only the latter.
///
/// A process has one set of prices, so that cached results of an earlier search use the same prices as later
/// ones. Call this before a cost is requested.
///
/// # Errors
/// [`Error::Options`] if the table is invalid, or if other prices are already set.
pub fn set_prices(own: Option<&[u8]>) -> Result<()> {
    let tables = Arc::new(PriceTables::new(own)?);
    if PRICES.get_or_init(|| tables).own.as_deref() != own {
        return Err(Error::Options(
            "setting `prices_file`: other prices are in force in this process; expected the same in all its stores".into(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"{"as_of": "2026-01-01", "prices": [
        {"model": "gpt-4.1", "input": 2, "output": 8, "cached": 0.5},
        {"model": "gpt-4.1-mini", "input": 0.4, "output": 1.6},
        {"model": "claude-sonnet-4", "input": 3, "output": 15},
        {"model": "acme/*", "input": 1, "output": 1},
        {"model": "a*b*c", "input": 9, "output": 9}]}"#;

    fn input_of(model: &str) -> Option<u64> {
        let table = vec![read_table(OWN.as_bytes()).expect("a table")];
        PriceTables { tables: table, ..PriceTables::default() }.price_of(model).map(|price| price.input)
    }

    #[test]
    fn a_model_has_the_price_of_the_longest_name_that_fits() {
        let gpt = Some(2_000_000);
        let cases = [
            ("gpt-4.1", gpt),
            (" GPT-4.1 ", gpt),
            ("openai/gpt-4.1", gpt),
            ("gpt-4.1-2025-04-14", gpt),
            ("gpt-4.1-latest", gpt),
            ("gpt-4.1-mini", Some(400_000)),
            ("gpt-4.1-mini-2025-04-14", Some(400_000)),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", Some(3_000_000)),
            ("claude-sonnet-4@20250514", Some(3_000_000)),
            ("acme/anything", Some(1_000_000)),
            ("a-x-b-y-c", Some(9_000_000)),
            ("abc", Some(9_000_000)),
            ("ac", None),
            ("gpt-4.1-nano", None),
            ("gpt-4", None),
            ("claude-sonnet-4-9", None),
            ("gpt-4.12", None),
            ("claude-sonnet-4-turbo", None),
            ("claude-sonnet-4-123456789", None),
            ("gpt-4.1-2025-04-1", None),
            ("gpt-4.1:", None),
            ("", None),
        ];
        for (model, expected) in cases {
            assert_eq!(input_of(model), expected, "{model}");
        }
    }

    #[test]
    fn the_table_of_the_user_comes_first() {
        let own = br#"{"as_of": "2026-02-02", "prices": [{"model": "gpt-*", "input": 1, "output": 1}]}"#;
        let tables = PriceTables::new(Some(own)).expect("a table");
        let built_in = PriceTables::new(None).expect("a table");
        assert_eq!(tables.price_of("gpt-4.1").map(|price| price.input), Some(1_000_000));
        assert_eq!(tables.price_of("claude-sonnet-4"), built_in.price_of("claude-sonnet-4"));
        assert!(built_in.price_of("claude-sonnet-4").is_some());
    }

    #[test]
    fn a_price_is_shown_with_its_entry() {
        let own =
            br#"{"as_of": "2026-02-02", "prices": [{"model": "House-*", "input": 0.0375, "output": 8}]}"#;
        let tables = PriceTables::new(Some(own)).expect("a table");
        let shown = serde_json::to_value(tables.model_price("acme/house-1")).expect("JSON");
        let expected = serde_json::json!({"model": "house-*", "input": 0.0375, "cached": 0.0375, "output": 8.0,
            "reasoning": 8.0, "as_of": "2026-02-02"});
        assert_eq!(shown, expected);
        assert_eq!(tables.model_price("unheard-of"), None);
    }

    #[test]
    fn parts_cost_their_own_price_and_no_more_than_the_whole() {
        let dollars = |dollars: f64| picodollars(dollars).expect("a price");
        let price = Price {
            input: dollars(2.0),
            output: dollars(8.0),
            cached: dollars(0.5),
            reasoning: dollars(10.0),
        };
        let tokens = Tokens { input: 1_000_000, cached: 400_000, output: 100_000, reasoning: 50_000 };
        assert_eq!(price.of(&tokens), 1_200_000_000 + 200_000_000 + 400_000_000 + 500_000_000);
        let too_many = Tokens { input: 10, cached: 100, output: 10, reasoning: 100 };
        assert_eq!(price.of(&too_many), 10 * 500 + 10 * 10_000);
        let cheap = Price { input: 37_500, output: 0, cached: 37_500, reasoning: 0 };
        assert_eq!(cheap.of(&Tokens { input: 1, ..Tokens::default() }), 38);
        assert_eq!(price.of(&Tokens { input: u64::MAX, output: u64::MAX, ..Tokens::default() }), u64::MAX);
    }

    #[test]
    fn an_invalid_table_is_rejected_with_its_path() {
        let cases = [
            ("[]", "expected a table of prices"),
            (r#"{"as_of": "2026-01-01"}"#, "prices"),
            (
                r#"{"as_of": "2026-01-01", "prices": [{"model": " ", "input": 1, "output": 1}]}"#,
                "$.prices[0].model",
            ),
            (
                r#"{"as_of": "2026-01-01", "prices": [{"model": "m", "input": -1, "output": 1}]}"#,
                "$.prices[0].input",
            ),
            (
                r#"{"as_of": "2026-01-01", "prices": [{"model": "m", "input": 1, "output": 1e6}]}"#,
                "$.prices[0].output",
            ),
        ];
        for (source, path) in cases {
            let error = PriceTables::new(Some(source.as_bytes())).expect_err("rejected").to_string();
            assert!(error.contains(path), "{error}");
        }
    }
}
