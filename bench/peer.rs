//! The server's own client program, to compare with.

use spec::Dsn;
use std::process::Command;

pub(crate) struct Peer {
    pub dsn: Dsn,
    program: String,
    /// The arguments after DSN and CLIENT.
    pub rest: Vec<String>,
}

impl Peer {
    /// Reads DSN and CLIENT from the command line. None, with a message, if they are missing: `cargo bench` without arguments runs
    /// nothing.
    pub(crate) fn from_arguments() -> Option<Peer> {
        let mut arguments = std::env::args()
            .skip(1)
            .filter(|argument| argument != "--bench");
        let (Some(dsn), Some(program)) = (arguments.next(), arguments.next()) else {
            eprintln!(
                "skipped: give a DSN and the path of the server's own client, see the top of the bench's main.rs"
            );
            return None;
        };
        Some(Peer {
            dsn: dsn
                .parse()
                .expect("a DSN: mysql://user@host:port?socket=/path"),
            program,
            rest: arguments.collect(),
        })
    }

    /// The client's command line for the DSN. The password is passed in the environment.
    pub(crate) fn client(&self, schema: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--no-defaults")
            .arg(format!("--user={}", self.dsn.user));
        match &self.dsn.socket {
            Some(socket) => command.arg(format!("--socket={}", socket.display())),
            None => command
                .arg(format!("--host={}", self.dsn.host))
                .arg(format!("--port={}", self.dsn.port)),
        };
        if let Some(password) = &self.dsn.password {
            command.env("MYSQL_PWD", password);
        }
        command.arg(schema);
        command
    }
}
