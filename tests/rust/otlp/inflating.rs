//! Bodies in every content encoding.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::bufread::{DeflateEncoder, ZlibEncoder};
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use spanwise::error::Error;
use spanwise::otlp::inflate::inflate;
use spanwise::otlp::limits::MAX_BODY_BYTES;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut deflated = Vec::new();
    ZlibEncoder::new(body, Compression::fast()).read_to_end(&mut deflated).expect("reading from memory");
    deflated
}

fn raw_deflate(body: &[u8]) -> Vec<u8> {
    let mut deflated = Vec::new();
    DeflateEncoder::new(body, Compression::fast()).read_to_end(&mut deflated).expect("reading from memory");
    deflated
}

type Encode = fn(&[u8]) -> Vec<u8>;
const ENCODINGS: [(&str, Encode); 3] = [("gzip", gzip), ("deflate", zlib), ("deflate", raw_deflate)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn inflate_reverses_every_encoding((name, encode) in select(&ENCODINGS[..]), body in vec(any::<u8>(), 0..500)) {
        let inflated = inflate(encode(&body).into(), Some(name)).expect("a whole body");
        prop_assert_eq!(inflated, body);
    }

    #[test]
    fn truncated_and_trailing_data_is_rejected(
        (name, encode) in select(&ENCODINGS[..]),
        body in vec(any::<u8>(), 0..500),
        end in any::<Index>(),
        rest in vec(any::<u8>(), 1..9),
    ) {
        let mut encoded = encode(&body);
        let cut = encoded[..end.index(encoded.len())].to_vec();
        prop_assert!(matches!(inflate(cut.into(), Some(name)), Err(Error::Decode(_))));
        encoded.extend(rest);
        prop_assert!(matches!(inflate(encoded.into(), Some(name)), Err(Error::Decode(_))));
    }

    #[test]
    fn a_damaged_checksum_is_rejected(body in vec(any::<u8>(), 0..500), place in 1_usize..=8) {
        let mut encoded = gzip(&body);
        let place = encoded.len() - place;
        encoded[place] ^= 0x40;
        prop_assert!(matches!(inflate(encoded.into(), Some("gzip")), Err(Error::Decode(_))));
    }
}

#[test]
fn gzip_members_are_concatenated() {
    let body = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
    assert_eq!(inflate(body.into(), Some("gzip")).expect("whole members"), b"one two".as_slice());
}

#[test]
fn the_limit_is_enforced_while_inflating() {
    for (name, encode) in ENCODINGS {
        let within = vec![0; MAX_BODY_BYTES];
        assert_eq!(
            inflate(encode(&within).into(), Some(name)).expect("a body within the limit").len(),
            within.len()
        );
        let beyond = encode(&vec![0; MAX_BODY_BYTES + 1]);
        assert!(matches!(inflate(beyond.into(), Some(name)), Err(Error::TooLarge(_))), "{name}");
        // Damage far beyond the limit is never read.
        let mut bomb = encode(&vec![0; 2 * MAX_BODY_BYTES]);
        bomb.truncate(bomb.len() - 1);
        assert!(matches!(inflate(bomb.into(), Some(name)), Err(Error::TooLarge(_))), "{name}");
    }
}

#[test]
fn an_unencoded_body_is_not_copied() {
    let body = Bytes::from_static(b"as it came");
    for name in [None, Some(""), Some("identity"), Some(" Identity ")] {
        let inflated = inflate(body.clone(), name).expect("no encoding");
        assert_eq!(inflated.as_ptr(), body.as_ptr());
    }
}
