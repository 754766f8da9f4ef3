/** The spans that made the filter of the list match this trace: the tree marks them. */
import type { TraceAddress } from '../../../api/trace';
import { fetchMatches, type Matches } from '../../../api/traces';
import { readFilter } from '../../../filter/address';
import { hasMatches } from '../../../filter/matches';
import { Loading } from '../../../state/loading.svelte';
import { matchesOf } from '../model/search';
import type { Choices } from './choices.svelte';
import type { Tree } from './tree.svelte';

/** Follows the filter in the address. Call it during the initialization of a component. */
export function followFilter(address: () => TraceAddress, choices: Choices, tree: Tree): void {
  const loading = new Loading<Matches | null>();
  $effect(() => {
    const filter = readFilter(choices.filter);
    const trace = address();
    if (filter && hasMatches(filter)) void loading.load((signal) => fetchMatches(trace, filter, signal));
    else loading.clear();
    return () => {
      loading.abort();
    };
  });
  $effect(() => {
    const { value } = loading;
    const ids = Object.values(value?.spans ?? {}).flatMap((spans) => spans.span_ids);
    const said = value?.texts.map((text) => text.span_id) ?? [];
    tree.marked = value === null ? null : matchesOf(tree.spans, [...ids, ...said]);
  });
}
