import { expect, test } from 'vitest';

import { Loading } from './loading.svelte';

/** A request that ends on demand and records its signal. */
function request<T>(): {
  ask: (signal: AbortSignal) => Promise<T>;
  end: (value: T) => void;
  signal: () => AbortSignal;
} {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((end) => (resolve = end));
  let kept = new AbortController().signal;
  return { ask: (signal) => ((kept = signal), promise), end: (value) => resolve(value), signal: () => kept };
}

test('an answer stays while the next is awaited', async () => {
  const loading = new Loading<number>();
  await loading.load(() => Promise.resolve(1));
  const next = request<number>();
  const awaited = loading.load(next.ask);
  expect([loading.value, loading.isBusy]).toEqual([1, true]);
  next.end(2);
  expect(await awaited).toBe(2);
  expect([loading.value, loading.isBusy]).toEqual([2, false]);
});

test('a request that is overtaken is aborted, and its late answer is not shown', async () => {
  const loading = new Loading<string>();
  const [slow, quick] = [request<string>(), request<string>()];
  const first = loading.load(slow.ask);
  const second = loading.load(quick.ask);
  expect([slow.signal().aborted, quick.signal().aborted]).toEqual([true, false]);
  quick.end('quick');
  expect(await second).toBe('quick');
  slow.end('slow');
  expect(await first).toBeNull();
  expect(loading.value).toBe('quick');
});

test('a failure is kept beside the old answer until the next answer', async () => {
  const loading = new Loading<number>();
  await loading.load(() => Promise.resolve(1));
  const error = new Error('gone');
  expect(await loading.load(() => Promise.reject(error))).toBeNull();
  expect([loading.value, loading.problem, loading.isBusy]).toEqual([1, error, false]);
  await loading.load(() => Promise.resolve(2));
  expect(loading.problem).toBeNull();
});

test('a request that is given up is no failure', async () => {
  const loading = new Loading<number>();
  const given = request<number>();
  const awaited = loading.load(given.ask);
  loading.clear();
  given.end(1);
  expect(await awaited).toBeNull();
  expect([loading.value, loading.problem, loading.isBusy]).toEqual([null, null, false]);
});
