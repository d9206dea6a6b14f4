//! Reads the machine's apt sources, in both formats, to find the distribution's mirror.
//!
//! prony downloads other suites from the same mirror. Third-party archives and source packages are ignored.

use std::path::{Path, PathBuf};

/// One archive in the machine's apt sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Archive {
    pub uri: String,
    pub suite: String,
    pub components: Vec<String>,
    pub signed_by: Option<PathBuf>,
    /// A frozen mirror, whose lists have expired (`check-valid-until=no`).
    pub may_be_old: bool,
}

impl Archive {
    /// The option of a source line about the age of lists, after another option.
    pub(super) fn age_option(&self) -> &'static str {
        if self.may_be_old {
            " check-valid-until=no"
        } else {
            ""
        }
    }
}

/// Values that apt takes for false.
const FALSE: [&str; 3] = ["no", "false", "0"];

/// Suites named by their role instead of the release's codename.
const ROLES: [&str; 5] = ["stable", "testing", "unstable", "sid", "oldstable"];

/// The archive of the distribution's own main suite.
pub(super) fn main_archive(archives: &[Archive], codename: &str) -> Option<Archive> {
    let has_main = |archive: &&Archive| {
        archive
            .components
            .iter()
            .any(|component| component == "main")
    };
    let foreign_last = |archive: &&Archive| !signed_by_the_distribution(archive);
    let mut candidates: Vec<&Archive> = archives.iter().filter(has_main).collect();
    candidates.sort_by_key(foreign_last);
    let by_codename = candidates.iter().find(|archive| archive.suite == codename);
    let by_role = || {
        candidates
            .iter()
            .find(|archive| ROLES.contains(&archive.suite.as_str()))
    };
    by_codename
        .or_else(by_role)
        .map(|archive| (*archive).clone())
}

fn signed_by_the_distribution(archive: &Archive) -> bool {
    archive
        .signed_by
        .as_ref()
        .is_none_or(|path| path.to_string_lossy().contains("archive-keyring"))
}

/// Reads `sources.list` and the files of `sources.list.d` below the folder (`/etc/apt`). Skips what cannot be read.
pub(super) fn read(folder: &Path) -> Vec<Archive> {
    let mut files = vec![folder.join("sources.list")];
    let mut parts: Vec<PathBuf> = std::fs::read_dir(folder.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    files.extend(parts);
    files.iter().flat_map(|file| parse_file(file)).collect()
}

fn parse_file(file: &Path) -> Vec<Archive> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("sources") => parse_deb822(&text),
        Some("list") => parse_lines(&text),
        _ => Vec::new(),
    }
}

/// Parses lines such as `deb [signed-by=/path arch=amd64] http://host/debian bookworm main contrib`.
pub(super) fn parse_lines(text: &str) -> Vec<Archive> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Archive> {
    let line = line.split('#').next()?.trim();
    let rest = line
        .strip_prefix("deb")
        .filter(|rest| rest.starts_with([' ', '\t', '[']))?
        .trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options
        .split_whitespace()
        .find_map(|option| option.strip_prefix("signed-by="))
        .map(PathBuf::from);
    let may_be_old = options
        .split_whitespace()
        .filter_map(|option| option.strip_prefix("check-valid-until="))
        .any(|value| FALSE.contains(&value));
    let mut words = rest.split_whitespace().map(String::from);
    Some(Archive {
        uri: words.next()?,
        suite: words.next()?,
        components: words.collect(),
        signed_by,
        may_be_old,
    })
}

/// Parses stanzas of `Field: value` lines; one stanza may name several URIs and suites.
pub(super) fn parse_deb822(text: &str) -> Vec<Archive> {
    let mut archives = Vec::new();
    let mut stanza = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            archives.extend(parse_stanza(&std::mem::take(&mut stanza)));
        } else {
            stanza.push(line);
        }
    }
    archives
}

