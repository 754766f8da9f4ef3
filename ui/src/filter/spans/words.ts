/** Conditions on spans in words: `a tool span fails, then an LLM span`. */
import type { Expression } from '../expression';
import { readNode } from '../tree';
import { partsOf, readAxis, readSpan, type AxisNode, type SpanNode } from './node';
import type { AxisOptions } from './options';

/** Formats the remaining conditions. */
interface Say {
  /** Formats a condition on one span other than an axis; `isInner` if it is one of several. */
  condition: (condition: Expression, isInner: boolean) => string;
  /** Returns the label of a field of spans. */
  label: (key: string) => string;
}

/** Returns a condition on the spans of a trace in words, or an axis inside a group; null for other expressions. */
export function spanWords(expression: Expression, say: Say): string | null {
  const span = readSpan(expression);
  if (span === null) {
    const axis = readAxis(expression);
    return axis === null ? null : axisWords(axis, say, 'attached');
  }
  const kind = readKind(span.where, say);
  const isOne = span.least === 1 && span.most === null;
  const isMany = !isOne && span.most !== 0 && span.most !== 1;
  // A relation to one span is written in its order. With several spans, or zero, the text says which are counted.
  if (kind.status !== null && kind.others === '' && (isOne || kind.axes.length === 0)) {
    const verb = VERBS[kind.status][isMany ? 1 : 0];
    const subject = counted(span, nounOf({ ...kind, status: null }, isMany));
    return [`${subject} ${verb}`, ...kind.axes.map((axis) => axisWords(axis, say, 'told'))].join(', ');
  }
  return describe(kind, say, (noun) => counted(span, noun), isMany, isOne ? 'told' : 'attached');
}

type Status = 'ERROR' | 'OK';

/** The parts of the phrase for a span, by their position in it. */
interface Kind {
  isRoot: boolean;
  status: Status | null;
  type: string | null;
  tool: string | null;
  name: string | null;
  model: string | null;
  /** All other conditions as a sentence; may be empty. */
  others: string;
  axes: AxisNode[];
}

const VERBS = { ERROR: ['fails', 'fail'], OK: ['succeeds', 'succeed'] } as const;
const ADJECTIVES = { ERROR: 'failed', OK: 'successful' } as const;
const PHRASE_PARTS = { type: 'type', tool_name: 'tool', name: 'name', model: 'model' } as const;

function readKind(where: Expression, say: Say): Kind {
  const kind: Kind = {
    isRoot: false,
    status: null,
    type: null,
    tool: null,
    name: null,
    model: null,
    others: '',
    axes: [],
  };
  const others: Expression[] = [];
  for (const part of partsOf(where)) {
    const axis = readAxis(part);
    if (axis !== null) kind.axes.push(axis);
    else if (!take(kind, part)) others.push(part);
  }
  kind.others = others.map((other) => say.condition(other, others.length > 1)).join(' and ');
  return kind;
}

/** Assigns a condition to its part of the phrase. Returns false if there is no such part or it is taken. */
function take(kind: Kind, part: Expression): boolean {
  const node = readNode(part);
  if (node.kind !== 'condition' || node.condition.op !== 'EQ' || node.condition.ignore_case !== undefined) return false;
  const { key } = node.condition;
  const [value] = node.values;
  if (key === 'is_root' && value === true) return (kind.isRoot = true);
  if (typeof value !== 'string' || value === '') return false;
  if (key === 'status') {
    const status = value.toUpperCase();
    if (kind.status !== null || (status !== 'ERROR' && status !== 'OK')) return false;
    kind.status = status;
    return true;
  }
  // Types are in upper case. A condition with another spelling matches no span, and the words must show that.
  if (key === 'type' && !/^[A-Z][A-Z_]*$/.test(value)) return false;
  const slot = Object.hasOwn(PHRASE_PARTS, key) ? PHRASE_PARTS[key as keyof typeof PHRASE_PARTS] : null;
  if (slot === null || kind[slot] !== null) return false;
  kind[slot] = value;
  return true;
}

