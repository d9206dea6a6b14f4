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

/// Refuses a setting that is given twice, in whatever spelling: a file holds it once, so the last value would win without a word.
pub(super) fn once(settings: &[(String, String)]) -> Result<(), String> {
    let names = settings.iter().map(|(name, _)| spec::plain(name));
    let names: Vec<String> = names.collect();
    let twice = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
    match twice {
        None => Ok(()),
        Some(index) => Err(format!(
            "--set: {} is given twice, and only one value can be in force; give it once",
            names[index]
        )),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_given_once() {
        let check = |texts: &[&str]| {
            let pairs = texts.iter().map(|text| setting(text).unwrap());
            once(&pairs.collect::<Vec<_>>())
        };
        assert_eq!(check(&["sync_binlog=0", "max_connections=100"]), Ok(()));
        for again in ["sync_binlog=1", "sync-binlog=0"] {
            let says = check(&["sync_binlog=0", again]).unwrap_err();
            assert!(says.contains("sync_binlog is given twice"), "{says}");
        }
    }
}
