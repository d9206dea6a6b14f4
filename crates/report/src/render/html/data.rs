//! Data for the page's script.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

/// A block of JSON that no text in it can end: `<` occurs in strings alone, where it can be written as an escape.
pub(super) fn block(id: &str, value: &Value) -> Markup {
    let text = value.to_string().replace('<', "\\u003c");
    html! { script type="application/json" id=(id) { (PreEscaped(text)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_tag_in_the_data_does_not_end_its_block() {
        let markup = block(
            "x",
            &serde_json::json!(["</script><script>alert(1)</script>", "<!--"]),
        )
        .into_string();
        assert_eq!(markup.matches("</script>").count(), 1);
        assert!(!markup.contains("<!--"));
        let inner = markup
            .trim_start_matches(|c| c != '[')
            .trim_end_matches("</script>");
        assert_eq!(
            serde_json::from_str::<Vec<String>>(inner).unwrap()[1],
            "<!--"
        );
    }
}
