//! Changing inputs: blindly, but where it hurts.

use crate::random::Random;

/// Values at which counts, lengths and tags turn over.
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

/// The largest input that is made.
const MOST_BYTES: usize = 1 << 18;

/// Returns an input of the corpus with one to eight changes.
pub(super) fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = drawn(corpus, random).clone();
    for _ in 0..=random.below(8) {
        change(&mut input, corpus, random);
    }
    input.truncate(MOST_BYTES);
    input
}

fn drawn<'a>(corpus: &'a [Vec<u8>], random: &mut Random) -> &'a Vec<u8> {
    &corpus[place(corpus.len(), random)]
}

fn place(length: usize, random: &mut Random) -> usize {
    usize::try_from(random.below(length as u64)).expect("below a length")
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = place(input.len(), random);
    let end = at + place((input.len() - at).min(64) + 1, random);
    match random.below(9) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.next().to_le_bytes()[0],
        2 if at < input.len() => {
            input[at] = input[at].wrapping_add(if random.below(2) == 0 { 1 } else { 255 });
        }
        3 => drop(input.drain(at..end)),
        4 => {
            let copy = input[at..end].to_vec();
            let to = place(input.len() + 1, random);
            input.splice(to..to, copy).for_each(drop);
        }
        5 => {
            let edge = EDGES[place(EDGES.len(), random)];
            let over = (at + edge.len() * place(2, random)).min(input.len());
            drop(input.splice(at..over, edge.iter().copied()));
        }
        6 => {
            let other = drawn(corpus, random);
            let from = place(other.len(), random);
            let to = from + place((other.len() - from).min(256) + 1, random);
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
