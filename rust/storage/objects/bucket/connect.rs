//! Connecting to a bucket: the URL names it, and the environment configures the client.

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

/// The default timeouts: connecting, next bytes, whole response. The environment may override them.
const TIMEOUTS: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "5 seconds"),
    (ClientConfigKey::ReadTimeout, "10 seconds"),
    (ClientConfigKey::Timeout, "30 seconds"),
];

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
    let address = Url::parse(url).map_err(|error| rejection(&format!("not a valid address: {error}")))?;
    if !address.username().is_empty() || address.password().is_some() || address.port().is_some() {
        return Err(rejection("keys and endpoints come from the environment"));
    }
    if address.query().is_some() || address.fragment().is_some() {
        return Err(rejection("expected `scheme://bucket/folder` and nothing after it"));
    }
    let bucket = address.host_str().filter(|host| !host.is_empty());
    let bucket = bucket.ok_or_else(|| rejection("expected the name of a bucket"))?;
    let root = Path::from_url_path(address.path()).map_err(|_| rejection("its folder is no path"))?;
    requests::start_runtime()?;
    let store: Arc<dyn ObjectStore> = match address.scheme() {
        "s3" => Arc::new(s3(bucket)?),
        "gs" => Arc::new(gs(bucket)?),
        "az" => Arc::new(az(bucket)?),
        other => return Err(rejection(&format!("`{other}://` is not served"))),
    };
    Ok((store, root))
}

fn rejection(reason: &str) -> Error {
    Error::Options(format!("the address of the store cannot be used: {reason}"))
}

fn s3(bucket: &str) -> Result<object_store::aws::AmazonS3> {
    let mut builder = AmazonS3Builder::new().with_retry(RETRIES);
    for (key, value) in TIMEOUTS {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    }
    for (key, value) in environment("AWS_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_bucket_name(bucket).build().map_err(|error| unusable("AWS_", &error))
}

fn gs(bucket: &str) -> Result<object_store::gcp::GoogleCloudStorage> {
    let mut builder = GoogleCloudStorageBuilder::new().with_retry(RETRIES);
    for (key, value) in TIMEOUTS {
        builder = builder.with_config(GoogleConfigKey::Client(key), value);
    }
    for (key, value) in environment("GOOGLE_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_bucket_name(bucket).build().map_err(|error| unusable("GOOGLE_", &error))
}

fn az(container: &str) -> Result<object_store::azure::MicrosoftAzure> {
    let mut builder = MicrosoftAzureBuilder::new().with_retry(RETRIES);
    for (key, value) in TIMEOUTS {
        builder = builder.with_config(AzureConfigKey::Client(key), value);
    }
    for (key, value) in environment("AZURE_") {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_container_name(container).build().map_err(|error| unusable("AZURE_", &error))
}

/// Returns the environment variables with this prefix, with names in lower case.
fn environment(prefix: &str) -> Vec<(String, String)> {
    let texts = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        name.starts_with(prefix).then(|| (name.to_ascii_lowercase(), value))
    });
    texts.collect()
}

/// Returns the error for an unusable environment. It includes the message of the library unless that repeats
/// the value of a variable.
fn unusable(prefix: &str, error: &object_store::Error) -> Error {
    let text = error.to_string();
    let values = environment(prefix);
    let repeats = values.iter().flat_map(|(_, value)| value.split(['&', '=', ';', ',', '"', '\n']));
    let reason = if repeats.filter(|part| part.len() > 3).any(|part| text.contains(part)) {
        "one of them has a value that does not fit".to_owned()
    } else {
        text
    };
    Error::Options(format!("the bucket cannot be reached with the variables `{prefix}*`: {reason}"))
}
