/** Returns an amount in US dollars for people: `$0.0012`, `$1.25`, `$1,204`. */
export function formatDollars(dollars: number): string {
  if (dollars === 0) return '$0';
  if (dollars < 0.0001) return 'under $0.0001';
  if (dollars < 0.1) return `$${String(Number(dollars.toFixed(4)))}`;
  return `$${dollars.toLocaleString('en', dollars < 1000 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumFractionDigits: 0 })}`;
}

/** A cost in responses: the whole, or the part that is known. */
export interface Cost {
  cost?: number | null;
  cost_partial?: number | null;
}

/** Returns a cost for people: `$0.12`, `at least $0.12`, `unknown`. */
export function formatCost({ cost, cost_partial: known }: Cost): string {
  if (typeof cost === 'number') return formatDollars(cost);
  return known ? `at least ${formatDollars(known)}` : 'unknown';
}
