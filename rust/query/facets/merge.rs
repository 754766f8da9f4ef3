//! Merges facets. A single leaf counts its facets itself. Several leaves send all values of each field in order. Their
//! counts are added up, and the most frequent values are returned.

use super::finish::{check_value_bytes, print};
use super::request::{FacetRequest, FieldGroups};
use super::top::Top;
use super::{CountFacetsResponse, Facet, FacetMemoryRequest, Facets};
use crate::error::Result;
use crate::filter::Filter;
use crate::query::aggregate::ValueMerge;
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};
use crate::schema::Field;

/// Merges facets.
pub(crate) struct FacetsMerge {
    request: FacetRequest,
    not_excluded: Vec<&'static str>,
    leaves: usize,
    round: Round,
    /// The fields that are not counted yet, each with whether the conditions on it are ignored.
    fields: Vec<(Field, bool)>,
    bytes: u64,
    matched: u64,
    /// The field whose values are being added up.
    counting: Option<Counting>,
    facets: Vec<Facet>,
    value_bytes: usize,
}

/// The next requests.
#[derive(Clone, Copy)]
enum Round {
    /// The memory that counting takes.
    Memory,
    /// The facets of the only leaf.
    Whole,
    /// The values of all leaves.
    Values,
    Done,
}

/// The values of one field so far.
struct Counting {
    field: Field,
    merge: ValueMerge,
    top: Top<Vec<u8>>,
    distinct: u64,
}

impl FacetsMerge {
    /// Starts to count facets.
    ///
    /// # Errors
    /// The errors of [`FacetRequest::groups`].
    pub(crate) fn new(leaves: usize, filter: &Filter, request: FacetRequest) -> Result<Self> {
        let (groups, not_excluded): (FieldGroups, _) = request.groups(filter)?;
        let of_group = |(group, (_, fields)): (usize, &(Filter, Vec<Field>))| {
            fields.iter().map(|field| (*field, group > 0)).collect::<Vec<_>>()
        };
        let mut fields: Vec<(Field, bool)> = groups.iter().enumerate().flat_map(of_group).collect();
        // Fields are popped from the end.
        fields.reverse();
        Ok(Self {
            request,
            not_excluded,
            leaves,
            round: Round::Memory,
            fields,
            bytes: 0,
            matched: 0,
            counting: None,
            facets: Vec::new(),
            value_bytes: 0,
        })
    }

    fn memory_requests(&self) -> Vec<Option<LeafRequest>> {
        if self.leaves == 1 {
            return vec![Some(LeafRequest::Facets(self.request.to_message(true)))];
        }
        let fields = self.request.fields.iter().map(|field| field.key().to_owned()).collect();
        vec![Some(LeafRequest::FacetMemory(FacetMemoryRequest { fields })); self.leaves]
    }

    /// Returns the requests for the next values; `None` once all fields are counted.
    fn value_requests(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        loop {
            if let Some(mut counting) = self.counting.take() {
                counting.merge.drain(|value, count| {
                    counting.distinct += 1;
                    counting.top.offer(count, value);
                });
                if let Some(requests) = counting.merge.next_requests() {
                    self.counting = Some(counting);
                    return Ok(Some(
                        requests.into_iter().map(|values| values.map(LeafRequest::Values)).collect(),
                    ));
                }
                self.finish_field(counting)?;
            }
            let Some((field, excludes_own)) = self.fields.pop() else { return Ok(None) };
            let prefix = self.request.prefix_of(field).unwrap_or_default();
            let merge = ValueMerge::new(self.leaves, field, excludes_own, prefix);
            self.counting = Some(Counting { field, merge, top: Top::new(self.request.limit), distinct: 0 });
        }
    }

    fn finish_field(&mut self, counting: Counting) -> Result<()> {
        let Counting { field, merge, top, distinct } = counting;
        let values = top.into_sorted();
        self.value_bytes += values.iter().map(|(_, value)| value.len()).sum::<usize>();
        check_value_bytes(self.value_bytes)?;
        let values = values.iter().map(|(count, value)| (*count, value.as_slice()));
        self.facets.push(Facet::new(field.key(), values, distinct, merge.missing()));
        Ok(())
    }
}

impl Merge for FacetsMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        match self.round {
            Round::Memory => {
                self.round = if self.leaves == 1 { Round::Whole } else { Round::Values };
                Ok(Some(self.memory_requests()))
            }
            Round::Whole => {
                self.round = Round::Done;
                Ok(Some(vec![Some(LeafRequest::Facets(self.request.to_message(false)))]))
            }
            Round::Values => self.value_requests(),
            Round::Done => Ok(None),
        }
    }

    fn add(&mut self, leaf: usize, response: LeafResponse) -> Result<()> {
        match (response, &mut self.counting) {
            (LeafResponse::Facets(CountFacetsResponse { bytes, matched, facets }), _) => {
                (self.bytes, self.matched, self.facets) = (self.bytes.max(bytes), matched, facets);
                Ok(())
            }
            (LeafResponse::FacetMemory(response), _) => {
                self.bytes = self.bytes.saturating_add(response.bytes);
                self.matched += response.matched;
                Ok(())
            }
            (LeafResponse::Values(values), Some(counting)) => counting.merge.add(leaf, values),
            _ => Err(unexpected()),
        }
    }

    fn max_bytes(&self) -> Option<u64> {
        (self.bytes > 0).then_some(self.bytes)
    }

    fn finish(&mut self) -> Result<Response> {
        let data = print(&self.request, std::mem::take(&mut self.facets))?;
        let not_excluded = self.not_excluded.clone();
        Ok(Response::Facets(Facets { data, matched: self.matched, not_excluded }))
    }
}
