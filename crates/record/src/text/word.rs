//! Words that scripts rely on, as enums: one declaration gives the enum, its spelling and its reading.

/// Declares an enum of words, written as these words in JSON and SQLite. A word that is not listed, of a record by another
/// version, is kept in `Other`.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$each])* $variant,)+
            /// A word of a record by another version.
            Other(String),
        }

        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)+
                    other => $name::Other(other.to_string()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> $name {
                $name::from(word.as_str())
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_string()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

/// `3, 5 and 9`
pub fn listed(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// The name of a value in the list of all values with their names.
pub fn name_of<T: PartialEq>(value: &T, names: &[(&'static str, T)]) -> &'static str {
    let found = names.iter().find(|(_, one)| one == value);
    found.map_or("", |(name, _)| *name)
}
