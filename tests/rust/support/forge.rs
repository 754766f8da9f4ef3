//! Forged objects: changed content with correct checksums.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Changes a manifest file.
pub(crate) fn manifest(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut envelope: Value = serde_json::from_slice(&fs::read(path).expect("a manifest")).expect("JSON");
    let mut manifest = envelope["manifest"].take();
    change(&mut manifest);
    fs::write(path, sealed_manifest(&envelope["format"], &manifest.to_string())).expect("written");
}

/// Returns the content of a manifest's object with the text `manifest`.
pub(crate) fn sealed_manifest(format: &Value, manifest: &str) -> Vec<u8> {
    let checksum = crc32c::crc32c(manifest.as_bytes());
    format!(r#"{{"format":{format},"crc32c":{checksum},"manifest":{manifest}}}"#).into_bytes()
}

/// Corrects the checksums and the length in the header of a write-ahead object.
pub(crate) fn seal_wal(content: &mut [u8]) {
    const HEADER_BYTES: usize = 56;
    if content.len() < HEADER_BYTES {
        return;
    }
    let body = &content[HEADER_BYTES..];
    let (bytes, checksum) = ((body.len() as u64).to_le_bytes(), crc32c::crc32c(body).to_le_bytes());
    content[40..48].copy_from_slice(&bytes);
    content[48..52].copy_from_slice(&checksum);
    let checksum = crc32c::crc32c(&content[..HEADER_BYTES - 4]).to_le_bytes();
    content[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&checksum);
}

/// Sets the size and checksum of a file of a segment in a manifest to those of `content`.
pub(crate) fn record_file(manifest: &mut Value, segment: usize, file: &str, content: &[u8]) {
    let record = &mut manifest["segments"][segment];
    let record = match file {
        "hidden" => &mut record["hidden"]["file"],
        file if record["files"].get(file).is_some() => &mut record["files"][file],
        file => &mut record[file],
    };
    *record = json!({"bytes": content.len(), "crc32c": crc32c::crc32c(content)});
}
