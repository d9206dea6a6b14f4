//! local
use host::{Home, Leases};
use server::Managed;
use server::builds::{Distribution, Flavor};
use std::path::PathBuf;

pub struct Fresh {
    pub distribution: Distribution,
    pub leases: Leases,
    pub data_folder: PathBuf,
    home: tempfile::TempDir,
}
impl Fresh {
    pub fn of(build: &str) -> Option<Fresh> {
        let home = tempfile::tempdir().unwrap();
        let leases = Leases::open(&Home::at(home.path()).unwrap()).unwrap();
        let b = PathBuf::from("/tmp/hostroom");
        let (dir, flavor, version, bin, args, data) = match build {
            "mysql@5.6.14" => (b.join("5.6.14"), Flavor::MySql, (5, 6, 14), "bin/mysqld", vec![], "data-5.6.14"),
            "mysql@5.5.34" => (b.join("5.5.34"), Flavor::MySql, (5, 5, 34), "bin/mysqld", vec![], "data-5.5.34"),
            _ => (b.join("r/usr"), Flavor::MariaDb, (10, 11, 11), "sbin/mariadbd", vec!["--lc-messages-dir=/tmp/hostroom/r/usr/share/mysql"], "data-mariadb"),
        };
        let mut program = vec![dir.join(bin).into_os_string(), "--no-defaults".into(), format!("--basedir={}", dir.display()).into(), "--user=root".into()];
        program.extend(args.into_iter().map(Into::into));
        let distribution = Distribution { build: build.into(), flavor, version, version_text: String::new(), program, environment: vec![("LD_LIBRARY_PATH".into(), "/tmp/hostroom/r/usr/lib/x86_64-linux-gnu".into())], client: None, basedir: dir, binary_sha256: String::new() };
        let data_folder = home.path().join("data");
        std::process::Command::new("cp").arg("-a").arg(b.join(data)).arg(&data_folder).status().unwrap();
        Some(Fresh { distribution, leases, data_folder, home })
    }
    pub fn instance(&self) -> PathBuf { self.home.path().join("work/instance") }
    pub fn managed(&self) -> Managed { Managed::new(self.distribution.clone(), self.leases.clone(), self.instance()) }
    pub fn version(&self) -> String { let (a, b, _) = self.distribution.version; format!("{a}.{b}.") }
}
