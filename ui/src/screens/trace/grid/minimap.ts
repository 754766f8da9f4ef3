/** Draws the minimap: one line for each span, or for every n-th. */
import { barOf } from '../model/bars';
import type { Spans } from '../model/spans';
import type { Timeline } from '../model/timeline';

/** The maximum number of spans that are drawn, in addition to failed ones. */
const MOST = 3_000;

/** The colour variable of a span type in `style/tokens.css`. */
const COLOURS: Record<string, string> = {
  AGENT: '--agent-bar',
  TEAM: '--agent-bar',
  WORKFLOW: '--agent-bar',
  LLM: '--llm-bar',
  EMBEDDING: '--llm-bar',
  TOOL: '--tool-bar',
  RETRIEVER: '--tool-bar',
};

/** Draws the spans into a canvas at its size in the page. */
export function drawMinimap(canvas: HTMLCanvasElement, spans: Spans, timeline: Timeline): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const scale = devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const colourOf = readColours(canvas);
  const colours = spans.type.values.map((type) => colourOf(COLOURS[type] ?? '--other-bar'));
  const thickness = Math.max(1, Math.min(3, height / Math.max(spans.count, 1)));
  const draw = (span: number, colour: string): void => {
    const bar = barOf(timeline, { from: spans.start[span] ?? 0, to: spans.end[span] ?? 0 });
    context.fillStyle = colour;
    const y = (span / Math.max(spans.count, 1)) * (height - thickness);
    context.fillRect(bar.from * width, y, Math.max(1, (bar.to - bar.from) * width), thickness);
  };
  const stride = Math.max(1, Math.ceil(spans.count / MOST));
  for (let span = 0; span < spans.count; span += stride) draw(span, colours[spans.type.codes[span] ?? -1] ?? '');
  const error = colourOf('--error');
  const errorStride = Math.max(1, Math.ceil(spans.errors.length / MOST));
  spans.errors.forEach((span, index) => {
    if (index % errorStride === 0) draw(span, error);
  });
}

/** Returns a function that reads the value of a colour variable in the theme of `element`. */
function readColours(element: HTMLElement): (variable: string) => string {
  return (variable) => {
    element.style.color = `var(${variable})`;
    const { color } = getComputedStyle(element);
    element.style.color = '';
    return color;
  };
}
