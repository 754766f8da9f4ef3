/** The user's preferences, stored in the browser. They contain no trace data. */

export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  timeZone: 'local' | 'utc';
  /** True if single-letter shortcuts are enabled (WCAG 2.1.4). */
  letterKeys: boolean;
  /** The hidden columns of the list of traces. */
  hiddenColumns: string[];
  /** The folded facets beside the list of traces. */
  foldedFacets: string[];
  /** True if the charts are shown above the list; null to show them if the window is wide enough. */
  showsCharts: boolean | null;
  /** The width of the panel of a trace, in percent. */
  tracePanel: number;
  /** The width of the name column in the grid of spans, in percent. */
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
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return { ...DEFAULTS, ...stored };
  } catch {
    return { ...DEFAULTS };
  }
}

export const preferences = $state<Preferences>(load());

/** Changes a preference and stores it. */
export function prefer(changes: Partial<Preferences>): void {
  Object.assign(preferences, changes);
  try {
    // eslint-disable-next-line no-restricted-globals -- this is the one place
    localStorage.setItem(KEY, JSON.stringify(preferences));
  } catch {
    // If the browser cannot store it, the preference applies until the page is closed.
  }
}
