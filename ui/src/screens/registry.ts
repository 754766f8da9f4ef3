/** The screens, each in a folder of its own and loaded when it is first shown. A new screen is a new entry. */
import type { Component } from 'svelte';

import type { Capability } from '../api/service';

export interface Screen {
  /** The first segment of its address. */
  name: string;
  title: string;
  /** The key after `g` that leads there; a screen without one is not in the navigation. */
  key?: string;
  /** What the service must serve, if that is more than searches. */
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

/** The screen that an address without one leads to. */
export const HOME = SCREENS[0] as Screen;
