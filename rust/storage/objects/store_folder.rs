//! Resolves the address of a store: its own folder, or the data folder of a service, whose store is in
//! `traces`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::location::StoreLocation;
use crate::error::{Error, Result};

/// The folder of the store in a data folder.
const TRACES: &str = "traces";
/// Entries of data folders only. The service may not have opened its store yet, or the store may be
/// elsewhere.
const DATA_FILES: [&str; 2] = ["runs.db", "demo.json"];
/// Entries of the folder of a store.
const STORE_PARTS: [&str; 7] = ["LOCK", "cache", "layout", "manifest", "segments", "shards", "wal"];
/// The maximum number of folder entries in a message.
const MAX_NAMED: usize = 3;

/// Returns the address of the store that `url` names: `url` itself, or `traces` in it if it is a data folder.
/// If `url` is the missing `traces` of a store, returns its parent. Buckets are not listed.
///
/// # Errors
/// [`Error::Options`] if the folder has other content, or two stores. The message names its entries and gives
/// advice.
pub(crate) fn store_at(url: &str) -> Result<String> {
    let location = StoreLocation::parse(url)?;
    let Some(folder) = location.folder() else { return Ok(url.to_owned()) };
    let found = store_folder(folder)?;
    // A correct address stays as the user wrote it, for messages.
    if found == folder { Ok(url.to_owned()) } else { text_of(&found) }
}

fn store_folder(folder: &Path) -> Result<PathBuf> {
    let inner = folder.join(TRACES);
    match (is_store(folder), is_store(&inner)) {
        (true, true) => Err(Error::Options(format!(
            "`{0}` is a store, and there is another one in `{1}`: pass `{1}`, or move it elsewhere to use that in `{0}`",
            folder.display(),
            inner.display()
        ))),
        (true, false) => Ok(folder.to_owned()),
        (false, true) => Ok(inner),
        (false, false) => new_store(folder, inner),
    }
}

/// Returns the folder for a store that does not exist yet.
fn new_store(folder: &Path, inner: PathBuf) -> Result<PathBuf> {
    let Some(entries) = entries_of(folder)? else {
        let parent = folder.parent().filter(|_| folder.file_name().is_some_and(|name| name == TRACES));
        return Ok(parent.filter(|parent| is_store(parent)).unwrap_or(folder).to_owned());
    };
    if entries.iter().all(|name| STORE_PARTS.contains(&name.as_str())) {
        return Ok(folder.to_owned());
    }
    if DATA_FILES.iter().any(|name| entries.contains(*name)) || entries.iter().all(|name| name == TRACES) {
        return Ok(inner);
    }
    Err(Error::Options(unknown_folder(folder, &entries)))
}

/// Returns the names in a folder; `None` if the folder does not exist. Hidden files and files of file systems
/// are skipped.
fn entries_of(folder: &Path) -> Result<Option<BTreeSet<String>>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::Options(format!("cannot read the folder `{}`: {error}", folder.display())));
        }
    };
    let names = listed.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let names: io::Result<BTreeSet<String>> = names
        .filter(|name| !name.as_ref().is_ok_and(|name| name.starts_with('.') || name == "lost+found"))
        .collect();
    names
        .map(Some)
        .map_err(|error| Error::Options(format!("cannot read the folder `{}`: {error}", folder.display())))
}

fn unknown_folder(folder: &Path, entries: &BTreeSet<String>) -> String {
    let mut named: Vec<String> = entries.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    if entries.len() > MAX_NAMED {
        named.push(format!("{} more", entries.len() - MAX_NAMED));
    }
    let mut children = entries.iter().map(|name| folder.join(name));
    let lease = children.find(|child| is_store(child) || is_store(&child.join(TRACES)));
    let advice = match lease {
        Some(child) => format!("`{}` holds a store, pass that", child.display()),
        None => "pass the folder of a store, a data folder, or a new or empty folder".into(),
    };
    format!("expected a store in `{}`, found {}: {advice}", folder.display(), named.join(", "))
}

/// Returns `true` if a folder has the manifest or the layout of a store.
fn is_store(folder: &Path) -> bool {
    ["manifest", "layout"].iter().any(|part| {
        fs::read_dir(folder.join(part)).is_ok_and(|listed| {
            listed.flatten().any(|entry| {
                let name = entry.file_name();
                name.to_str().and_then(|name| name.strip_suffix(".json")).is_some_and(|number| {
                    number.len() == 20 && number.bytes().all(|digit| digit.is_ascii_digit())
                })
            })
        })
    })
}

fn text_of(folder: &Path) -> Result<String> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::Options(format!("expected a path in UTF-8, got `{}`", folder.display())))
}
