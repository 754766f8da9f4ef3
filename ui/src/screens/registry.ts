/** The screens. Each has its own folder and is loaded when it is first shown. Add an entry for a new screen. */
import type { Component } from 'svelte';

import type { Capability } from '../api/service';

export interface Screen {
  /** The first segment of its address. */
  name: string;
  title: string;
  /** The key after `g` that opens the screen; a screen without a key is not in the navigation. */
  key?: string;
  /** The capability that the service must have, if searches are not enough. */
  needs?: Capability;
  load: () => Promise<{ default: Component }>;
}

export const SCREENS: readonly Screen[] = [
  { name: 'traces', title: 'Traces', key: 't', load: () => import('./traces/Traces.svelte') },
  { name: 'trace', title: 'Trace', load: () => import('./trace/TraceScreen.svelte') },
  { name: 'sessions', title: 'Sessions', key: 's', load: () => import('./sessions/SessionsScreen.svelte') },
  {
    name: 'playground',
    title: 'Playground',
    key: 'p',
    needs: 'runs',
    load: () => import('./playground/PlaygroundScreen.svelte'),
  },
  { name: 'tail', title: 'Live tail', key: 'l', load: () => import('./tail/TailScreen.svelte') },
  { name: 'status', title: 'Status', key: 'u', load: () => import('./status/Status.svelte') },
];

/** The default screen. */
export const HOME = SCREENS[0] as Screen;
