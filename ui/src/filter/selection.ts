/** Included and excluded values in the conditions of a flat AND, as facets and menus change them. */
import { all, conjuncts, valueIs, type Condition, type Expression, type Value } from './expression';
import { readNode } from './tree';

export type Choice = 'chosen' | 'excluded' | null;

/** The values of a field that a conjunct includes or excludes; null for any other conjunct. */
function readConjunct(expression: Expression, key: string): { excludes: boolean; values: Value[] } | null {
  const node = readNode(expression);
  const negated = node.kind === 'negation';
  const leaf = negated ? readNode(node.child) : node;
  if (leaf.kind !== 'condition' || leaf.condition.key !== key || leaf.condition.ignore_case === true) return null;
  const { op } = leaf.condition;
  if (op === 'EXISTS') return { excludes: !negated, values: [null] };
  if (op === 'EQ' || op === 'IN') return { excludes: negated, values: leaf.values };
  return op === 'NEQ' ? { excludes: !negated, values: leaf.values } : null;
}

/** Returns whether a filter includes or excludes a value of a field. */
export function choiceOf(filter: Expression | null, key: string, value: Value): Choice {
  for (const conjunct of conjuncts(filter)) {
    const read = readConjunct(conjunct, key);
    if (read?.values.includes(value) === true) return read.excludes ? 'excluded' : 'chosen';
  }
  return null;
}

/** Toggles the inclusion of a value of a field in a filter. Several values of a field become an `IN`. */
export function toggleChosen(filter: Expression | null, key: string, value: Value): Expression | null {
  const wasChosen = choiceOf(filter, key, value) === 'chosen';
  const chosen: Value[] = [];
  const rest = conjuncts(withoutValue(filter, key, value)).filter((conjunct) => {
    const read = readConjunct(conjunct, key);
    const chooses = read !== null && !read.excludes;
    if (chooses) chosen.push(...read.values.filter((each) => each !== null));
    return !chooses;
  });
  if (!wasChosen && value === null) return all(...rest, valueIs(key, null));
  const values = wasChosen ? chosen : [...chosen, value];
  if (values.length === 0) return all(...rest);
  const [first] = values as [Value];
  const own: Condition = values.length === 1 ? { op: 'EQ', key, value: first } : { op: 'IN', key, values };
  return all(...rest, own);
}

/** Toggles the exclusion of a value of a field in a filter. */
export function toggleExcluded(filter: Expression | null, key: string, value: Value): Expression | null {
  const rest = withoutValue(filter, key, value);
  return choiceOf(filter, key, value) === 'excluded' ? rest : all(rest, valueIs(key, value, true));
}

/** Returns a filter without the inclusion or exclusion of one value. */
function withoutValue(filter: Expression | null, key: string, value: Value): Expression | null {
  const remaining = conjuncts(filter).flatMap((conjunct): Expression[] => {
    const read = readConjunct(conjunct, key);
    if (read?.values.includes(value) !== true) return [conjunct];
    const values = read.values.filter((each) => each !== value);
    const [first] = values;
    if (first === undefined) return [];
    const left: Condition = values.length === 1 ? { op: 'EQ', key, value: first } : { op: 'IN', key, values };
    return [read.excludes ? { op: 'NOT', condition: left } : left];
  });
  return all(...remaining);
}
