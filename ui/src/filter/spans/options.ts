/** The axes and their options: docs/reference/filter.md#options-of-axes. */
import type { Expression } from '../expression';

/** The relations between spans, in the order of the menu. */
export const AXES = ['FOLLOWED_BY', 'PRECEDED_BY', 'PARENT', 'ANCESTOR', 'CHILD', 'DESCENDANT', 'SIBLING'] as const;
export type Axis = (typeof AXES)[number];

export interface AxisOptions {
  /** True if spans are compared by their start times, so that they may overlap. */
  fromStart: boolean;
  /** True if only siblings count. */
  siblingsOnly: boolean;
  /** The fields in which both spans must be equal. */
  same: string[];
  /** The condition that no span between the two may meet; null for none. */
  without: Expression | null;
}

/** The names of the options in filters. */
export const OPTIONS = ['from', 'scope', 'same', 'without'];

/** Returns true if an axis accepts the options on order, including the one on spans in between. */
export function takesOrder(axis: Axis): boolean {
  return axis === 'FOLLOWED_BY' || axis === 'PRECEDED_BY';
}

/** Returns true if an axis accepts fields that must be equal. */
export function takesSame(axis: Axis): boolean {
  return takesOrder(axis) || axis === 'SIBLING';
}

/** Reads the options of an axis; null if they are invalid. */
export function readOptions(axis: Axis, members: Record<string, unknown>): AxisOptions | null {
  const { from = 'end', scope = 'trace', same, without } = members;
  const hasOrder = ['from', 'scope', 'without'].some((name) => name in members);
  if (hasOrder && !takesOrder(axis)) return null;
  if (same !== undefined && !(takesSame(axis) && isFields(same))) return null;
  if ((from !== 'end' && from !== 'start') || (scope !== 'trace' && scope !== 'siblings')) return null;
  if (without !== undefined && (typeof without !== 'object' || without === null || Array.isArray(without))) return null;
  return {
    fromStart: from === 'start',
    siblingsOnly: scope === 'siblings',
    same: same === undefined ? [] : (same as string[]),
    without: without === undefined ? null : (without as Expression),
  };
}

/** Returns the members for the options. Defaults are omitted. */
export function writeOptions({ fromStart, siblingsOnly, same, without }: AxisOptions): Record<string, unknown> {
  return {
    ...(fromStart ? { from: 'start' } : {}),
    ...(siblingsOnly ? { scope: 'siblings' } : {}),
    ...(same.length > 0 ? { same } : {}),
    ...(without === null ? {} : { without }),
  };
}

function isFields(same: unknown): boolean {
  if (!Array.isArray(same) || same.length === 0) return false;
  return same.every((field) => typeof field === 'string') && new Set(same).size === same.length;
}
