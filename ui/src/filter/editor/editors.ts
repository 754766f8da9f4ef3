/** The editors of a whole filter, beside its chips. */
export const EDITORS = { groups: 'Groups', json: 'JSON' } as const;
export type Editor = keyof typeof EDITORS;
