//! The way to a bucket: its address says where it is, the environment how it is reached.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use url::Url;

use super::requests;
use crate::error::{Error, Result};

/// How long a client waits unless the environment says otherwise: to connect, for the next bytes, for
/// the whole of an answer.
const PATIENCE: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "5 seconds"),
    (ClientConfigKey::ReadTimeout, "10 seconds"),
    (ClientConfigKey::Timeout, "30 seconds"),
];

/// A request is tried again for so long.
const RETRIES: RetryConfig = RetryConfig {
    backoff: object_store::BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.0,
    },
    max_retries: 10,
    retry_timeout: Duration::from_secs(5),
};

/// Returns the client for the bucket that `url` names, and the folder within it.
///
/// # Errors
/// [`Error::Options`].
pub(super) fn connect(url: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let address = Url::parse(url).map_err(|fault| refusal(&format!("it is no address: {fault}")))?;
    if !address.username().is_empty() || address.password().is_some() || address.port().is_some() {
        return Err(refusal("keys and endpoints come from the environment"));
    }
    if address.query().is_some() || address.fragment().is_some() {
        return Err(refusal("expected `scheme://bucket/folder` and nothing after it"));
    }
    let bucket = address.host_str().filter(|host| !host.is_empty());
    let bucket = bucket.ok_or_else(|| refusal("expected the name of a bucket"))?;
    let root = Path::from_url_path(address.path()).map_err(|_| refusal("its folder is no path"))?;
    requests::prepare()?;
    let store: Arc<dyn ObjectStore> = match address.scheme() {
        "s3" => Arc::new(s3(bucket)?),
        "gs" => Arc::new(gs(bucket)?),
        "az" => Arc::new(az(bucket)?),
        other => return Err(refusal(&format!("`{other}://` is not served"))),
    };
    Ok((store, root))
}

fn refusal(why: &str) -> Error {
    Error::Options(format!("the address of the store cannot be used: {why}"))
}

fn s3(bucket: &str) -> Result<object_store::aws::AmazonS3> {
    let mut builder = AmazonS3Builder::new().with_retry(RETRIES);
    for (key, value) in PATIENCE {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    }
    for (key, value) in environment("AWS_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_bucket_name(bucket).build().map_err(|fault| unusable("AWS_", &fault))
}

fn gs(bucket: &str) -> Result<object_store::gcp::GoogleCloudStorage> {
    let mut builder = GoogleCloudStorageBuilder::new().with_retry(RETRIES);
    for (key, value) in PATIENCE {
        builder = builder.with_config(GoogleConfigKey::Client(key), value);
    }
    for (key, value) in environment("GOOGLE_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_bucket_name(bucket).build().map_err(|fault| unusable("GOOGLE_", &fault))
}

fn az(container: &str) -> Result<object_store::azure::MicrosoftAzure> {
    let mut builder = MicrosoftAzureBuilder::new().with_retry(RETRIES);
    for (key, value) in PATIENCE {
        builder = builder.with_config(AzureConfigKey::Client(key), value);
    }
    for (key, value) in environment("AZURE_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_container_name(container).build().map_err(|fault| unusable("AZURE_", &fault))
}

/// Returns the variables that begin with `prefix`, their names in lower case.
fn environment(prefix: &str) -> Vec<(String, String)> {
    let texts = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        name.starts_with(prefix).then(|| (name.to_ascii_lowercase(), value))
    });
    texts.collect()
}

/// Says that the environment does not do, in the library's words unless they repeat one of its values.
fn unusable(prefix: &str, fault: &object_store::Error) -> Error {
    let text = fault.to_string();
    let values = environment(prefix);
    let repeats = values.iter().flat_map(|(_, value)| value.split(['&', '=', ';', ',', '"', '\n']));
    let told = if repeats.filter(|piece| piece.len() > 3).any(|piece| text.contains(piece)) {
        "one of them has a value that does not fit".to_owned()
    } else {
        text
    };
    Error::Options(format!("the bucket cannot be reached with the variables `{prefix}*`: {told}"))
}
