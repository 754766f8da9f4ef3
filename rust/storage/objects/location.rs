//! The address of a store: a folder or a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::storage::objects::Objects;
#[cfg(feature = "cloud")]
use crate::storage::objects::bucket::{BlockCache, Bucket, SCHEMES};
use crate::storage::objects::local::LocalFolder;
use crate::storage::objects::lock::FolderLock;
use crate::storage::options::{Options, folder_of};

/// The default linger time of superseded objects in a bucket.
#[cfg(feature = "cloud")]
const LINGER_SECONDS: u64 = 60;

#[derive(Debug)]
pub(crate) enum StoreLocation {
    Folder(PathBuf),
    #[cfg(feature = "cloud")]
    Bucket(String),
}

impl StoreLocation {
    /// Returns the location that `url` names: a path, a `file://` URL, or with the feature `cloud` a bucket.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] for any other address.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        #[cfg(feature = "cloud")]
        if let Some((scheme, rest)) = url.split_once("://")
            && SCHEMES.iter().any(|served| served.eq_ignore_ascii_case(scheme))
        {
            return Ok(Self::Bucket(format!("{}://{rest}", scheme.to_ascii_lowercase())));
        }
        folder_of(url).map(Self::Folder)
    }

    /// Opens the location for writing, and creates a missing folder. Also sets the folder of the index cache
    /// in `options`. By default, a local store uses a subfolder of its own. A bucket uses a part of the
    /// configured cache, next to the document blocks.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] if the location cannot be created or reached.
    pub(crate) fn open_or_create(&self, options: &mut Options) -> Result<Arc<dyn Objects>> {
        match self {
            Self::Folder(root) => {
                let folder = LocalFolder::open_or_create(root)?;
                options.cache_dir.get_or_insert_with(|| folder.root().join("cache"));
                Ok(Arc::new(folder))
            }
            #[cfg(feature = "cloud")]
            Self::Bucket(url) => {
                options.linger_seconds.get_or_insert(LINGER_SECONDS);
                let cache = options.cache_dir.take();
                options.cache_dir = cache.as_deref().map(|cache| cache.join("indexes"));
                let documents = cache.map(|cache| cache.join("documents"));
                let blocks = documents.and_then(|folder| BlockCache::open(&folder, options.cache_bytes));
                Ok(Arc::new(Bucket::connect(url, blocks)?))
            }
        }
    }

    /// Takes the lock that excludes other processes; returns `None` for locations without such a lock.
    ///
    /// # Errors
    /// [`crate::error::Error::Locked`] if another process holds it.
    pub(crate) fn lock(&self) -> Result<Option<FolderLock>> {
        self.folder().map(FolderLock::acquire).transpose()
    }

    /// Opens the location for reading.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] if the folder does not exist.
    pub(crate) fn open_existing(&self) -> Result<Box<dyn Objects>> {
        match self {
            Self::Folder(root) => Ok(Box::new(LocalFolder::open_existing(root)?)),
            #[cfg(feature = "cloud")]
            Self::Bucket(url) => Ok(Box::new(Bucket::connect(url, None)?)),
        }
    }

    /// Opens the location for a follower, whose options [`StoreLocation::place_cache_of_reader`] has changed;
    /// `None` if the folder does not exist yet.
    ///
    /// # Errors
    /// [`crate::error::Error::Options`] if the location cannot be reached.
    #[cfg_attr(
        not(feature = "cloud"),
        allow(unused_variables, reason = "a folder has no cache of documents")
    )]
    pub(crate) fn open_to_follow(&self, options: &Options) -> Result<Option<Arc<dyn Objects>>> {
        match self {
            Self::Folder(root) if !root.exists() => Ok(None),
            Self::Folder(root) => Ok(Some(Arc::new(LocalFolder::open_existing(root)?))),
            #[cfg(feature = "cloud")]
            Self::Bucket(url) => {
                let documents = options.cache_dir.as_ref().map(|indexes| indexes.with_file_name("documents"));
                let blocks = documents.and_then(|folder| BlockCache::open(&folder, options.cache_bytes));
                Ok(Some(Arc::new(Bucket::connect(url, blocks)?)))
            }
        }
    }

    /// Sets the folder of a follower's index cache in `options`: a part of the configured cache, or none.
    /// Without a configured cache, a follower of a local store reads the writer's cache.
    pub(crate) fn place_cache_of_reader(&self, options: &mut Options) {
        options.cache_dir = match (options.cache_dir.take(), self.folder()) {
            (Some(cache), _) => Some(cache.join("indexes")),
            (None, Some(root)) => {
                options.is_cache_foreign = true;
                Some(root.join("cache"))
            }
            (None, None) => None,
        };
    }

    /// Returns the folder; `None` for a bucket.
    #[cfg_attr(not(feature = "cloud"), allow(clippy::unnecessary_wraps, reason = "a bucket is no folder"))]
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(root) => Some(root),
            #[cfg(feature = "cloud")]
            Self::Bucket(_) => None,
        }
    }
}
