//! Why a query has no answer.

use serde::{Deserialize, Serialize};

/// Why a query has no answer. JSON and SQLite hold its text: `> 600 s` for a limit, else the server's code and message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum QueryError {
    /// The protocol's limit stopped it.
    TimedOut { limit_s: f64 },
    /// The server refused it, or the connection was lost, which has no code.
    Failed { code: Option<u16>, message: String },
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueryError::TimedOut { limit_s } => write!(f, "> {limit_s} s"),
            QueryError::Failed {
                code: Some(code),
                message,
            } => write!(f, "{code} {message}"),
            QueryError::Failed {
                code: None,
                message,
            } => f.write_str(message),
        }
    }
}

impl From<String> for QueryError {
    fn from(text: String) -> QueryError {
        let limit = text
            .strip_prefix("> ")
            .and_then(|rest| rest.strip_suffix(" s"));
        let timed_out = limit.and_then(|limit| {
            Some(QueryError::TimedOut {
                limit_s: limit.parse().ok()?,
            })
        });
        let refused = text.split_once(' ').and_then(|(code, message)| {
            let (code, message) = (Some(code.parse().ok()?), message.to_string());
            Some(QueryError::Failed { code, message })
        });
        // Only what is written back as it was read: a message may look like either by chance.
        let found = timed_out
            .or(refused)
            .filter(|error| error.to_string() == text);
        found.unwrap_or(QueryError::Failed {
            code: None,
            message: text,
        })
    }
}

impl From<&str> for QueryError {
    fn from(text: &str) -> QueryError {
        QueryError::from(text.to_string())
    }
}

impl From<QueryError> for String {
    fn from(error: QueryError) -> String {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_limit_and_a_code_are_read_from_their_text() {
        assert_eq!(
            QueryError::from("> 600 s"),
            QueryError::TimedOut { limit_s: 600.0 }
        );
        assert_eq!(
            QueryError::from("> 0.5 s"),
            QueryError::TimedOut { limit_s: 0.5 }
        );
        let refused = QueryError::Failed {
            code: Some(1176),
            message: "no such key".into(),
        };
        assert_eq!(QueryError::from("1176 no such key"), refused);
        let lost = QueryError::Failed {
            code: None,
            message: "lost connection".into(),
        };
        assert_eq!(QueryError::from("lost connection"), lost);
    }

    proptest! {
        #[test]
        fn any_text_is_written_back_as_it_was_read(text in "(> )?[0-9. ]{0,6}[ s]{0,3}\\PC{0,8}") {
            prop_assert_eq!(QueryError::from(text.clone()).to_string(), text);
        }
    }
}
