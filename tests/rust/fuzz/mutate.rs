//! Random mutation of inputs, biased towards edge cases.

use crate::support::random::Random;

/// Values at which counts, lengths and tags overflow or change their encoding.
const EDGES: [&[u8]; 14] = [
    &[0],
    &[0x7f],
    &[0x80],
    &[0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0xff, 0xff, 0xff, 0x7f],
    &[0, 0, 0, 0x80],
    &[0xff; 8],
    b"-1",
    b"18446744073709551616",
    b"1e400",
    b"null",
    b"\xed\xa0\x80",
];

/// The maximum size of a mutated input.
const MAX_INPUT_BYTES: usize = 1 << 18;

/// Returns an input of the corpus with one to eight mutations.
pub(super) fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = choose(corpus, random).clone();
    for _ in 0..=random.below(8) {
        change(&mut input, corpus, random);
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

fn choose<'a>(corpus: &'a [Vec<u8>], random: &mut Random) -> &'a Vec<u8> {
    &corpus[random_index(corpus.len(), random)]
}

fn random_index(length: usize, random: &mut Random) -> usize {
    usize::try_from(random.below(length as u64)).expect("below a length")
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random_index(input.len(), random);
    let end = at + random_index((input.len() - at).min(64) + 1, random);
    match random.below(9) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.next().to_le_bytes()[0],
        2 if at < input.len() => {
            input[at] = input[at].wrapping_add(if random.below(2) == 0 { 1 } else { 255 });
        }
        3 => drop(input.drain(at..end)),
        4 => {
            let copy = input[at..end].to_vec();
            let to = random_index(input.len() + 1, random);
            input.splice(to..to, copy).for_each(drop);
        }
        5 => {
            let edge = EDGES[random_index(EDGES.len(), random)];
            let over = (at + edge.len() * random_index(2, random)).min(input.len());
            drop(input.splice(at..over, edge.iter().copied()));
        }
        6 => {
            let other = choose(corpus, random);
            let from = random_index(other.len(), random);
            let to = from + random_index((other.len() - from).min(256) + 1, random);
            drop(input.splice(at..end, other[from..to].iter().copied()));
        }
        7 => input.truncate(at),
        _ => {
            for byte in &mut input[at..end] {
                *byte = random.next().to_le_bytes()[0];
            }
        }
    }
}
