//! Looks up a trace on the only leaf that may have it.

use super::LookupRequest;
use crate::error::Result;
use crate::query::merge::{Merge, Response};
use crate::query::messages::{LeafRequest, LeafResponse, unexpected};

/// Returns the response of one leaf.
pub(crate) struct LookupMerge {
    request: Option<LookupRequest>,
    json: Option<Vec<u8>>,
}

impl LookupMerge {
    pub(crate) fn new(request: LookupRequest) -> Self {
        Self { request: Some(request), json: None }
    }
}

impl Merge for LookupMerge {
    fn next_round(&mut self) -> Result<Option<Vec<Option<LeafRequest>>>> {
        Ok(self.request.take().map(|request| vec![Some(LeafRequest::Lookup(request))]))
    }

    fn add(&mut self, _leaf: usize, response: LeafResponse) -> Result<()> {
        let LeafResponse::Lookup(response) = response else { return Err(unexpected()) };
        self.json = response.json;
        Ok(())
    }

    fn finish(&mut self) -> Result<Response> {
        Ok(Response::Trace(self.json.take()))
    }
}
