/** The keys of the grid, as for a treegrid with focusable rows (WAI-ARIA Authoring Practices). */
import { spanOf } from '../model/outline';
import type { Tree } from '../state/tree.svelte';

/** Handles a key. `page` is the number of visible rows. Returns true if the key has a meaning. */
export function navigate(tree: Tree, key: string, page: number): boolean {
  const row = tree.activeRow;
  switch (key) {
    case 'ArrowDown':
    case 'j':
      tree.selectRow(row + 1);
      return true;
    case 'ArrowUp':
    case 'k':
      tree.selectRow(row - 1);
      return true;
    case 'PageDown':
      tree.selectRow(row + page);
      return true;
    case 'PageUp':
      tree.selectRow(row - page);
      return true;
    case 'Home':
      tree.selectRow(0);
      return true;
    case 'End':
      tree.selectRow(Infinity);
      return true;
    case 'ArrowRight':
      goIn(tree, row);
      return true;
    case 'ArrowLeft':
      goOut(tree, row);
      return true;
    default:
      return false;
  }
}

/** Expands a closed node, or moves to the first child of an open one. */
function goIn(tree: Tree, row: number): void {
  const node = tree.rows.nodes[row] ?? -1;
  if ((tree.outline.size[node] ?? 1) === 1) return;
  const key = tree.keyAt(row);
  if (tree.isOpen(key)) tree.selectRow(row + 1);
  else tree.setOpen(key, true);
}

/** Collapses an open node, or moves to the parent of a closed one. */
function goOut(tree: Tree, row: number): void {
  const node = tree.rows.nodes[row] ?? -1;
  const key = tree.keyAt(row);
  if ((tree.outline.size[node] ?? 1) > 1 && tree.isOpen(key)) {
    tree.setOpen(key, false);
    return;
  }
  const parent = tree.outline.parent[node] ?? -1;
  if (parent !== -1) tree.select(tree.outline.keys[parent] ?? spanOf(key));
}
