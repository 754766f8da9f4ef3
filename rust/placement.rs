//! Maps a trace to its shard: the shard whose prefix starts the CRC-32C of the trace id.
//!
//! The trace id alone determines the shard. A trace is therefore never on two shards, and no shard map has to
//! be stored.

use crate::error::{Error, Result};
use crate::otlp::TraceId;

/// The maximum length of a prefix, in bits.
const MAX_PREFIX_BITS: usize = 16;

/// The prefixes of all shards, which cover every hash exactly once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardMap {
    /// The first hash of every prefix and the number of its shard, ascending.
    starts: Vec<(u32, usize)>,
}

impl ShardMap {
    /// Returns the map for prefixes, written as bits: `""` for a single shard, `0` and `1` for two.
    ///
    /// # Errors
    /// [`Error::Options`] if a prefix is not a text of at most 16 digits `0` and `1`, or if the prefixes do
    /// not cover every hash exactly once.
    ///
    /// # Examples
    /// ```
    /// use spanwise::placement::ShardMap;
    /// assert_eq!(ShardMap::new(&["0", "10", "11"])?.shards(), 3);
    /// assert!(ShardMap::new(&["0", "10"]).is_err());
    /// # Ok::<(), spanwise::error::Error>(())
    /// ```
    pub fn new(prefixes: &[impl AsRef<str>]) -> Result<Self> {
        let mut ranges = Vec::with_capacity(prefixes.len());
        for (shard, prefix) in prefixes.iter().map(AsRef::as_ref).enumerate() {
            let bits = if prefix.is_empty() { Ok(0) } else { u32::from_str_radix(prefix, 2) };
            let is_short = prefix.len() <= MAX_PREFIX_BITS && !prefix.starts_with('+');
            let bits = bits.ok().filter(|_| is_short).ok_or_else(|| {
                let expected = format!("expected at most {MAX_PREFIX_BITS} digits `0` and `1` as a prefix");
                Error::Options(format!("{expected}, got `{prefix}`"))
            })?;
            let length = 1_u64 << (32 - prefix.len());
            ranges.push((u64::from(bits) * length, length, shard));
        }
        ranges.sort_unstable();
        let mut end = 0;
        for (start, length, _) in &ranges {
            if *start != end {
                break;
            }
            end += length;
        }
        if end != 1 << 32 || ranges.iter().map(|(_, length, _)| length).sum::<u64>() != end {
            let found: Vec<&str> = prefixes.iter().map(AsRef::as_ref).collect();
            return Err(Error::Options(format!(
                "expected prefixes that cover every hash once, got `{}`",
                found.join("`, `")
            )));
        }
        let starts =
            ranges.into_iter().map(|(start, _, shard)| (u32::try_from(start).unwrap_or(u32::MAX), shard));
        Ok(Self { starts: starts.collect() })
    }

    /// Returns the map of a single shard.
    pub fn whole() -> Self {
        Self { starts: vec![(0, 0)] }
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.starts.len()
    }

    /// Returns the number of a trace's shard, starting at 0.
    pub fn shard_of(&self, trace_id: TraceId) -> usize {
        let hash = crc32c::crc32c(trace_id.as_bytes());
        self.starts[self.starts.partition_point(|(start, _)| *start <= hash) - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_that_do_not_cover_every_hash_once_are_rejected() {
        for prefixes in
            [&["0"][..], &["0", "1", "11"], &["0", "0", "1"], &["0", "2"], &["00", "1"], &[], &["0", "+1"]]
        {
            assert!(matches!(ShardMap::new(prefixes), Err(Error::Options(_))), "{prefixes:?}");
        }
        assert!(ShardMap::new(&["0".repeat(17)]).is_err());
    }

    #[test]
    fn the_whole_has_the_empty_prefix() {
        assert_eq!(ShardMap::new(&[""]).expect("a map"), ShardMap::whole());
    }

    #[test]
    fn ids_that_count_are_spread_evenly() {
        let map = ShardMap::new(&["00", "01", "10", "11"]).expect("a map");
        let mut counts = [0; 4];
        for number in 1..=40_000_u128 {
            counts[map.shard_of(TraceId::from_bytes(&number.to_be_bytes()).expect("an id"))] += 1;
        }
        assert!(counts.iter().all(|count| (9_000..11_000).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_hash_is_where_its_first_bits_say() {
        let map = ShardMap::new(&["1", "00", "01"]).expect("a map");
        for number in 1..=1_000_u128 {
            let trace_id = TraceId::from_bytes(&number.to_be_bytes()).expect("an id");
            let hash = crc32c::crc32c(trace_id.as_bytes());
            let expected = if hash >> 31 == 1 { 0 } else { 1 + (hash >> 30) as usize };
            assert_eq!(map.shard_of(trace_id), expected);
        }
    }
}
