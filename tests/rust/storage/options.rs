//! Invalid options and addresses are rejected with a reason.

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

#[test]
fn unknown_options_are_rejected() {
    let unknown = serde_json::from_str::<Options>(r#"{"seal_byte": 1}"#);
    assert!(unknown.expect_err("a rejection").to_string().contains("unknown field `seal_byte`"));
    let some = serde_json::from_str::<Options>(r#"{"seal_bytes": 1}"#).expect("options");
    assert_eq!(some, Options { seal_bytes: 1, ..Options::default() });
}

#[test]
fn addresses_that_are_not_folders_are_rejected() {
    for (url, expected) in [
        ("s3://key:secret@bucket", "expected a folder or a `file://` address, got `s3://`"),
        ("file://elsewhere/x", "expected `file://` and an absolute path, got `file://elsewhere/x`"),
        ("", "expected a folder, got an empty address"),
    ] {
        let Err(Error::Options(message)) = TraceStore::open(url, Options::default()) else {
            panic!("expected a rejection of `{url}`");
        };
        assert_eq!(message, expected);
    }
    let folder = TempDir::new().expect("a folder");
    let url = format!("file://{}/with%20space", folder.path().display());
    TraceStore::open(&url, Options::default()).expect("a store").close().expect("closed");
    assert!(folder.path().join("with space/manifest").is_dir());
}
