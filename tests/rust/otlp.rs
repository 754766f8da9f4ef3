//! Tests of `rust/otlp/`.
use spanwise::otlp::*;
#[test]
fn captured() {
    println!(
        "{} {} {}",
        size_of::<proto::AnyValue>(),
        size_of::<proto::KeyValue>(),
        size_of::<AcceptedSpan>()
    );
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp");
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(root.join("manifest.json")).unwrap()).unwrap();
    println!("{}", manifest["files"][0]);
    for file in manifest["files"].as_array().unwrap() {
        let body = std::fs::read(root.join(file["file"].as_str().unwrap())).unwrap();
        let e = decode(
            body.into(),
            file["content_type"].as_str().unwrap(),
            file["content_encoding"].as_str(),
            u64::MAX / 2,
        )
        .unwrap_or_else(|f| panic!("{} {f}", file["file"]));
        if e.rejected > 0 || e.spans.len() as u64 != file["spans"].as_u64().unwrap() {
            println!("{} {} {}", file["file"], e.rejected, e.reason);
        }
    }
}
