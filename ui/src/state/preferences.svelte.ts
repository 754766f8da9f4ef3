/** What a user likes, kept in the browser. Nothing of traces is among it. */

export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  timeZone: 'local' | 'utc';
  /** Whether keys of one letter do something (WCAG 2.1.4). */
  letterKeys: boolean;
  /** The columns of the list of traces that are left out. */
  hiddenColumns: string[];
  /** The fields whose values are folded beside the list of traces. */
  foldedFacets: string[];
  /** Whether the charts stand above the list of traces; null where the window is wide enough. */
  showsCharts: boolean | null;
  /** What the panel of a trace has of the width, in percent. */
  tracePanel: number;
  /** What the names of spans have of the width of their grid, in percent. */
  traceNames: number;
}

const KEY = 'spanwise.preferences';
const DEFAULTS: Preferences = {
  theme: 'system',
  density: 'comfortable',
  timeZone: 'local',
  letterKeys: true,
  hiddenColumns: ['service', 'llm-calls', 'tool-calls'],
  foldedFacets: ['session_id'],
  showsCharts: null,
  tracePanel: 40,
  traceNames: 45,
};

function load(): Preferences {
  try {
    // eslint-disable-next-line no-restricted-globals -- this is the one place
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return { ...DEFAULTS, ...kept };
  } catch {
    return { ...DEFAULTS };
  }
}

export const preferences = $state<Preferences>(load());

/** Changes a preference and keeps it. */
export function prefer(changes: Partial<Preferences>): void {
  Object.assign(preferences, changes);
  try {
    // eslint-disable-next-line no-restricted-globals -- this is the one place
    localStorage.setItem(KEY, JSON.stringify(preferences));
  } catch {
    // A browser that keeps nothing still follows the preference until the page is closed.
  }
}
