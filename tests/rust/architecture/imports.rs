//! The imports among source files, from `use` declarations and qualified paths.
//!
//! A name that a module only re-exports is attributed to the file that declares it. So a `mod.rs` that only
//! declares and re-exports its children does not depend on them. Code after `#[cfg(test)] mod tests` is
//! ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A path as its segments, such as `["crate", "storage", "Snapshot"]`.
type Segments = Vec<String>;

/// The imports among the source files of a crate, by module path such as `storage::manifest`.
pub(super) struct ImportGraph {
    imports: BTreeMap<String, BTreeSet<String>>,
}

/// A parsed source file.
struct SourceFile {
    module: Segments,
    /// The paths of private `use` declarations and of qualified names in the code.
    imports: Vec<Segments>,
    /// The paths of public `use` declarations by the name under which they are re-exported.
    reexports: BTreeMap<String, Segments>,
    /// The re-exported names that the file uses itself.
    used_reexports: BTreeSet<String>,
}

impl ImportGraph {
    /// Returns the imports among `sources`, by path below the root of the crate.
    pub(super) fn of(sources: &BTreeMap<PathBuf, String>) -> Self {
        let sources = sources.iter().filter(|(path, _)| path.as_path() != Path::new("lib.rs"));
        let files: BTreeMap<String, SourceFile> = sources
            .map(|(path, text)| (module_path(path).join("::"), SourceFile::parse(module_path(path), text)))
            .collect();
        let imports = files.iter().map(|(name, file)| {
            let used = file.used_reexports.iter().filter_map(|name| file.reexports.get(name));
            let paths = file.imports.iter().chain(used);
            let targets = paths.filter_map(|path| resolve(&files, file, path));
            (name.clone(), targets.filter(|target| target != name).collect())
        });
        Self { imports: imports.collect() }
    }

    /// Returns import cycles. Without the last import of each, no cycle remains.
    pub(super) fn cycles(mut self) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        while let Some(cycle) = self.cycle() {
            let [.., from, to] = cycle.as_slice() else { break };
            self.imports.get_mut(from).expect("a module").remove(to);
            found.push(cycle);
        }
        found
    }

    /// Returns the modules of one import cycle, if there is one.
    fn cycle(&self) -> Option<Vec<String>> {
        let mut remaining: BTreeSet<&String> = self.imports.keys().collect();
        loop {
            let leaf =
                remaining.iter().find(|name| self.imports[**name].iter().all(|to| !remaining.contains(to)));
            let Some(leaf) = leaf.copied() else { break };
            remaining.remove(leaf);
        }
        // Each remaining module imports a remaining one, so following the imports ends in a cycle.
        let mut walked = vec![(*remaining.first()?).clone()];
        loop {
            let next = self.imports[walked.last()?].iter().find(|to| remaining.contains(to))?;
            if let Some(start) = walked.iter().position(|name| name == next) {
                walked.drain(..start);
                walked.push(next.clone());
                return Some(walked);
            }
            walked.push(next.clone());
        }
    }
}

/// Returns the module path of a file: `storage/manifest/mod.rs` is `storage::manifest`.
fn module_path(path: &Path) -> Segments {
    let path = path.with_extension("");
    let mut segments: Segments = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if segments.last().is_some_and(|last| last == "mod") {
        segments.pop();
    }
    segments
}

impl SourceFile {
    fn parse(module: Segments, text: &str) -> Self {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let mut file =
            Self { module, imports: Vec::new(), reexports: BTreeMap::new(), used_reexports: BTreeSet::new() };
        let tokens = flatten_inline_modules(&tokens(text));
        let mut names = BTreeSet::new();
        let mut position = 0;
        while position < tokens.len() {
            let token = tokens[position].as_str();
            match token {
                "pub" if tokens.get(position + 1).is_some_and(|next| next == "(") => {
                    // A restricted visibility may contain a path, which is not an import.
                    position = end_of(&tokens, position, ")");
                    if tokens.get(position).is_some_and(|next| next == "use") {
                        let end = end_of(&tokens, position, ";");
                        file.add_reexports(&tokens[position + 1..end - 1]);
                        position = end;
                    }
                }
                "pub" if tokens.get(position + 1).is_some_and(|next| next == "use") => {
                    let end = end_of(&tokens, position, ";");
                    file.add_reexports(&tokens[position + 2..end - 1]);
                    position = end;
                }
                "use" => {
                    let end = end_of(&tokens, position, ";");
                    file.imports
                        .extend(expand(&tokens[position + 1..end - 1]).into_iter().map(|(path, _)| path));
                    position = end;
                }
                // The next identifier is a declaration, a field or a method.
                "mod" | "." => position += 2,
                _ if is_identifier(token) => {
                    let path = qualified_path(&tokens[position..]);
                    position += 2 * path.len() - 1;
                    names.insert(path[0].clone());
                    if path.len() > 1 {
                        file.imports.push(path);
                    }
                }
                _ => position += 1,
            }
        }
        file.used_reexports = file.reexports.keys().filter(|name| names.contains(*name)).cloned().collect();
        file
    }

