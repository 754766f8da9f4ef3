//! Where a store lies: a folder, or a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::storage::objects::Objects;
#[cfg(feature = "cloud")]
use crate::storage::objects::bucket::{Blocks, Bucket, SCHEMES};
use crate::storage::objects::local::Folder;
use crate::storage::objects::lock::Lock;
use crate::storage::options::{Options, folder_of};

/// The place that an address names.
pub(crate) enum Place {
    Folder(PathBuf),
    #[cfg(feature = "cloud")]
    Bucket(String),
}

impl Place {
    /// Returns the place that `url` names: a path, `file://`, or with the feature `cloud` a bucket.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] for any other address.
    pub(crate) fn of(url: &str) -> Result<Self> {
        #[cfg(feature = "cloud")]
        if let Some((scheme, rest)) = url.split_once("://")
            && SCHEMES.iter().any(|served| served.eq_ignore_ascii_case(scheme))
        {
            return Ok(Self::Bucket(format!("{}://{rest}", scheme.to_ascii_lowercase())));
        }
        folder_of(url).map(Self::Folder)
    }

    /// Opens the place for writing, creating a folder if need be, and lets `options` say where the indexes
    /// of segments are kept: a folder has room for them, a bucket shares the cache that was named.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] if it cannot be created or reached.
    pub(crate) fn prepared(&self, options: &mut Options) -> Result<Arc<dyn Objects>> {
        match self {
            Self::Folder(root) => {
                let folder = Folder::prepared(root)?;
                options.cache_dir.get_or_insert_with(|| folder.root().join("cache"));
                Ok(Arc::new(folder))
            }
            #[cfg(feature = "cloud")]
            Self::Bucket(url) => {
                let cache = options.cache_dir.take();
                options.cache_dir = cache.as_deref().map(|cache| cache.join("indexes"));
                let documents = cache.map(|cache| cache.join("documents"));
                let blocks = documents.and_then(|folder| Blocks::open(&folder, options.cache_bytes));
                Ok(Arc::new(Bucket::at(url, blocks)?))
            }
        }
    }

    /// Takes the lock that keeps other processes out, where there is such a thing.
    ///
    /// # Errors
    /// [`crate::error::Error::Locked`] if another process holds it.
    pub(crate) fn lock(&self) -> Result<Option<Lock>> {
        self.folder().map(Lock::take).transpose()
    }

    /// Opens the place for reading.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] if there is no such folder.
    pub(crate) fn existing(&self) -> Result<Box<dyn Objects>> {
        match self {
            Self::Folder(root) => Ok(Box::new(Folder::existing(root)?)),
            #[cfg(feature = "cloud")]
            Self::Bucket(url) => Ok(Box::new(Bucket::at(url, None)?)),
        }
    }

    /// Returns the folder, if the place is one.
    #[cfg_attr(not(feature = "cloud"), allow(clippy::unnecessary_wraps, reason = "a bucket is no folder"))]
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(root) => Some(root),
            #[cfg(feature = "cloud")]
            Self::Bucket(_) => None,
        }
    }
}
