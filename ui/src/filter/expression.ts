/** Filter expressions in the format of the service: docs/reference/filter.md. */

// The generated schema is an index signature, to which an interface cannot be assigned.
/* eslint-disable @typescript-eslint/consistent-type-definitions */

export type Value = string | number | boolean | null;

export type Condition = {
  op: string;
  key: string;
  value?: Value | Value[];
  values?: Value[];
  ignore_case?: boolean;
};

export type Group = {
  op: 'AND' | 'OR';
  conditions: Expression[];
};

export type Negation = {
  op: 'NOT';
  condition: Expression;
};

/** A condition on the spans of a trace or, with an axis, on the spans related to a span. */
export type SpanCondition = {
  op: string;
  as?: string;
  at_least?: number;
  at_most?: number;
  where: Expression;
};

/* eslint-enable @typescript-eslint/consistent-type-definitions */

export type Expression = Condition | Group | Negation | SpanCondition;

export function isGroup(expression: Expression): expression is Group {
  return expression.op === 'AND' || expression.op === 'OR';
}

export function isNegation(expression: Expression): expression is Negation {
  return expression.op === 'NOT';
}

/** Returns the conditions of a top-level AND, or the single condition; empty for null. */
export function conjuncts(expression: Expression | null): Expression[] {
  if (expression === null) return [];
  return isGroup(expression) && expression.op === 'AND' ? expression.conditions : [expression];
}

/** Returns the conjunction of `expressions`; null means no condition. */
export function all(...expressions: (Expression | null)[]): Expression | null {
  const conditions = expressions.flatMap(conjuncts);
  if (conditions.length === 0) return null;
  return conditions.length === 1 ? (conditions[0] as Expression) : { op: 'AND', conditions };
}

/** Returns the condition that a trace has a span with a value or, if excluded, has no such span. */
export function spanValueIs(key: string, value: Value, excluded = false): Expression {
  const condition: Expression = { op: 'SPAN', where: valueIs(key, value) };
  return excluded ? { op: 'NOT', condition } : condition;
}

/** Returns the condition that includes or excludes a value. Null means a missing value. */
export function valueIs(key: string, value: Value, excluded = false): Expression {
  if (value !== null) return { op: excluded ? 'NEQ' : 'EQ', key, value };
  const exists: Condition = { op: 'EXISTS', key };
  return excluded ? exists : { op: 'NOT', condition: exists };
}
