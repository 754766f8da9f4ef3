//! Converts messages of a conversation to readable text (`docs/reference/traces.md#messages`).
//!
//! Frameworks send the same conversation in many shapes: as JSON text ([`shapes`]), one attribute per part
//! ([`numbered`]), or one span event per message ([`events`]). All become a list of [`message::Message`]. A
//! node of the tree shows the text of each side, and a single span shows the whole [`conversation`].

mod conversation;
mod events;
mod message;
mod numbered;
mod parts;
mod read;
mod shapes;

pub(super) use conversation::{Conversation, ConversationMessage, conversation, system_message};
pub(super) use events::{call_of_events, messages_of_events};
pub(super) use message::Side;
pub(super) use numbered::numbered_messages;
pub(super) use read::{Reading, json_of, read, text_in, tool_message};
