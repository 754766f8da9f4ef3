/** The keys of a trace, in addition to the keys of its grid. */
import { shortcuts } from '../../keys/shortcuts.svelte';
import { announcer } from '../../state/announcer.svelte';
import { route } from '../../state/route.svelte';
import type { Choices } from './state/choices.svelte';
import type { Time } from './state/time.svelte';
import type { Tree } from './state/tree.svelte';
import { navigate } from './grid/navigation';

export interface KeyTargets {
  tree: Tree;
  time: Time;
  choices: Choices;
  /** The address of the current view. */
  link: () => string;
  search: () => HTMLInputElement | undefined;
  toGrid: () => void;
}

/** Declares the keys. Returns a function that removes them. */
export function declareKeys(targets: KeyTargets): () => void {
  const { tree, time, search, toGrid } = targets;
  const goTo = (move: () => boolean, none: string) => (): void => {
    if (move()) toGrid();
    else announcer.say(none);
  };
  return shortcuts.declare('Trace', [
    { keys: 'j', label: 'Next span', run: () => (navigate(tree, 'j', 1), toGrid()) },
    { keys: 'k', label: 'Previous span', run: () => (navigate(tree, 'k', 1), toGrid()) },
    { keys: '[', label: 'Collapse all', run: () => (tree.setAllOpen(false), toGrid()) },
    { keys: ']', label: 'Expand all', run: () => (tree.setAllOpen(true), toGrid()) },
    { keys: 'e', label: 'Next error', run: goTo(() => tree.goToError(), 'No span failed') },
    { keys: '/', label: 'Search this trace', run: () => search()?.select() },
    { keys: 'n', label: 'Next match', run: goTo(() => tree.goToMatch(true), 'No match') },
    { keys: 'N', label: 'Previous match', run: goTo(() => tree.goToMatch(false), 'No match') },
    { keys: 'z', label: 'Zoom to the selected span, or see all', run: () => zoom(tree, time) },
    { keys: 'c', label: 'Copy the link to this view', run: () => void copy(targets.link()) },
    { keys: 'Escape', label: 'Up: end the search, then all traces', run: () => goUp(targets) },
  ]);
}

function zoom(tree: Tree, time: Time): void {
  const span = { from: tree.spans.start[tree.selected] ?? 0, to: tree.spans.end[tree.selected] ?? 0 };
  time.zoom(time.isZoomed ? null : span);
}

async function copy(link: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(link);
    announcer.say('Copied: the link');
  } catch {
    announcer.say('The browser refused to copy');
  }
}

function goUp({ choices, time }: KeyTargets): void {
  if (choices.endSearch()) return;
  if (time.isZoomed) time.zoom(null);
  else {
    const store = route.params.get('db');
    route.go(['traces'], store === null ? {} : { db: store });
  }
}
