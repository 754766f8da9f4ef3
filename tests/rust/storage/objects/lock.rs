//! The lock admits one process, for every path to the folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents};
use crate::support::spans::{request, span};

#[test]
fn a_second_store_is_locked_out_by_whatever_path_it_comes() {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("store");
    let url = root.to_str().expect("UTF-8");
    let first = TraceStore::open(url, Options::default()).expect("a store");
    let assert_locked = |url: &Path| {
        let second = TraceStore::open(url.to_str().expect("UTF-8"), Options::default());
        let Err(Error::Locked(message)) = second else { panic!("`{}`: {second:?}", url.display()) };
        message
    };
    let message = assert_locked(&root);
    assert!(message.contains(&format!("is held by process {}", std::process::id())), "{message}");
    let link = folder.path().join("link");
    symlink(&root, &link).expect("a link");
    assert_locked(&link);
    assert_locked(&link.join("..").join("store").join("."));
    fs::remove_file(root.join("LOCK")).expect("removed");
    assert_locked(&root);
    assert_locked(&link);
    fs::write(root.join("LOCK"), "process 1\n").expect("written");
    assert_locked(&root);
    let mounted = folder.path().join("mounted");
    fs::create_dir(&mounted).expect("a folder");
    // Runs only where mounting is permitted.
    if Command::new("mount")
        .arg("--bind")
        .args([&root, &mounted])
        .output()
        .is_ok_and(|done| done.status.success())
    {
        assert_locked(&mounted);
        assert!(Command::new("umount").arg(&mounted).status().expect("umount").success());
    }
    first.ingest(request(&[span(1, 1, 0)])).expect("the first store is not disturbed");
    drop(first);
    let second = TraceStore::open(url, Options::default()).expect("the lock is released");
    assert_eq!(contents(&second.snapshot()).len(), 1);
}

#[test]
fn a_symbolic_link_in_place_of_the_lock_is_named_and_not_followed() {
    let folder = TempDir::new().expect("a folder");
    let other = folder.path().join("other");
    let lock = folder.path().join("LOCK");
    for target in [&other, &folder.path().join("absent")] {
        fs::write(&other, "mine").expect("written");
        symlink(target, &lock).expect("a link");
        let opened = TraceStore::open(address(&folder), Options::default());
        let Err(Error::Options(message)) = opened else { panic!("{opened:?}") };
        assert!(message.contains("LOCK") && message.contains("symbolic link"), "{message}");
        assert_eq!(fs::read_to_string(&other).expect("a file"), "mine");
        assert!(!folder.path().join("absent").exists());
        fs::remove_file(&lock).expect("removed");
    }
    TraceStore::open(address(&folder), Options::default()).expect("a store");
}
