//! Text comparison: the parts of a text that are searched, substring search and case folding.

mod adjacent_search;
mod case_folding;
mod id_piece;
mod pair_finder;
mod searched;

pub(crate) use adjacent_search::AdjacentSearch;
pub(crate) use case_folding::{CaseFolding, fold_all, has_case};
pub(crate) use id_piece::{ID_BYTES, ID_DIGITS, IdPiece, digit, id_at};
pub(crate) use pair_finder::{PairFinder, chunk_at};
pub(crate) use searched::{find_in_searched, for_each_searched_word, is_token_boundary};
