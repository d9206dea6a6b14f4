//! A server setting on the command line: `NAME=VALUE`.

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("write NAME=VALUE, as in innodb_buffer_pool_size=64M".to_string()),
    }
}