function nounOf({ isRoot, status, type, tool, name, model }: Kind, isMany: boolean): string {
  const isCall = tool !== null && (type === null || type === 'TOOL');
  const plural = isMany ? 's' : '';
  return [
    status === null ? null : ADJECTIVES[status],
    isRoot ? 'root' : null,
    type === null || isCall ? null : type === 'LLM' ? type : type.toLowerCase().replaceAll('_', ' '),
    isCall ? `call${plural}` : `span${plural}`,
    tool === null ? null : `of the tool ${tool}`,
    model === null ? null : `of the model ${model}`,
    name === null ? null : `named ${name}`,
  ]
    .filter((word) => word !== null)
    .join(' ');
}

/** The style of an axis after a span: as a further event, or attached to identify the span. */
type Style = 'told' | 'attached';

/** Returns a noun phrase for a span with its conditions. */
function describe(kind: Kind, say: Say, count: (noun: string) => string, isMany: boolean, style: Style): string {
  const axes = kind.axes.map((axis) => axisWords(axis, say, style));
  const noun = count(nounOf(kind, isMany));
  if (kind.others !== '') return [`${noun} where ${kind.others}`, ...axes].join(', ');
  if (axes.length === 0) return noun;
  return style === 'told' ? [noun, ...axes].join(', ') : `${noun} ${axes.join(' and ')}`;
}

function axisWords({ axis, negated, where, options }: AxisNode, say: Say, style: Style): string {
  const qualities = qualitiesOf(options, say);
  const counted = (noun: string) => withArticle(qualities === '' ? noun : `${noun} with ${qualities}`);
  const other = describe(readKind(where, say), say, counted, false, 'attached');
  switch (axis) {
    case 'FOLLOWED_BY':
    case 'PRECEDED_BY':
      return orderWords(axis, negated, options, other, style);
    case 'PARENT':
      return `${negated ? 'not ' : ''}directly below ${other}`;
    case 'ANCESTOR':
      return `${negated ? 'not ' : ''}below ${other}`;
    case 'CHILD':
      return negated ? `without ${other} directly below it` : `directly above ${other}`;
    case 'DESCENDANT':
      return negated ? `without ${other} below it` : `above ${other}`;
    case 'SIBLING':
      return `${negated ? 'not ' : ''}beside ${other}`;
  }
}

/** Returns the phrase for the options of an axis: equal fields, and no span in between. */
function qualitiesOf({ same, without }: AxisOptions, say: Say): string {
  const qualities: string[] = [];
  if (same.length > 0) qualities.push(`the same ${inList(same.map((field) => say.label(field)))}`);
  if (without !== null) {
    qualities.push(describe(readKind(without, say), say, (noun) => `no ${noun} between`, false, 'attached'));
  }
  return qualities.join(' and ');
}

function inList(words: string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${String(words.at(-1))}`;
}

function orderWords(
  axis: 'FOLLOWED_BY' | 'PRECEDED_BY',
  negated: boolean,
  { fromStart, siblingsOnly }: AxisOptions,
  other: string,
  style: Style,
): string {
  const isNext = axis === 'FOLLOWED_BY';
  const beside = siblingsOnly ? ' beside it' : '';
  if (negated) {
    const when = fromStart ? (isNext ? 'started later' : 'started earlier') : isNext ? 'after it' : 'before it';
    if (!siblingsOnly) return `without ${other} ${when}`;
    return fromStart
      ? `without ${other} ${when}${beside}`
      : `without ${other} ${isNext ? 'after' : 'before'} and${beside}`;
  }
  if (fromStart) return `started ${isNext ? 'earlier' : 'later'} than ${other}${beside}`;
  if (!isNext) return `after ${other}${beside}`;
  return style === 'told' ? `then ${other}${beside}` : `followed by ${other}${beside}`;
}

function counted({ least, most }: SpanNode, noun: string): string {
  if (most === 0) return `no ${noun}`;
  if (most === null) return least === 1 ? withArticle(noun) : `at least ${String(least)} ${noun}`;
  if (least === 0) return `at most ${String(most)} ${noun}`;
  return least === most ? `exactly ${String(most)} ${noun}` : `${String(least)} to ${String(most)} ${noun}`;
}

function withArticle(noun: string): string {
  return `${/^([aeiou]|LLM)/i.test(noun) ? 'an' : 'a'} ${noun}`;
}
