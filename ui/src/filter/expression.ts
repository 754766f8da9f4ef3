/** Filter expressions, as the service takes them: docs/reference/filter.md. */

// The schema of the service takes any object, and no interface can be assigned to that.
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

/** A condition on the spans of a trace, or, with an axis, on those that are related to a span. */
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

/** Returns the conditions of a top-level AND, or the one condition; none for null. */
export function conjuncts(expression: Expression | null): Expression[] {
  if (expression === null) return [];
  return isGroup(expression) && expression.op === 'AND' ? expression.conditions : [expression];
}

/** Returns what is true where all of `expressions` are; null stands for no condition. */
export function all(...expressions: (Expression | null)[]): Expression | null {
  const conditions = expressions.flatMap(conjuncts);
  if (conditions.length === 0) return null;
  return conditions.length === 1 ? (conditions[0] as Expression) : { op: 'AND', conditions };
}

/** Returns what is true of traces that have a span with a value, or, if it is left out, of those that have none. */
export function spanValueIs(key: string, value: Value, excluded = false): Expression {
  const condition: Expression = { op: 'SPAN', where: valueIs(key, value) };
  return excluded ? { op: 'NOT', condition } : condition;
}

/** Returns the expression of a value that is looked for, or left out. A missing value is null. */
export function valueIs(key: string, value: Value, excluded = false): Expression {
  if (value !== null) return { op: excluded ? 'NEQ' : 'EQ', key, value };
  const exists: Condition = { op: 'EXISTS', key };
  return excluded ? exists : { op: 'NOT', condition: exists };
}
