//! Single objects at the address of a store, for data outside the store itself, such as the list of its
//! shards.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::storage::objects::local::create_folder;
use crate::storage::objects::location::StoreLocation;
use crate::storage::objects::{ListedObject, PutError};
use crate::storage::options::Options;

/// Creates an object unless it exists. Returns `true` if it was created. It is durable when this returns.
///
/// # Errors
/// [`Error::Options`] if the address is invalid, [`Error::Storage`].
pub fn create_object(url: &str, path: &str, content: Vec<u8>) -> Result<bool> {
    let location = StoreLocation::parse(url)?;
    if let Some(folder) = location.folder().map(|root| root.join(path))
        && let Some(parent) = folder.parent()
    {
        create_folder(parent).map_err(|error| Error::storage(folder.display().to_string(), error))?;
    }
    match location.open_existing()?.put_new(path, content.into()) {
        Ok(()) => Ok(true),
        Err(PutError::Exists) => Ok(false),
        Err(PutError::Failed(error) | PutError::NotSynced(error)) => Err(at(url, error)),
    }
}

/// Returns the content of an object; `None` if it does not exist.
///
/// # Errors
/// The errors of [`create_object`].
pub fn read_object(url: &str, path: &str) -> Result<Option<Bytes>> {
    let objects = StoreLocation::parse(url)?.open_to_follow(&Options::default())?;
    objects.map_or(Ok(None), |objects| objects.get(path)).map_err(|error| at(url, error))
}

/// Returns the objects below `folder`, in no particular order; empty if the folder does not exist.
///
/// # Errors
/// The errors of [`create_object`].
pub fn list_objects(url: &str, folder: &str) -> Result<Vec<ListedObject>> {
    let objects = StoreLocation::parse(url)?.open_to_follow(&Options::default())?;
    objects.map_or(Ok(Vec::new()), |objects| objects.list(folder)).map_err(|error| at(url, error))
}

/// Adds the address to a storage error, which only has the object's name.
fn at(url: &str, error: Error) -> Error {
    match error {
        Error::Storage { object, message } => {
            Error::Storage { object: format!("{}/{object}", url.trim_end_matches('/')), message }
        }
        error => error,
    }
}