    fn add_reexports(&mut self, tree: &[String]) {
        self.reexports.extend(expand(tree).into_iter().map(|(path, name)| (name, path)));
    }
}

/// Returns the module in which the item at `path` is declared, or `None` if it is not in this crate.
fn resolve(files: &BTreeMap<String, SourceFile>, from: &SourceFile, path: &[String]) -> Option<String> {
    let mut absolute = match path[0].as_str() {
        "crate" => Segments::new(),
        "self" => from.module.clone(),
        "super" => from.module[..from.module.len() - 1].to_vec(),
        child => {
            // A path without a prefix may start with a child module.
            let module = [from.module.clone(), vec![child.to_owned()]].concat();
            files.contains_key(&module.join("::")).then_some(module)?
        }
    };
    for segment in &path[1..] {
        if segment == "super" {
            absolute.pop();
        } else {
            absolute.push(segment.clone());
        }
    }
    let length =
        (1..=absolute.len()).rev().find(|length| files.contains_key(&absolute[..*length].join("::")))?;
    let (module, item) = absolute.split_at(length);
    let file = &files[&module.join("::")];
    match item.first().and_then(|name| file.reexports.get(name)) {
        Some(origin) => resolve(files, file, origin),
        None => Some(module.join("::")),
    }
}

/// Returns the top-level modules of `crate::` paths in a source text.
pub(super) fn top_level_modules(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let mut found = BTreeSet::new();
    for position in 0..tokens.len() {
        if tokens[position] == "crate" && tokens.get(position + 1).is_some_and(|next| next == "::") {
            found
                .extend(expand(&tokens[position..]).into_iter().filter_map(|(path, _)| path.get(1).cloned()));
        }
    }
    found
}

/// Returns the paths of a use tree with their bound names: `a::{b, c as d}` is `a::b` as `b` and `a::c` as
/// `d`.
fn expand(tree: &[String]) -> Vec<(Segments, String)> {
    let mut prefix = Segments::new();
    let mut rest = tree;
    while let Some((token, after)) = rest.split_first() {
        if token == "{" {
            let children = split_list(after).into_iter().flat_map(expand);
            return children
                .map(|(path, name)| {
                    let own = path.iter().filter(|segment| prefix.is_empty() || *segment != "self").cloned();
                    (prefix.iter().cloned().chain(own).collect(), name)
                })
                .collect();
        }
        if token != "::" && !is_identifier(token) {
            break;
        }
        if token == "as" {
            return after.first().map(|name| (prefix, name.clone())).into_iter().collect();
        }
        if token != "::" {
            prefix.push(token.clone());
        }
        rest = after;
    }
    let name = prefix.last().cloned();
    name.map(|name| (prefix, name)).into_iter().collect()
}

/// Returns the elements of a list up to its closing brace.
fn split_list(tokens: &[String]) -> Vec<&[String]> {
    let (mut depth, mut start, mut elements) = (0_usize, 0, Vec::new());
    for (position, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth > 0 => depth -= 1,
            "," | "}" if depth == 0 => {
                elements.push(&tokens[start..position]);
                start = position + 1;
                if token == "}" {
                    break;
                }
            }
            _ => {}
        }
    }
    elements
}

/// Rewrites `super` inside inline modules to `self`: the file that contains them.
fn flatten_inline_modules(tokens: &[String]) -> Vec<String> {
    let (mut depth, mut inline_depths, mut flat) = (0_usize, Vec::new(), Vec::<String>::new());
    for (position, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => {
                if position > 1 && tokens[position - 2] == "mod" {
                    inline_depths.push(depth);
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                inline_depths.pop_if(|inline| *inline == depth);
            }
            "super" if !inline_depths.is_empty() => {
                flat.push("self".into());
                continue;
            }
            _ => {}
        }
        flat.push(token.clone());
    }
    flat
}