fn parse_stanza(lines: &[&str]) -> Vec<Archive> {
    let words = |field: &str| {
        field_of(lines, field)
            .split_whitespace()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let is_false = |field: &str| FALSE.contains(&field_of(lines, field).trim());
    let disabled = is_false("enabled");
    let may_be_old = is_false("check-valid-until");
    if disabled || !words("types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    // An inline key is not a path.
    let signed_by = words("signed-by")
        .into_iter()
        .next()
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from);
    let components = words("components");
    let suites = words("suites");
    let archive = |uri: &String, suite: &String| Archive {
        uri: uri.clone(),
        suite: suite.clone(),
        components: components.clone(),
        signed_by: signed_by.clone(),
        may_be_old,
    };
    words("uris")
        .iter()
        .flat_map(|uri| {
            suites
                .iter()
                .map(|suite| archive(uri, suite))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The value of a field, with its continuation lines (those that begin with a space).
fn field_of(lines: &[&str], field: &str) -> String {
    let mut value = String::new();
    let mut inside = false;
    for line in lines {
        if line.starts_with([' ', '\t']) {
            if inside {
                value.push_str(line);
            }
        } else if let Some((name, text)) = line.split_once(':') {
            inside = name.trim().eq_ignore_ascii_case(field);
            if inside {
                value.push_str(text);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEB822: &str = "\
Types: deb deb-src
# a comment within
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
  contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://third.test/repo
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/third.gpg

Enabled: no
Types: deb
URIs: http://off.test/debian
Suites: bookworm
Components: main
";

    #[test]
    fn a_stanza_yields_an_archive_per_suite() {
        let archives = parse_deb822(DEB822);
        assert_eq!(
            archives
                .iter()
                .map(|a| a.suite.as_str())
                .collect::<Vec<_>>(),
            ["bookworm", "bookworm-updates", "bookworm"]
        );
        assert_eq!(archives[0].components, ["main", "contrib"]);
        assert_eq!(
            archives[0].signed_by.as_deref(),
            Some(Path::new("/usr/share/keyrings/debian-archive-keyring.gpg"))
        );
    }

    #[test]
    fn options_of_a_source_line_are_parsed() {
        let archives = parse_lines(
            "# deb http://no.test/debian x main\ndeb-src http://no.test/debian bookworm main\n\
             deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main contrib # so\ndeb http://plain.test/debian sid main\n",
        );
        assert_eq!(archives.len(), 2);
        assert!(!archives[0].may_be_old);
        let frozen = parse_lines("deb [check-valid-until=no] http://frozen.test/debian sid main\n");
        assert!(frozen[0].may_be_old);
        let frozen = "Types: deb\nURIs: http://m.test/d\nSuites: sid\nComponents: main\nCheck-Valid-Until: no\n";
        assert!(parse_deb822(frozen)[0].may_be_old);
        assert_eq!(archives[0].signed_by.as_deref(), Some(Path::new("/k.gpg")));
        assert_eq!(
            (archives[1].uri.as_str(), archives[1].suite.as_str()),
            ("http://plain.test/debian", "sid")
        );
    }

    #[test]
    fn the_distributions_archive_is_preferred_to_third_parties() {
        let mut archives = parse_deb822(DEB822);
        archives.reverse();
        assert_eq!(
            main_archive(&archives, "bookworm").unwrap().uri,
            "http://mirror.test/debian"
        );
    }

    #[test]
    fn a_role_suite_is_used_if_none_has_the_codename() {
        let archives = parse_lines("deb http://mirror.test/debian sid main\n");
        assert_eq!(main_archive(&archives, "forky").unwrap().suite, "sid");
        assert_eq!(
            main_archive(
                &parse_lines("deb http://third.test/apt cloud-bookworm main\n"),
                "bookworm"
            ),
            None
        );
    }

    #[test]
    fn an_inline_key_is_not_a_path() {
        let archives = parse_deb822(
            "Types: deb\nURIs: http://m.test/d\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN PGP\n .\n",
        );
        assert_eq!(archives[0].signed_by, None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(?s).{0,300}") {
            let _ = (parse_deb822(&text), parse_lines(&text));
        }
    }
}
