//! The bytes of an index are part of its format.

use spanwise::trace::view::Channel;

use super::oracle::{Corpus, Text};

/// The checksum of an index of these texts in format 2. If it changes, raise the format in
/// `rust/text_index/layout.rs`. Otherwise files of the previous format would be searched for tokens that they
/// do not have.
const CHECKSUM: u32 = 0x83DB_63ED;

#[test]
fn the_same_texts_have_the_same_index() {
    let data = "QUJD".repeat(1_100);
    let texts = [
        (0, Channel::Input, "The connection to user-4711 was refused: KIOSK \u{212a}elvin, straße, ΣΊΣΥΦΟΣ"),
        (0, Channel::Output, r#"{"content": "n\u00e9e \"quoted\" \\n 中国人 の システム 안녕하세요 สวัสดี"}"#),
        (1, Channel::Error, "refused 🙂 👩\u{200d}💻 e\u{301}t “a” 10€ \u{e000} 𝒳 مرحبا"),
        (2, Channel::Output, "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1 and 9A8B7C6D-0000-4000-8000-0123456789AB"),
        (3, Channel::Any, data.as_str()),
        (3, Channel::Input, "refused as before"),
        (3, Channel::Input, "refused as before, again"),
    ];
    let texts = texts.map(|(row, channel, text)| Text { row, channel, content: text.to_owned() });
    let content = Corpus::new(texts.into(), 5).written(usize::MAX);
    assert_eq!(crc32c::crc32c(&content), CHECKSUM);
}
