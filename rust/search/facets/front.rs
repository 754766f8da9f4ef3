//! Facets over shards: all values of all shards, added up in order, of which the most frequent ones are kept.

use super::request::{FacetRequest, FieldGroups};
use super::top::Top;
use super::{FacetAnswer, Facets, check_value_bytes, print};
use crate::error::Result;
use crate::filter::Filter;
use crate::schema::Field;
use crate::search::aggregate::ValueMerge;
use crate::search::gather::{Answered, Asked, AskedFacetMemory, Found, Gather, unexpected};

/// A count of facets over shards.
pub(in crate::search) struct FacetFront {
    request: FacetRequest,
    not_excluded: Vec<&'static str>,
    shards: usize,
    /// The fields, each with whether the conditions on it are left out.
    fields: Vec<(Field, bool)>,
    is_asked: bool,
    bytes: u64,
    matched: u64,
    /// The field whose values are counted.
    counting: Option<Counting>,
    answers: Vec<(Field, FacetAnswer)>,
    value_bytes: usize,
}

/// The values of one field, as far as they are known.
struct Counting {
    field: Field,
    merge: ValueMerge,
    top: Top<Vec<u8>>,
    distinct: u64,
}

impl FacetFront {
    /// Counts facets on `shards` shards.
    ///
    /// # Errors
    /// None for a filter that was compiled.
    pub(in crate::search) fn new(shards: usize, filter: &Filter, request: FacetRequest) -> Result<Self> {
        let (groups, not_excluded): (FieldGroups, _) = request.groups(filter)?;
        let of_group = |(group, (_, fields)): (usize, &(Filter, Vec<Field>))| {
            fields.iter().map(|field| (*field, group > 0)).collect::<Vec<_>>()
        };
        let mut fields: Vec<(Field, bool)> = groups.iter().enumerate().flat_map(of_group).collect();
        // They are taken from the end.
        fields.reverse();
        Ok(Self {
            request,
            not_excluded,
            shards,
            fields,
            is_asked: false,
            bytes: 0,
            matched: 0,
            counting: None,
            answers: Vec::new(),
            value_bytes: 0,
        })
    }

    /// Ends the count of a field.
    fn finish(&mut self, counting: Counting) -> Result<()> {
        let Counting { field, merge, top, distinct } = counting;
        let values = top.into_sorted();
        self.value_bytes += values.iter().map(|(_, value)| value.len()).sum::<usize>();
        check_value_bytes(self.value_bytes)?;
        let values = values.iter().map(|(count, value)| (*count, value.as_slice()));
        self.answers.push((field, FacetAnswer::new(values, distinct, merge.missing())));
        Ok(())
    }
}

impl Gather for FacetFront {
    fn next_round(&mut self) -> Result<Option<Vec<Option<Asked>>>> {
        if !self.is_asked {
            self.is_asked = true;
            let fields = self.request.fields.iter().map(|field| field.key().to_owned()).collect();
            return Ok(Some(vec![Some(Asked::FacetMemory(AskedFacetMemory { fields })); self.shards]));
        }
        loop {
            if let Some(mut counting) = self.counting.take() {
                counting.merge.drain(|value, count| {
                    counting.distinct += 1;
                    counting.top.offer(count, value);
                });
                if let Some(wanted) = counting.merge.wanted() {
                    self.counting = Some(counting);
                    return Ok(Some(wanted.into_iter().map(|asked| asked.map(Asked::Values)).collect()));
                }
                self.finish(counting)?;
            }
            let Some((field, excludes_own)) = self.fields.pop() else { return Ok(None) };
            let prefix = self.request.prefix_of(field).unwrap_or_default();
            let merge = ValueMerge::new(self.shards, field, excludes_own, prefix);
            self.counting = Some(Counting { field, merge, top: Top::new(self.request.limit), distinct: 0 });
        }
    }

    fn take(&mut self, shard: usize, answered: Answered) -> Result<()> {
        match (answered, &mut self.counting) {
            (Answered::FacetMemory(answer), _) => {
                self.bytes = self.bytes.saturating_add(answer.bytes);
                self.matched += answer.matched;
                Ok(())
            }
            (Answered::Values(values), Some(counting)) => counting.merge.take(shard, values),
            _ => Err(unexpected()),
        }
    }

    fn max_bytes(&self) -> Option<u64> {
        (self.bytes > 0).then_some(self.bytes)
    }

    fn found(&mut self) -> Result<Found> {
        let data = print(&self.request, std::mem::take(&mut self.answers))?;
        let not_excluded = self.not_excluded.clone();
        Ok(Found::Facets(Facets { data, matched: self.matched, not_excluded }))
    }
}
