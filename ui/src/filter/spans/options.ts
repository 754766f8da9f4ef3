/** What narrows an axis: the options of docs/reference/filter.md#options-of-axes. */
import type { Expression } from '../expression';
import type { Axis } from './node';

export interface AxisOptions {
  /** Whether spans are compared by their starts, so that they may overlap. */
  fromStart: boolean;
  /** Whether only siblings are meant. */
  siblingsOnly: boolean;
  /** The fields of which both spans must have the same values. */
  same: string[];
  /** What must be true of no span between the two; null without such a condition. */
  without: Expression | null;
}

/** The members that are options, as filters spell them. */
export const OPTIONS = ['from', 'scope', 'same', 'without'];

/** Whether the options on order, those on what is between included, are taken by an axis. */
export function takesOrder(axis: Axis): boolean {
  return axis === 'FOLLOWED_BY' || axis === 'PRECEDED_BY';
}

/** Whether an axis takes fields that must be the same. */
export function takesSame(axis: Axis): boolean {
  return takesOrder(axis) || axis === 'SIBLING';
}

/** Reads the options of an axis; null if the service does not take them. */
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

/** Returns the members of options; those that say what holds in any case are left out. */
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