/// Returns the identifiers that are joined by `::` at the start of `tokens`.
fn qualified_path(tokens: &[String]) -> Segments {
    let mut path = vec![tokens[0].clone()];
    let mut rest = &tokens[1..];
    while let [colons, name, after @ ..] = rest
        && colons == "::"
        && is_identifier(name)
    {
        path.push(name.clone());
        rest = after;
    }
    path
}

/// Returns the position after the next `end` token.
fn end_of(tokens: &[String], from: usize, end: &str) -> usize {
    let found = tokens[from..].iter().position(|token| token == end);
    found.map_or(tokens.len(), |length| from + length + 1)
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Returns the identifiers and punctuation of a source text, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => string_length(rest),
            'r' if rest.starts_with("r#\"") => rest[3..].find("\"#").map_or(rest.len(), |end| end + 5),
            '\'' => char_length(rest),
            ':' if rest.starts_with("::") => 2,
            _ if is_identifier(rest) || first.is_ascii_digit() => {
                rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let is_skipped = first.is_whitespace()
            || token.starts_with("//")
            || "\"'".contains(first)
            || token.starts_with("r#");
        if !is_skipped {
            tokens.push(token.to_owned());
        }
        rest = after;
    }
    tokens
}

/// Returns the length of the string literal at the start of `text`.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (position, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of the character literal at the start of `text`, or 1 for the quote of a lifetime.
fn char_length(text: &str) -> usize {
    let inner = &text[1..];
    let start = if inner.starts_with('\\') { 2 } else { inner.chars().next().map_or(0, char::len_utf8) };
    match inner.get(start..).and_then(|rest| rest.find('\'')) {
        Some(0) => start + 2,
        // An escape such as `\u{fffd}` is longer.
        Some(more) if inner.starts_with('\\') => start + more + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> ImportGraph {
        let sources = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        ImportGraph::of(&sources.collect())
    }

    #[test]
    fn paths_are_followed_through_reexports_to_the_declaring_file() {
        let graph = graph(&[
            ("a/mod.rs", "mod b;\nmod c;\npub(in crate::d) use self::b::{One, Two as Other};\n"),
            ("a/b.rs", "pub struct One;\n// use crate::d::Four;\nconst TEXT: &str = \"crate::d::Four\";\n"),
            ("a/c.rs", "use std::fmt;\nuse super::Other;\nfn f() -> crate::d::Three { 'x'; 'd: loop {} }\n"),
            ("d.rs", "use crate::a::{self, One};\n"),
        ]);
        let imports = |name: &str| graph.imports[name].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(imports("a"), [""; 0]);
        assert_eq!(imports("a::b"), [""; 0]);
        assert_eq!(imports("a::c"), ["a::b", "d"]);
        assert_eq!(imports("d"), ["a", "a::b"]);
        assert_eq!(graph.cycle(), None);
    }

    #[test]
    fn a_module_that_uses_a_child_which_imports_it_is_a_cycle() {
        let declares = ("a/b.rs", "use crate::a::One;\npub struct Two(One);\n");
        for uses in
            ["pub use self::b::Two;\npub struct One;\nfn f(_: Two) {}\n", "mod b;\nfn f() { b::g() }\n"]
        {
            assert_eq!(graph(&[("a/mod.rs", uses), declares]).cycles(), [["a", "a::b", "a"]]);
        }
        let only_declares = ("a/mod.rs", "mod b;\npub use self::b::Two;\npub struct One;\n");
        assert_eq!(graph(&[only_declares, declares]).cycle(), None);
    }

    #[test]
    fn super_in_an_inline_module_is_the_file_itself() {
        let inline = "pub mod c {\n    pub struct One(super::Two);\n}\npub struct Two;\nuse super::three;\n";
        let graph = graph(&[("a/mod.rs", "mod b;\nmod three;\n"), ("a/b.rs", inline), ("a/three.rs", "")]);
        assert_eq!(graph.imports["a::b"].iter().collect::<Vec<_>>(), ["a::three"]);
    }

    #[test]
    fn top_level_modules_are_found_in_lists_too() {
        let found =
            top_level_modules("use crate::{a::B, c::{D, e::F}};\nfn f() { crate::g::h() }\n// crate::i\n");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "c", "g"]);
    }
}
