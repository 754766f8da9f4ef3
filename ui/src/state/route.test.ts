import { beforeEach, expect, test, vi } from 'vitest';

import type { route as Route } from './route.svelte';

/** An address bar: its hash changes at once, and its event comes later, as in browsers. */
function addressBar(hash: string): { location: { hash: string }; arrive: () => void } {
  const location = { hash };
  let follow: () => void = () => undefined;
  const write = (_state: unknown, _title: string, next: string): void => void (location.hash = next);
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { pushState: write, replaceState: write });
  vi.stubGlobal('window', { addEventListener: (_name: string, listener: () => void) => (follow = listener) });
  return { location, arrive: () => follow() };
}

async function newRoute(): Promise<typeof Route> {
  vi.resetModules();
  return (await import('./route.svelte')).route;
}

beforeEach(() => vi.unstubAllGlobals());

test('an adjustment keeps the path and the other parameters', async () => {
  const { location } = addressBar('#/trace/1?span=a&tab=texts');
  const route = await newRoute();
  route.adjust({ tab: 'events', find: 'x' });
  expect(location.hash).toBe('#/trace/1?span=a&tab=events&find=x');
  expect([route.id, route.params.get('tab')]).toEqual(['1', 'events']);
});

test('a late change of parameters does not undo the navigation to the next screen', async () => {
  const { location, arrive } = addressBar('#/trace/1?span=a');
  const route = await newRoute();
  location.hash = '#/trace/2?span=b';
  route.adjust({ tab: 'events' });
  arrive();
  expect(location.hash).toBe('#/trace/2?span=b');
  expect([route.id, route.params.get('tab')]).toEqual(['2', null]);
});
