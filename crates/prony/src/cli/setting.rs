//! Pairs on the command line: `NAME=VALUE`.

use spec::confined::Unconfined;

/// A server setting that keeps the server within its folder.
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let pair = split(text).ok_or("write NAME=VALUE, as in innodb_buffer_pool_size=64M")?;
    match Unconfined::from_setting(&pair.0, &pair.1) {
        None => Ok(pair),
        Some(refused) => Err(refused.says(&pair.0)),
    }
}

/// Another pair, such as a table and its file.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    split(text).ok_or("write the two with = between them".to_string())
}

fn split(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty()).then(|| (name.to_string(), value.to_string()))
}
