//! Writes a trace whose document is damaged, from its row (`docs/reference/api-search.md#trace-detail`).

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array as _, RecordBatch};

use super::TraceRow;
use super::detail::{Detail, RunContent, write_beyond_summary, write_row};
use super::json::JsonWriter;
use super::trace_columns;
use crate::otlp::TraceId;
use crate::schema::{Field, STATUSES};

/// Appends row `row` of `batch`, rows of [`crate::schema::trace_schema`], as a `TraceDetail` object with
/// `damaged` and an empty tree, or as a smaller object with `damaged`. Returns `false` if there is no such
/// row.
pub fn write_damaged(out: &mut Vec<u8>, batch: &RecordBatch, row: usize, level: Detail) -> bool {
    let Some(row) = row_of(batch, row) else { return false };
    let mut json = JsonWriter::new(out);
    json.begin_object();
    write_row(&mut json, &row, &RunContent::default());
    json.key("damaged");
    json.raw(b"true");
    match level {
        Detail::Full => {
            json.key("tree");
            json.begin_array();
            json.end_array();
        }
        Detail::Summary => {}
        Detail::Preview => write_beyond_summary(&mut json, &row),
        Detail::Skeleton => {
            write_beyond_summary(&mut json, &row);
            trace_columns::write_no_spans(&mut json);
        }
    }
    json.end_object();
    true
}

fn row_of(batch: &RecordBatch, row: usize) -> Option<TraceRow> {
    let text = |field: Field| {
        let column = batch.column(field.column());
        let (texts, at) = match column.as_dictionary_opt::<Int32Type>() {
            Some(dictionary) => (dictionary.values().as_string_opt::<i32>()?, dictionary.key(row)?),
            None => (column.as_string_opt::<i32>()?, row),
        };
        (!texts.is_null(at)).then(|| texts.value(at).to_owned())
    };
    let instant = |field: Field| {
        Some(batch.column(field.column()).as_primitive_opt::<TimestampMicrosecondType>()?.value(row))
    };
    let number =
        |field: Field| Some(batch.column(field.column()).as_primitive_opt::<Int64Type>()?.value(row));
    Some(TraceRow {
        trace_id: TraceId::from_hex(&text(Field::TraceId)?)?,
        is_error: text(Field::Status)? == STATUSES[1],
        name: text(Field::Name)?,
        run_id: text(Field::RunId),
        session_id: text(Field::SessionId),
        user_id: text(Field::UserId),
        agent_id: text(Field::AgentId),
        team_id: text(Field::TeamId),
        workflow_id: text(Field::WorkflowId),
        service: text(Field::Service),
        environment: text(Field::Environment),
        release: text(Field::Release),
        start_time: instant(Field::StartTime)?,
        end_time: instant(Field::EndTime)?,
        created_at: instant(Field::CreatedAt)?,
        duration_ms: number(Field::DurationMs)?,
        total_spans: number(Field::TotalSpans)?,
        error_count: number(Field::ErrorCount)?,
        input_tokens: number(Field::InputTokens)?,
        output_tokens: number(Field::OutputTokens)?,
        total_tokens: number(Field::TotalTokens)?,
        cached_tokens: number(Field::CachedTokens)?,
        reasoning_tokens: number(Field::ReasoningTokens)?,
        llm_calls: number(Field::LlmCalls)?,
        tool_calls: number(Field::ToolCalls)?,
    })
}
