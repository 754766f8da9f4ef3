/** A naive evaluator of conditions on spans for tests: docs/reference/filter.md#spans. */
import type { Condition, Expression } from '../../expression';

export interface TestSpan {
  parent: number;
  start: number;
  end: number;
  /** The random results of conditions, drawn once for each condition and span. */
  truths: Map<string, boolean | null>;
  /** The random values of fields, drawn at their first comparison; 0 means missing. */
  values: Map<string, number>;
  draw: (below: number) => number;
}

/** Returns the spans of a trace, each parent before its children. */
export function randomForest(draw: (below: number) => number): TestSpan[] {
  return Array.from({ length: draw(7) }, (_, index) => {
    const start = draw(10);
    return { parent: draw(index + 1) - 1, start, end: start + draw(4), truths: new Map(), values: new Map(), draw };
  });
}

interface Members {
  op: string;
  where: Expression;
  condition?: Expression;
  conditions?: Expression[];
  at_least?: number;
  at_most?: number;
}

/** Returns true if `SPAN`, or its negation, is true for a trace. */
export function holds(expression: Expression, spans: TestSpan[]): boolean {
  const { op, where, condition, conditions, at_least: least, at_most: most } = expression as unknown as Members;
  if (op === 'NOT') return !holds((condition ?? conditions?.[0]) as Expression, spans);
  const count = spans.filter((_, index) => truth(where, spans, index) === true).length;
  return most === 0 ? count === 0 : count >= (least ?? 1) && count <= (most ?? Infinity);
}

function truth(expression: Expression, spans: TestSpan[], index: number): boolean | null {
  const { op, where, condition, conditions } = expression as unknown as Members;
  if (op === 'NOT') return not(truth((condition ?? conditions?.[0]) as Expression, spans, index));
  if (op === 'AND' || op === 'OR') {
    const truths = (conditions ?? []).map((each) => truth(each, spans, index));
    const decisive = op === 'OR';
    return truths.includes(decisive) ? decisive : truths.includes(null) ? null : !decisive;
  }
  if ('where' in expression) {
    return spans.some((_, other) => isOn(expression, spans, index, other) && truth(where, spans, other) === true);
  }
  return truthOf(expression as Condition, spans[index] as TestSpan);
}

/** Draws whether a condition is true of a span, once for all of its spellings. */
function truthOf({ op, key, value, values, ignore_case: ignored }: Condition, span: TestSpan): boolean | null {
  if (op === 'NEQ') return not(truthOf({ op: 'EQ', key, value: value ?? null, ...cased(ignored) }, span));
  const name = JSON.stringify([op, key, values ?? value, ignored ?? op === 'CONTAINS']);
  const drawn = span.truths.get(name) ?? [true, false, null][span.draw(3)] ?? null;
  if (!span.truths.has(name)) span.truths.set(name, drawn);
  return span.truths.get(name) ?? null;
}

function cased(ignored: boolean | undefined): { ignore_case?: boolean } {
  return ignored === undefined ? {} : { ignore_case: ignored };
}

function not(value: boolean | null): boolean | null {
  return value === null ? null : !value;
}

interface Options {
  op: string;
  from?: 'end' | 'start';
  scope?: 'trace' | 'siblings';
  same?: string[];
  without?: Expression;
}

function isOn(expression: Expression, spans: TestSpan[], from: number, to: number): boolean {
  const options = expression as unknown as Options;
  const [span, other] = [spans[from] as TestSpan, spans[to] as TestSpan];
  if (!(options.same ?? []).every((key) => isSame(key, span, other))) return false;
  switch (options.op) {
    case 'PARENT':
      return span.parent === to;
    case 'CHILD':
      return other.parent === from;
    case 'ANCESTOR':
      return isBelow(spans, from, to);
    case 'DESCENDANT':
      return isBelow(spans, to, from);
    case 'SIBLING':
      return isSibling(spans, from, to);
    case 'FOLLOWED_BY':
      return isNext(options, spans, from, to);
    case 'PRECEDED_BY':
      return isNext(options, spans, to, from);
    default:
      throw new Error(`no axis ${options.op}`);
  }
}

function isSame(key: string, span: TestSpan, other: TestSpan): boolean {
  const [one, two] = [span, other].map(({ values, draw }) => {
    const value = values.get(key) ?? draw(3);
    values.set(key, value);
    return value;
  });
  return one !== 0 && one === two;
}

function isSibling(spans: TestSpan[], one: number, other: number): boolean {
  const parent = spans[one]?.parent;
  return one !== other && parent !== -1 && parent === spans[other]?.parent;
}

/** Returns true if the later span follows the earlier one. */
function isNext({ from, scope, without }: Options, spans: TestSpan[], earlier: number, later: number): boolean {
  const startsAfter = (one: number, other: number) => {
    const [start, otherStart] = [(spans[one] as TestSpan).start, (spans[other] as TestSpan).start];
    return start > otherStart || (start === otherStart && one > other);
  };
  const isAfter = (one: number) =>
    from === 'start' ? startsAfter(one, earlier) : (spans[one] as TestSpan).start >= (spans[earlier] as TestSpan).end;
  const isBetween = (one: number) => one !== earlier && one !== later && isAfter(one) && startsAfter(later, one);
  if (!isBeside(spans, earlier, later) || !isAfter(later)) return false;
  if (scope === 'siblings' && !isSibling(spans, earlier, later)) return false;
  return without === undefined || !spans.some((_, one) => isBetween(one) && truth(without, spans, one) === true);
}

function isBelow(spans: TestSpan[], lower: number, upper: number): boolean {
  for (let at = spans[lower]?.parent ?? -1; at !== -1; at = spans[at]?.parent ?? -1) if (at === upper) return true;
  return false;
}

function isBeside(spans: TestSpan[], one: number, other: number): boolean {
  return one !== other && !isBelow(spans, one, other) && !isBelow(spans, other, one);
}
