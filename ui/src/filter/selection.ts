/** Values chosen and left out by the conditions of a flat AND, as facets and menus change them. */
import { all, conjuncts, valueIs, type Condition, type Expression, type Value } from './expression';
import { readNode } from './tree';

export type Choice = 'chosen' | 'excluded' | null;

/** What a conjunct does to values of a field: keeps some, or leaves some out. Null if it is about something else. */
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

/** Returns whether a filter looks for a value of a field, or leaves it out. */
export function choiceOf(filter: Expression | null, key: string, value: Value): Choice {
  for (const conjunct of conjuncts(filter)) {
    const read = readConjunct(conjunct, key);
    if (read?.values.includes(value) === true) return read.excludes ? 'excluded' : 'chosen';
  }
  return null;
}

/** Returns a filter that also takes a value of a field, or takes it no longer. Several values of a field become an IN. */
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

/** Returns a filter that also leaves out a value of a field, or leaves it out no longer. */
export function toggleExcluded(filter: Expression | null, key: string, value: Value): Expression | null {
  const rest = withoutValue(filter, key, value);
  return choiceOf(filter, key, value) === 'excluded' ? rest : all(rest, valueIs(key, value, true));
}

/** Returns a filter without what its conjuncts say of one value. */
function withoutValue(filter: Expression | null, key: string, value: Value): Expression | null {
  const kept = conjuncts(filter).flatMap((conjunct): Expression[] => {
    const read = readConjunct(conjunct, key);
    if (read?.values.includes(value) !== true) return [conjunct];
    const values = read.values.filter((each) => each !== value);
    const [first] = values;
    if (first === undefined) return [];
    const left: Condition = values.length === 1 ? { op: 'EQ', key, value: first } : { op: 'IN', key, values };
    return [read.excludes ? { op: 'NOT', condition: left } : left];
  });
  return all(...kept);
}
